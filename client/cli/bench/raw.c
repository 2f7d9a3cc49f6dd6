#include "client/cli/bench/raw.h"

#include <stdlib.h>

#include "client/cli/bench/address.h"
#include "client/cli/bench/bench.h"
#include "client/cli/doctor/wire.h"
#include "client/cli/memory.h"
#include "client/cli/messages.h"
#include "client/cli/stopwatch.h"
#include "proto/base/clock.h"

static enum cli_exit say_failed(const struct bench *bench, const struct wire *wire, enum wire_end end) {
    const char *why = end == WIRE_TIMED_OUT ? "no answer in time"
                      : end == WIRE_CLOSED  ? "the other side closed the connection"
                                            : wire_why(wire);
    return messages_say(bench->options.who, EXIT_UNREACHABLE,
                        "--raw %s: %s; is 'stagewire bench --serve' running there?", bench->raw, why);
}

static enum cli_exit open_wire(const struct bench *bench, const struct addrinfo *found, char wish,
                               struct wire *wire) {
    int64_t deadline = clock_after(clock_now_ms(&clock_system), bench->options.timeout_ms);
    enum wire_end end = wire_connect(wire, found->ai_addr, found->ai_addrlen, deadline);
    if (end == WIRE_OK) end = wire_write(wire, &wish, 1, deadline);
    if (end == WIRE_OK) return EXIT_OK;
    enum cli_exit code = say_failed(bench, wire, end);
    wire_close(wire);
    return code;
}

/* The first answer has the time that any call has, and so has the first of a row of our own. */
static int64_t deadline_of(const struct bench *bench, const struct measurement *row, bool is_first) {
    return is_first ? clock_after(clock_now_ms(&clock_system), bench->options.timeout_ms) : row->end_ms;
}

static bool goes_on(struct bench *bench, const struct measurement *row, enum wire_end end) {
    return end == WIRE_OK && bench_left_ms(row) > 0 && !bench_is_interrupted(bench);
}

/* One byte there and back. */
static enum wire_end call(struct bench *bench, struct wire *wire, char *byte) {
    struct measurement calls = bench_begin(bench, BENCH_RAW_CALL, 0, 1);
    enum wire_end end;
    do {
        int64_t begun = stopwatch_ns(), deadline = deadline_of(bench, &calls, calls.row->took.count == 0);
        end = wire_write(wire, byte, 1, deadline);
        if (end == WIRE_OK) end = wire_read(wire, byte, 1, deadline);
        if (end == WIRE_OK) latency_add(&calls.row->took, stopwatch_ns() - begun);
    } while (goes_on(bench, &calls, end));
    bench_end(bench, &calls);
    return end == WIRE_TIMED_OUT && calls.row->took.count ? WIRE_OK : end;
}

static enum wire_end stream(struct bench *bench, struct wire *wire, char *chunk) {
    struct measurement bytes = bench_begin(bench, BENCH_RAW_STREAM, 0, 1);
    enum wire_end end;
    do {
        end = wire_read(wire, chunk, RAW_CHUNK, deadline_of(bench, &bytes, bytes.row->moved == 0));
        if (end == WIRE_OK) bytes.row->moved += RAW_CHUNK;
    } while (goes_on(bench, &bytes, end));
    bench_end(bench, &bytes);
    return end == WIRE_TIMED_OUT && bytes.row->moved ? WIRE_OK : end;
}

static enum cli_exit measure(struct bench *bench, const struct addrinfo *found, char wish, char *memory) {
    struct wire wire;
    enum cli_exit code = open_wire(bench, found, wish, &wire);
    if (code != EXIT_OK) return code;
    enum wire_end end = wish == RAW_ECHO ? call(bench, &wire, memory) : stream(bench, &wire, memory);
    if (end != WIRE_OK) code = say_failed(bench, &wire, end);
    wire_close(&wire);
    return code == EXIT_OK && bench_is_interrupted(bench) ? EXIT_INTERRUPTED : code;
}

enum cli_exit bench_raw(struct bench *bench) {
    struct addrinfo *found;
    enum cli_exit code = address_find(bench->options.who, bench->raw, &found);
    if (code != EXIT_OK) return code;
    char *memory = memory_check(calloc(1, RAW_CHUNK));
    code = measure(bench, found, RAW_ECHO, memory);
    if (code == EXIT_OK) code = measure(bench, found, RAW_STREAM, memory);
    free(memory);
    freeaddrinfo(found);
    return code;
}
