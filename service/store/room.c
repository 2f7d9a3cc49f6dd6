/* Room: tensors and the rest have a budget each. When room is needed, what nobody needs goes, the oldest
 * publication first, across all that the budget holds, and no more than suffices. */
#include <stdlib.h>
#include <string.h>

#include "service/store/internal.h"
#include "service/store/words.h"

void budget_init(struct budget *budget, const char *option, uint64_t capacity) {
    *budget = (struct budget){.option = option, .capacity = capacity};
    list_init(&budget->declared);
}

void giver_init(struct giver *giver, struct budget *budget, void (*give)(struct store *, struct giver *)) {
    *giver = (struct giver){.budget = budget, .give = give};
}

void giver_settle(struct giver *giver, uint64_t freeable, uint64_t oldest_sequence) {
    struct budget *budget = giver->budget;
    budget->freeable += freeable - giver->freeable;
    giver->freeable = freeable;
    if (oldest_sequence == 0)
        queue_remove(&budget->givers, &giver->place);
    else if (!giver->place.queued || giver->place.high != oldest_sequence)
        queue_put(&budget->givers, &giver->place, oldest_sequence, 0);
}

static uint64_t missing(const struct budget *budget, uint64_t size) {
    uint64_t left = budget->capacity - budget->used;
    return size > left ? size - left : 0;
}

static void free_oldest(struct store *store, struct budget *budget, uint64_t size) {
    while (missing(budget, size) > 0) {
        struct giver *giver = container_of(queue_first(&budget->givers), struct giver, place);
        giver->give(store, giver);
    }
}

bool budget_make_room(struct store *store, struct budget *budget, uint64_t size) {
    if (size > budget->capacity || missing(budget, size) > budget->freeable) return false;
    free_oldest(store, budget, size);
    return true;
}

/* ---- STORE_FULL names who holds it up ---- */

static size_t consumers_of(const struct store_channel *channel, uint64_t line, const char **ret) {
    const struct history *h = &channel->history;
    uint64_t steps = history_steps(h);
    if (steps == 0) return 0;
    size_t count = 0;
    for (uint32_t i = 0; i < channel->policy->count; i++) {
        const struct consumer *consumer = &channel->policy->consumers[i];
        if (consumer->dropped || consumer->below < line) continue;
        if (consumer->below > history_step(h, steps - 1)->step) continue;
        if (ret) ret[count] = consumer->id;
        count++;
    }
    return count;
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t unique(const char **texts, size_t count) {
    qsort(texts, count, sizeof *texts, compare_texts);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || strcmp(texts[kept - 1], texts[i]) != 0) texts[kept++] = texts[i];
    }
    return kept;
}

/* In `asking`, consumers that have not released `line` are dropped with this publish: they hold nothing up.
 */
static size_t holders(const struct budget *budget, const struct store_channel *asking, uint64_t line,
                      const char **ret) {
    size_t count = 0;
    list_each(node, &budget->declared) {
        const struct store_channel *channel = container_of(node, struct store_channel, in_declared);
        count += consumers_of(channel, channel == asking ? line : 0, ret ? ret + count : NULL);
    }
    return count;
}

static sw_status refuse_full(struct store *store, const struct store_channel *channel, uint64_t line,
                             const sw_address *address, uint64_t size, sw_error *error) {
    struct subject subject = {*address, channel->kind, ABOUT_STEP};
    struct budget *budget = channel->giver.budget;
    size_t count = holders(budget, channel, line, NULL);
    const char **names = count > 0 && error ? store_get(store, count * sizeof *names) : NULL;
    if (names)
        count = unique(names, holders(budget, channel, line, names));
    else
        count = 0;
    say_store_full(&subject, budget, size, names, count, error);
    store_put(store, names);
    return SW_RESOURCE_EXHAUSTED;
}

/* ---- ---- */

/* What more could go if consumers that have not released `line` were dropped. */
static uint64_t freed_without(const struct store_channel *channel, uint64_t line) {
    const struct history *h = &channel->history;
    uint64_t minimum = policy_minimum_above(channel->policy, line);
    return history_bytes_of(h, history_steps_below(h, minimum)) - channel->giver.freeable;
}

sw_status room_make(struct store *store, struct store_channel *channel, const sw_address *address,
                    uint64_t size, sw_error *error) {
    struct budget *budget = channel->giver.budget;
    uint64_t line;
    bool laggards = keep_lag_line(store, channel, address->step, &line);
    uint64_t freeable = budget->freeable + (laggards ? freed_without(channel, line) : 0);
    if (missing(budget, size) > freeable)
        return refuse_full(store, channel, laggards ? line + 1 : 0, address, size, error);
    if (laggards) keep_drop(store, channel, line);
    free_oldest(store, budget, size);
    return SW_OK;
}
