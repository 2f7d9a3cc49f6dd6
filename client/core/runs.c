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

/* Those blocks of the run that have not arrived. */
static bool push_missing(const struct parts *parts, struct runs *runs, const struct run *within) {
    struct run run = {.part = within->part};
    uint64_t cursor = within->first, end = within->first + within->count;
    while (cursor < end &&
           blocks_next_missing(&parts->parts[run.part].blocks, &cursor, &run.first, &run.count)) {
        if (run.first >= end) break;
        if (run.count > end - run.first) run.count = end - run.first;
        if (!push(parts, runs, run)) return false;
    }
    return true;
}

bool runs_missing(const struct parts *parts, struct runs *ret) {
    for (uint32_t i = 0; i < parts->count; i++) {
        const struct run whole = {i, 0, parts->parts[i].blocks.count};
        if (!push_missing(parts, ret, &whole)) return false;
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

static void clear(struct runs *runs) {
    runs->count = 0;
    runs->bytes = 0;
}

bool runs_give_back(const struct parts *parts, struct runs *left, struct runs *share) {
    struct runs missing = {0};
    bool has_memory = true;
    for (uint32_t i = 0; has_memory && i < share->count; i++)
        has_memory = push_missing(parts, &missing, &share->runs[i]);
    for (uint32_t i = missing.count; has_memory && i-- > 0;) has_memory = push(parts, left, missing.runs[i]);
    runs_destroy(&missing);
    clear(share);
    return has_memory;
}

uint64_t runs_blocks(const struct runs *runs) {
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < runs->count; i++) blocks += runs->runs[i].count;
    return blocks;
}

static bool is_missing(const struct parts *parts, const struct run *block) {
    return !blocks_have(&parts->parts[block->part].blocks, block->first);
}

uint64_t runs_missing_bytes(const struct parts *parts, const struct runs *share) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < share->count; i++) {
        struct run block = {share->runs[i].part, share->runs[i].first, 1};
        for (uint64_t k = 0; k < share->runs[i].count; k++, block.first++)
            if (is_missing(parts, &block)) bytes += bytes_of(parts, &block);
    }
    return bytes;
}

bool runs_double(const struct parts *parts, struct runs *left, const struct runs *share) {
    for (uint32_t i = 0; i < share->count; i++) {
        struct run block = {share->runs[i].part, share->runs[i].first, 1};
        for (uint64_t k = 0; k < share->runs[i].count; k++, block.first++)
            if (is_missing(parts, &block) && !push(parts, left, block)) return false;
    }
    return true;
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
