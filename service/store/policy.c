/* Policies: how a channel is kept, and which consumers must release a step before it may go. The first
 * declaration in a generation stands. */
#include <stdlib.h>
#include <string.h>

#include "service/store/internal.h"
#include "service/store/words.h"

static int compare_consumers(const void *a, const void *b) {
    return strcmp(((const struct consumer *)a)->id, ((const struct consumer *)b)->id);
}

/* Sorted, and each once. */
static void sort_consumers(struct policy *policy) {
    qsort(policy->consumers, policy->count, sizeof *policy->consumers, compare_consumers);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < policy->count; i++) {
        if (kept > 0 && compare_consumers(&policy->consumers[kept - 1], &policy->consumers[i]) == 0) continue;
        policy->consumers[kept++] = policy->consumers[i];
    }
    policy->count = kept;
}

struct policy *policy_create(struct store *store, const sw_channel_policy *declared) {
    size_t size = sizeof(struct policy) + declared->consumer_count * sizeof(struct consumer), text = size;
    for (uint32_t i = 0; i < declared->consumer_count; i++) size += strlen(declared->consumers[i]) + 1;
    struct policy *policy = store_get(store, size);
    if (!policy) return NULL;
    *policy = (struct policy){
        .keep_steps = declared->keep_steps,
        .max_lag_steps = declared->max_lag_steps,
        .count = declared->consumer_count,
    };
    char *copy = (char *)policy + text;
    for (uint32_t i = 0; i < declared->consumer_count; i++) {
        size_t bytes = strlen(declared->consumers[i]) + 1;
        policy->consumers[i] = (struct consumer){.id = memcpy(copy, declared->consumers[i], bytes)};
        copy += bytes;
    }
    sort_consumers(policy);
    policy_measure(policy);
    return policy;
}

bool policy_same(const struct policy *a, const struct policy *b) {
    if (a->keep_steps != b->keep_steps || a->max_lag_steps != b->max_lag_steps || a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        if (strcmp(a->consumers[i].id, b->consumers[i].id) != 0) return false;
    }
    return true;
}

struct consumer *policy_consumer(struct policy *policy, const char *id) {
    struct consumer wanted = {.id = id};
    return bsearch(&wanted, policy->consumers, policy->count, sizeof wanted, compare_consumers);
}

void policy_measure(struct policy *policy) {
    policy->minimum = UINT64_MAX;
    policy->at_minimum = 0;
    for (uint32_t i = 0; i < policy->count; i++) {
        const struct consumer *consumer = &policy->consumers[i];
        if (consumer->dropped || consumer->below > policy->minimum) continue;
        if (consumer->below < policy->minimum) policy->at_minimum = 0;
        policy->minimum = consumer->below;
        policy->at_minimum++;
    }
}

uint64_t policy_minimum_above(const struct policy *policy, uint64_t line) {
    uint64_t minimum = UINT64_MAX;
    for (uint32_t i = 0; i < policy->count; i++) {
        const struct consumer *consumer = &policy->consumers[i];
        if (!consumer->dropped && consumer->below > line && consumer->below < minimum)
            minimum = consumer->below;
    }
    return minimum;
}

/* ---- what an Attach declares ---- */

static struct subject subject_of(const struct store *store, const sw_attachment *request, uint64_t generation,
                                 const sw_channel_policy *policy) {
    sw_address address = {
        .run_id = store->options.run_id,
        .generation = generation,
        .has_stage = true,
        .stage = request->stage,
        .group = request->group,
        .channel = policy->channel,
    };
    return (struct subject){address, policy->kind, ABOUT_CHANNEL};
}

/* The channel as it will be: that of the current generation, or a fresh one. */
static sw_status prepare_channel(struct store *store, const struct subject *subject, uint64_t fresh_before,
                                 struct declaration *declaration, sw_error *error) {
    const sw_address *a = &subject->address;
    struct channel_key key = {a->stage, a->group, subject->kind, a->channel};
    bool current = a->generation == store->generation;
    declaration->channel = current ? channel_find(store, &key) : NULL;
    if (declaration->channel) return SW_OK;
    if ((current ? store->channels.count : 0) + fresh_before >= store->options.max_channels)
        return say_limit(store, subject, "channels", store->options.max_channels, error);
    declaration->channel = channel_create(store, &key, a->generation);
    declaration->fresh = true;
    return declaration->channel ? SW_OK : say_no_memory(store, subject, error);
}

static sw_status prepare_policy(struct store *store, const struct subject *subject,
                                const sw_attachment *request, uint32_t index, struct declaration *declaration,
                                sw_error *error) {
    const sw_channel_policy *declared = &request->policies[index];
    if (declared->consumer_count > store->options.max_consumers)
        return say_limit(store, subject, "consumers", store->options.max_consumers, error);
    struct policy *policy = policy_create(store, declared);
    if (!policy) return say_no_memory(store, subject, error);
    const struct policy *stands = declaration->channel->policy;
    declaration->next_step = declared->next_step;
    if (!stands) {
        declaration->policy = policy;
        return SW_OK;
    }
    bool same = policy_same(stands, policy);
    store_put(store, policy);
    return same ? SW_OK : say_policy_conflict(subject, index, error);
}

sw_status declarations_prepare(struct store *store, const sw_attachment *request, uint64_t generation,
                               struct declarations *ret, sw_error *error) {
    *ret = (struct declarations){.list = NULL};
    if (request->policy_count == 0) return SW_OK;
    struct subject first = subject_of(store, request, generation, &request->policies[0]);
    struct declarations ready = {.list = store_get(store, request->policy_count * sizeof *ready.list)};
    if (!ready.list) return say_no_memory(store, &first, error);
    uint64_t fresh = 0;
    for (uint32_t i = 0; i < request->policy_count; i++) {
        struct subject subject = subject_of(store, request, generation, &request->policies[i]);
        struct declaration *declaration = &ready.list[i];
        *declaration = (struct declaration){.channel = NULL};
        sw_status status = prepare_channel(store, &subject, fresh, declaration, error);
        ready.count++;
        if (status == SW_OK) status = prepare_policy(store, &subject, request, i, declaration, error);
        if (status != SW_OK) {
            declarations_discard(store, &ready);
            return status;
        }
        fresh += declaration->fresh;
    }
    *ret = ready;
    return SW_OK;
}

static void apply(struct store *store, struct declaration *declaration) {
    struct store_channel *channel = declaration->channel;
    if (declaration->fresh) channel_admit(store, channel);
    if (declaration->policy) {
        channel->policy = declaration->policy;
        if (channel->policy->count > 0)
            list_append(&channel_budget(store, channel->kind)->declared, &channel->in_declared);
        keep_trim(store, channel);
    }
    if (declaration->next_step > channel->next_step) {
        channel->next_step = declaration->next_step;
        waiting_below(store, channel, channel->next_step);
    }
}

void declarations_apply(struct store *store, struct declarations *declarations) {
    for (uint32_t i = 0; i < declarations->count; i++) apply(store, &declarations->list[i]);
    store_put(store, declarations->list);
}

void declarations_discard(struct store *store, struct declarations *declarations) {
    for (uint32_t i = 0; i < declarations->count; i++) {
        struct declaration *declaration = &declarations->list[i];
        store_put(store, declaration->policy);
        if (declaration->fresh && declaration->channel) channel_discard(store, declaration->channel);
    }
    store_put(store, declarations->list);
}
