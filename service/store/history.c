#include "service/store/history.h"

#include <string.h>

#include "proto/base/limits.h"

#define FEW 4

static struct item **item_slot(const struct history *h, uint64_t index) {
    return &h->items[index & (h->item_room - 1)];
}

static struct held_step *step_slot(const struct history *h, uint64_t number) {
    return &h->steps[number & (h->step_room - 1)];
}

static bool reserve_item(struct history *h, const struct allocator *allocator) {
    if (h->count - h->first_held < h->item_room) return true;
    size_t room = h->item_room ? h->item_room * 2 : FEW;
    struct item **items = allocator_get(allocator, room * sizeof(struct item *));
    if (!items) return false;
    for (uint64_t i = h->first_held; i < h->count; i++) items[i & (room - 1)] = *item_slot(h, i);
    allocator_put(allocator, h->items);
    h->items = items;
    h->item_room = room;
    return true;
}

static bool reserve_step(struct history *h, const struct allocator *allocator) {
    if (history_steps(h) < h->step_room) return true;
    size_t room = h->step_room ? h->step_room * 2 : FEW;
    struct held_step *steps = allocator_get(allocator, room * sizeof *steps);
    if (!steps) return false;
    for (uint64_t i = h->first_step; i < h->end_step; i++) steps[i & (room - 1)] = *step_slot(h, i);
    allocator_put(allocator, h->steps);
    h->steps = steps;
    h->step_room = room;
    return true;
}

/* Until the ring is full nothing in it has wrapped, so that it grows in place. */
static bool reserve_recent(struct history *h, const struct allocator *allocator) {
    if (h->count < h->recent_room || h->recent_room == LIMIT_KEPT_DIGESTS) return true;
    size_t room = h->recent_room ? h->recent_room * 2 : FEW;
    struct publication *recent = allocator_resize(allocator, h->recent, room * sizeof *recent);
    if (!recent) return false;
    h->recent = recent;
    h->recent_room = room;
    return true;
}

bool history_reserve(struct history *h, const struct allocator *allocator) {
    return reserve_item(h, allocator) && reserve_step(h, allocator) && reserve_recent(h, allocator);
}

void history_add(struct history *h, struct item *item) {
    struct at at = item_at(item);
    uint64_t steps = history_steps(h);
    if (steps == 0 || history_step(h, steps - 1)->step != at.step)
        *step_slot(h, h->end_step++) = (struct held_step){at.step, h->count, item->sequence, h->bytes};
    *item_slot(h, h->count) = item;
    h->recent[h->count & (h->recent_room - 1)] = (struct publication){at, item->shown.failed, item->digest};
    h->bytes += item->shown.size;
    h->count++;
}

struct item *history_drop(struct history *h) {
    struct item *item = *item_slot(h, h->first_held++);
    if (h->first_held == history_oldest_step_end(h)) h->first_step++;
    return item;
}

void history_free(struct history *h, const struct allocator *allocator) {
    allocator_put(allocator, h->items);
    allocator_put(allocator, h->steps);
    allocator_put(allocator, h->recent);
    *h = (struct history){.count = 0};
}

uint64_t history_known(const struct history *h) {
    uint64_t logged = h->count > LIMIT_KEPT_DIGESTS ? h->count - LIMIT_KEPT_DIGESTS : 0;
    return logged < h->first_held ? logged : h->first_held;
}

struct item *history_item(const struct history *h, uint64_t index) {
    return index >= h->first_held && index < h->count ? *item_slot(h, index) : NULL;
}

struct publication history_publication(const struct history *h, uint64_t index) {
    const struct item *item = history_item(h, index);
    if (item) return (struct publication){item_at(item), item->shown.failed, item->digest};
    return h->recent[index & (h->recent_room - 1)];
}

uint64_t history_lower_bound(const struct history *h, struct at at) {
    uint64_t low = history_known(h), high = h->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (at_below(history_publication(h, middle).at, at))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool history_find(const struct history *h, struct at at, uint64_t *ret_index) {
    if (h->count == 0 || at_below(history_latest(h), at)) return false;
    uint64_t index = history_lower_bound(h, at);
    if (!at_equal(history_publication(h, index).at, at)) return false;
    *ret_index = index;
    return true;
}

const struct held_step *history_step(const struct history *h, uint64_t number) {
    return step_slot(h, h->first_step + number);
}

uint64_t history_oldest_step_end(const struct history *h) {
    return history_steps(h) > 1 ? history_step(h, 1)->first_index : h->count;
}

uint64_t history_steps_below(const struct history *h, uint64_t step) {
    uint64_t low = 0, high = history_steps(h);
    if (high == 0 || history_step(h, high - 1)->step < step) return high;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (history_step(h, middle)->step < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t history_bytes_of(const struct history *h, uint64_t number) {
    if (number == 0) return 0;
    uint64_t end = number < history_steps(h) ? history_step(h, number)->bytes_before : h->bytes;
    return end - history_step(h, 0)->bytes_before;
}
