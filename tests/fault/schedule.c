#include "tests/fault/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/fault/truth.h"

static const struct {
    const char *name;
    unsigned often;
    bool is_held;
} kinds[] = {
#define FAULT_ROW(name, often, held) {#name, often, held},
    FAULT_MAP(FAULT_ROW)
#undef FAULT_ROW
};

static enum fault_kind kind_of(uint64_t dice) {
    enum fault_kind kind = 0;
    for (dice %= 100; dice >= kinds[kind].often; kind++) dice -= kinds[kind].often;
    return kind;
}

/* Small numbers as often as large ones: frames' beginnings matter as much as payloads. */
static uint64_t some_bytes(uint64_t dice) {
    uint64_t most = UINT64_C(1) << (1 + dice % 20);
    return 1 + (dice >> 8) % most;
}

struct fault fault_of(uint64_t seed, uint64_t index) {
    uint64_t dice = truth_mix(seed, index, 1, 0), more = truth_mix(seed, index, 2, 0);
    return (struct fault){
        .kind = kind_of(dice >> 32),
        .relay = (unsigned)(dice % RELAYS),
        .way = dice >> 8 & 1 ? RELAY_TO_ENDPOINT : RELAY_TO_CLIENT,
        .bytes = some_bytes(more),
        .hold_ms = more >> 32 & 7 ? 5 + (int64_t)(more >> 35) % 150 : 400,
        .delay_ms = 1 + (int64_t)(more >> 44) % 60,
        .gap = (unsigned)(more >> 52) % 60,
    };
}

bool fault_is_held(enum fault_kind kind) {
    return kinds[kind].is_held;
}

const char *fault_name(enum fault_kind kind) {
    return kinds[kind].name;
}

enum fault_kind fault_from_name(const char *name) {
    enum fault_kind kind = 0;
    while (kind < FAULT_KINDS && strcmp(kinds[kind].name, name) != 0) kind++;
    return kind;
}

static bool is_of_the_network(enum fault_kind kind) {
    return kind <= FAULT_TURN_BIT;
}

void fault_words(const struct fault *fault, char ret[160]) {
    static const char *const relays[RELAYS] = {"stage 0", "stage 1", "stage 2", "the trainer",
                                               "those who watch"};
    int size = snprintf(ret, 160, "%s", kinds[fault->kind].name);
    char *end = ret + size;
    size_t left = 160 - (size_t)size;
    if (fault->kind == FAULT_CUT_AFTER || fault->kind == FAULT_RESET_AFTER)
        size = snprintf(end, left, " %" PRIu64 " bytes", fault->bytes);
    else if (fault->kind == FAULT_DELAY)
        size = snprintf(end, left, " by %" PRId64 " ms", fault->delay_ms);
    else
        size = 0;
    end += size;
    left -= (size_t)size;
    if (is_of_the_network(fault->kind))
        size = snprintf(end, left, " %s %s", fault->way == RELAY_TO_CLIENT ? "to" : "from",
                        relays[fault->relay]);
    else
        size = 0;
    if (fault_is_held(fault->kind))
        snprintf(end + size, left - (size_t)size, " for %" PRId64 " ms", fault->hold_ms);
}
