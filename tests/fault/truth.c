#include "tests/fault/truth.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t scramble(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

uint64_t truth_mix(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
    return scramble(scramble(scramble(scramble(seed) ^ a) ^ b) ^ c);
}

static uint64_t of_address(uint64_t seed, sw_item_kind kind, const sw_address *at) {
    return truth_mix(seed ^ (uint64_t)kind, at->generation, at->step, at->call);
}

unsigned truth_calls(uint64_t seed, sw_item_kind kind, uint64_t generation, uint64_t step) {
    uint64_t dice = truth_mix(seed, generation, step, 1000 + (uint64_t)kind) % 16;
    if (dice == 0) return 0;
    return kind == SW_METRICS && dice >= 13 ? (unsigned)dice - 12 : 1;
}

bool truth_fails(uint64_t seed, sw_item_kind kind, const sw_address *at) {
    return of_address(seed, kind, at) % 20 == 0;
}

void truth_message(uint64_t seed, sw_item_kind kind, const sw_address *at, char ret[64]) {
    snprintf(ret, 64, "no such item: %" PRIx64, of_address(seed, kind, at));
}

/* ---- metrics ---- */

void truth_metrics(uint64_t seed, const sw_address *at, struct truth_metrics *ret) {
    uint64_t mixed = of_address(seed, SW_METRICS, at);
    double loss;
    memcpy(&loss, &mixed, sizeof loss);
    snprintf(ret->text, sizeof ret->text, "%" PRIu64 ":%" PRIu64 "/%" PRIu32, at->generation, at->step,
             at->call);
    ret->entries[0] = (sw_entry){sw_text_of("step"), sw_integer((int64_t)at->step)};
    ret->entries[1] = (sw_entry){sw_text_of("loss"), sw_number(loss)};
    ret->entries[2] = (sw_entry){sw_text_of("name"), sw_text(ret->text)};
    ret->value = sw_dict(ret->entries, 3);
}

static bool same_text(const sw_value *value, const char *text) {
    return value && value->kind == SW_VALUE_TEXT && value->bytes.size == strlen(text) &&
           memcmp(value->bytes.data, text, strlen(text)) == 0;
}

bool truth_metrics_match(uint64_t seed, const sw_address *at, const sw_value *value) {
    struct truth_metrics wanted;
    truth_metrics(seed, at, &wanted);
    const sw_value *step = sw_dict_get(value, "step"), *loss = sw_dict_get(value, "loss");
    return step && loss && value->dict.count == 3 && step->kind == SW_VALUE_INTEGER &&
           step->integer == (int64_t)at->step && loss->kind == SW_VALUE_NUMBER &&
           memcmp(&loss->number, &wanted.entries[1].value.number, sizeof(double)) == 0 &&
           same_text(sw_dict_get(value, "name"), wanted.text);
}

/* ---- tensors ---- */

static size_t body_size(uint64_t mixed) {
    if (mixed % 16 == 0) return 1200000 + mixed % 600000;
    if (mixed % 4 == 0) return 100000 + mixed % 500000;
    return TURN_RUN + mixed % 60000;
}

static void fill(uint8_t *bytes, size_t size, uint64_t mixed) {
    memset(bytes, TURN_VALUE, size < TURN_RUN ? size : TURN_RUN);
    for (size_t i = TURN_RUN; i < size; i += sizeof mixed) {
        mixed ^= mixed << 13;
        mixed ^= mixed >> 7;
        mixed ^= mixed << 17;
        memcpy(bytes + i, &mixed, size - i < sizeof mixed ? size - i : sizeof mixed);
    }
}

void truth_tensors(uint64_t seed, const sw_address *at, struct truth_tensors *ret) {
    uint64_t mixed = of_address(seed, SW_TENSORS, at) | 1;
    const size_t sizes[2] = {200, body_size(mixed)};
    static const char *const names[2] = {"head", "body"};
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *bytes = malloc(sizes[i]);
        if (!bytes) abort();
        fill(bytes, sizes[i], mixed + 2 * i);
        ret->shapes[i][0] = (int64_t)sizes[i];
        ret->tensors[i] =
            (sw_named_tensor){.name = names[i], .view = {SW_U8, 1, ret->shapes[i], bytes, sizes[i]}};
    }
}

void truth_tensors_free(struct truth_tensors *tensors) {
    for (unsigned i = 0; i < 2; i++) free((void *)tensors->tensors[i].view.data);
}

bool truth_tensors_match(uint64_t seed, const sw_address *at, const sw_tensors *tensors) {
    struct truth_tensors wanted;
    truth_tensors(seed, at, &wanted);
    unsigned found = 0;
    bool same = true;
    for (unsigned i = 0; i < 2; i++) {
        const sw_tensor_view *view = sw_tensors_find(tensors, wanted.tensors[i].name),
                             *want = &wanted.tensors[i].view;
        if (!view) continue;
        found++;
        same = same && view->dtype == SW_U8 && view->rank == 1 && view->size == want->size &&
               memcmp(view->data, want->data, want->size) == 0;
    }
    truth_tensors_free(&wanted);
    return same && found > 0 && found == sw_tensors_count(tensors);
}

/* ---- objects ---- */

unsigned truth_owners(uint64_t seed, uint64_t generation, uint64_t meeting) {
    uint64_t mixed = truth_mix(seed, generation, meeting, 77);
    unsigned first = 1u << (mixed >> 8) % STAGES, second = 1u << (mixed >> 16) % STAGES;
    if (mixed % 8 == 0) return 0;
    return mixed % 8 == 1 ? first | second : first;
}

void truth_object(uint64_t seed, uint64_t generation, uint64_t meeting, unsigned owner, char ret[64]) {
    snprintf(ret, 64, "%u has %" PRIx64, owner, truth_mix(seed, generation, meeting, 78 + owner));
}

bool truth_object_match(uint64_t seed, uint64_t generation, uint64_t meeting, const sw_object *object) {
    unsigned wanted = truth_owners(seed, generation, meeting), owners = 0;
    uint32_t count = sw_object_owner_count(object);
    for (uint32_t i = 0; i < count; i++) owners |= 1u << sw_object_owner(object, i);
    if (owners != wanted || count != (uint32_t)__builtin_popcount(wanted)) return false;
    if (count != 1) return sw_object_value(object) == NULL;
    char text[64];
    truth_object(seed, generation, meeting, sw_object_owner(object, 0), text);
    return same_text(sw_object_value(object), text);
}
