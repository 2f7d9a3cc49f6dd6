#include "client/core/runs.h"

#include "proto/base/error.h"

/* With names of SW_TENSOR_NAME_MAX bytes, an eighth of a message. */
#define SHARE_RUNS_MAX 1024u

void runs_destroy(struct runs *runs) {
    if (runs->runs) allocator_put(runs->allocator, runs->runs);
    *runs = (struct runs){0};
}

static uint64_t bytes_of(const struct parts *parts, const struct run *run) {
    uint64_t length = parts->parts[run->part].byte_length;
    uint64_t from = run->first * parts->block_bytes, to = from + run->count * parts->block_bytes;
    return (to < length ? to : length) - from;
}

static bool push(const struct parts *parts, struct runs *runs, struct run run) {
    if (runs->count == runs->room) {
        uint32_t room = runs->room ? 2 * runs->room : 16;
        void *more = allocator_resize(parts->allocator, runs->runs, room * sizeof run);
        if (!more) return false;
        runs->allocator = parts->allocator;
        runs->runs = more;
        runs->room = room;
    }
    runs->runs[runs->count++] = run;
    runs->bytes += bytes_of(parts, &run);
    return true;
}

static void reverse(struct runs *runs) {
    for (uint32_t i = 0, k = runs->count; i + 1 < k; i++) {
        struct run swapped = runs->runs[--k];
        runs->runs[k] = runs->runs[i];
        runs->runs[i] = swapped;
    }
}

bool runs_missing(const struct parts *parts, struct runs *ret) {
    for (uint32_t i = 0; i < parts->count; i++) {
        struct run run = {.part = i};
        uint64_t cursor = 0;
        while (blocks_next_missing(&parts->parts[i].blocks, &cursor, &run.first, &run.count))
            if (!push(parts, ret, run)) return false;
    }
    reverse(ret);
    return true;
}

/* The front of the next run, up to the block that reaches `bytes`. */
static struct run next_piece(const struct parts *parts, const struct runs *left, uint64_t bytes) {
    struct run piece = left->runs[left->count - 1];
    uint64_t blocks = bytes / parts->block_bytes + (bytes % parts->block_bytes != 0);
    if (piece.count > blocks) piece.count = blocks;
    return piece;
}

static void remove_piece(const struct parts *parts, struct runs *left, const struct run *piece) {
    struct run *next = &left->runs[left->count - 1];
    left->bytes -= bytes_of(parts, piece);
    next->first += piece->count;
    next->count -= piece->count;
    if (next->count == 0) left->count--;
}

bool runs_take(const struct parts *parts, struct runs *left, uint64_t bytes, struct runs *share) {
    while (left->count > 0 && share->bytes < bytes && share->count < SHARE_RUNS_MAX) {
        struct run piece = next_piece(parts, left, bytes - share->bytes);
        if (!push(parts, share, piece)) return false;
        remove_piece(parts, left, &piece);
    }
    return true;
}

/* From the first of its blocks that is missing to its end. */
static bool give_back_run(const struct parts *parts, struct runs *left, struct run run) {
    uint64_t cursor = run.first, first, count;
    if (!blocks_next_missing(&parts->parts[run.part].blocks, &cursor, &first, &count)) return true;
    uint64_t end = run.first + run.count;
    if (first >= end) return true;
    return push(parts, left, (struct run){run.part, first, end - first});
}

bool runs_give_back(const struct parts *parts, struct runs *left, struct runs *share) {
    bool has_memory = true;
    for (uint32_t i = share->count; has_memory && i-- > 0;)
        has_memory = give_back_run(parts, left, share->runs[i]);
    share->count = 0;
    share->bytes = 0;
    return has_memory;
}

sw_status runs_ranges(const struct runs *share, const struct parts *parts, const struct manifest *manifest,
                      struct arena *arena, const struct tensor_range **ret_ranges, uint32_t *ret_count,
                      sw_error *error) {
    struct tensor_range *ranges = arena_get(arena, share->count * sizeof *ranges);
    if (!ranges) return error_no_memory(error);
    for (uint32_t i = 0; i < share->count; i++) {
        const struct run *run = &share->runs[i];
        const char *name = manifest->tensors[parts->parts[run->part].index].name;
        ranges[i] = (struct tensor_range){name, run->first, run->count};
    }
    *ret_ranges = ranges;
    *ret_count = share->count;
    return SW_OK;
}
