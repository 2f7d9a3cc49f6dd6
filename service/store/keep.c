/* Keeping: a step goes once every expected consumer has released it and keep_steps newer ones are held. Lag:
 * a consumer that is too far behind no longer counts. Because steps go from the oldest on, what is held is
 * always a channel's newest. */
#include "service/store/internal.h"

uint64_t keep_minimum(const struct store_channel *channel) {
    return channel->policy ? channel->policy->minimum : UINT64_MAX;
}

static uint64_t keep_steps(const struct store *store, const struct store_channel *channel) {
    if (channel->policy && channel->policy->keep_steps > 0) return channel->policy->keep_steps;
    return channel->kind == SW_TENSORS ? store->options.keep_tensor_steps : store->options.keep_steps;
}

static uint64_t max_lag(const struct store *store, const struct store_channel *channel) {
    if (channel->policy && channel->policy->max_lag_steps > 0) return channel->policy->max_lag_steps;
    return store->options.max_lag_steps;
}

/* Behind: the steps after the oldest that it has not released. So with n steps held, and one that is more
 * than the limit from the end. */
static bool lag_line(const struct store_channel *channel, uint64_t steps, uint64_t lag, uint64_t *ret_line) {
    if (lag == 0 || steps < lag + 2) return false;
    *ret_line = history_step(&channel->history, steps - lag - 2)->step;
    return keep_minimum(channel) <= *ret_line;
}

bool keep_lag_line(const struct store *store, const struct store_channel *channel, uint64_t step,
                   uint64_t *ret_line) {
    uint64_t steps = history_steps(&channel->history);
    if (steps == 0 || history_step(&channel->history, steps - 1)->step != step) steps++;
    return lag_line(channel, steps, max_lag(store, channel), ret_line);
}

void keep_drop(struct store *store, struct store_channel *channel, uint64_t line) {
    struct policy *policy = channel->policy;
    for (uint32_t i = 0; i < policy->count; i++) {
        struct consumer *consumer = &policy->consumers[i];
        if (consumer->dropped || consumer->below > line) continue;
        consumer->dropped = true;
        store->consumers_dropped++;
    }
    policy_measure(policy);
    keep_settle(store, channel);
}

void keep_drop_step(struct store *store, struct store_channel *channel) {
    struct history *h = &channel->history;
    for (uint64_t end = history_oldest_step_end(h); h->first_held < end;) {
        struct item *item = history_drop(h);
        if (item == channel->newest_good) channel->newest_good = NULL;
        item_gone(store, channel, item);
    }
    pins_fit(store);
    keep_settle(store, channel);
}

void keep_trim(struct store *store, struct store_channel *channel) {
    struct history *h = &channel->history;
    uint64_t line, keep = keep_steps(store, channel);
    if (lag_line(channel, history_steps(h), max_lag(store, channel), &line)) keep_drop(store, channel, line);
    keep_settle(store, channel);
    while (history_steps(h) > keep && history_step(h, 0)->step < keep_minimum(channel))
        keep_drop_step(store, channel);
}

void keep_release(struct store *store, struct store_channel *channel,
                  const struct consumer_request *request) {
    struct policy *policy = channel->policy;
    struct consumer *consumer = policy ? policy_consumer(policy, request->id) : NULL;
    if (!consumer) return;
    uint64_t below = request->release_below;
    if (request->ends_pins && below > consumer->pins_below) consumer->pins_below = below;
    bool held_the_minimum = !consumer->dropped && consumer->below == policy->minimum;
    if (below > consumer->below) {
        consumer->below = below;
        if (held_the_minimum && --policy->at_minimum == 0) policy_measure(policy);
    }
    keep_trim(store, channel);
}

void keep_settle(struct store *store, struct store_channel *channel) {
    const struct history *h = &channel->history;
    uint64_t minimum = keep_minimum(channel), steps = history_steps(h);
    uint64_t released = minimum == UINT64_MAX ? steps : history_steps_below(h, minimum);
    giver_settle(&channel->giver, history_bytes_of(h, released),
                 released > 0 ? history_step(h, 0)->first_sequence : 0);
    bool needed = released < steps;
    if (needed && !channel->needed) store->channels_needed++;
    if (!needed && channel->needed) store->channels_needed--;
    channel->needed = needed;
}
