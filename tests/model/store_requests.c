#include <stdlib.h>
#include <string.h>

#include "proto/base/limits.h"
#include "tests/model/store_slots.h"

sw_address address_of(const struct operation *o) {
    return (sw_address){
        .run_id = o->other_run ? "other" : NULL,
        .generation = o->generation,
        .has_stage = o->has_stage,
        .stage = o->stage,
        .group = o->group,
        .channel = channel_names[o->name],
        .step = o->step,
        .call = o->call,
    };
}

static sw_buffer *make_bytes(uint32_t value, size_t size) {
    sw_buffer *buffer;
    void *data;
    if (sw_buffer_create(size, &buffer, &data, NULL) != SW_OK) abort();
    if (size) memset(data, (int)value, size);
    return buffer;
}

static struct digest digest_of(uint32_t value) {
    return (struct digest){value, 1};
}

static struct reply published(sw_status status, bool duplicate, const sw_error *error) {
    if (status != SW_OK) return reply_of_error(error);
    return reply_ok("%s", duplicate ? "duplicate" : "");
}

struct reply ask_publish(struct store_target *t, const struct operation *o) {
    sw_address address = address_of(o);
    sw_buffer *bytes = make_bytes(o->value, o->size);
    bool duplicate = false;
    sw_error error;
    sw_status status =
        store_publish_metrics(t->store, &address, bytes, digest_of(o->value), &duplicate, &error);
    sw_buffer_unref(bytes);
    return published(status, duplicate, &error);
}

struct reply ask_failure(struct store_target *t, const struct operation *o) {
    sw_address address = address_of(o);
    bool duplicate = false;
    sw_error error;
    sw_status status =
        store_publish_failure(t->store, &address, o->kind, messages[o->message], &duplicate, &error);
    return published(status, duplicate, &error);
}

static void publish_ended(struct store_publish *publish, const sw_error *why) {
    struct slot *slot = container_of(publish, struct slot, publish);
    struct store_target *t = slot->target;
    slot->publish_open = false;
    outcome_note(t->outcome, slot->operation->handle, NOTE_PUBLISH_ENDED, 0, t->now_ms)->reply =
        reply_of_error(why);
}

struct reply ask_open(struct store_target *t, const struct operation *o, struct slot *slot) {
    sw_address address = address_of(o);
    sw_error error;
    slot->publish.ended = publish_ended;
    if (store_publish_open(t->store, &slot->publish, &address, o->size, true, &error) != SW_OK)
        return reply_of_error(&error);
    slot->publish_open = true;
    return reply_open();
}

static struct tensor_set *make_tensors(const struct operation *o) {
    int64_t shape = (int64_t)o->size;
    struct tensor_info info = {
        .name = "t", .dtype = SW_U8, .rank = 1, .shape = &shape, .byte_length = o->size, .digest = o->value};
    struct tensor_set *set = tensor_set_create(&info, 1, LIMIT_BLOCK_BYTES, &allocator_system);
    if (!set) abort();
    set->tensors[0].bytes = make_bytes(o->value, o->size);
    return set;
}

struct reply ask_commit(struct store_target *t, struct slot *slot) {
    struct tensor_set *set = slot->publish.known ? NULL : make_tensors(slot->operation);
    bool duplicate = false;
    sw_error error;
    struct digest digest = digest_of(slot->operation->value);
    sw_status status = store_publish_commit(t->store, &slot->publish, set, digest, &duplicate, &error);
    tensor_set_unref(set);
    return published(status, duplicate, &error);
}

struct reply ask_close(struct store_target *t, const struct operation *o) {
    sw_address address = address_of(o);
    sw_error error;
    sw_status status =
        store_close(t->store, &address, o->kind, o->all, o->reason, messages[o->message], &error);
    return status == SW_OK ? reply_ok("%s", "") : reply_of_error(&error);
}

struct reply ask_release(struct store_target *t, const struct operation *o) {
    struct consumer_request consumers[] = {{consumer_names[o->consumer], o->below, o->ends_pins},
                                           {consumer_names[0], o->below, o->ends_pins}};
    struct release_request request = {
        .address = address_of(o), .kind = o->kind, .consumers = consumers, .consumer_count = o->both ? 2 : 1};
    sw_error error;
    return store_release(t->store, &request, &error) == SW_OK ? reply_ok("%s", "") : reply_of_error(&error);
}

static void lease_granted(struct store_lease *lease) {
    struct slot *slot = container_of(lease, struct slot, lease);
    struct store_target *t = slot->target;
    outcome_note(t->outcome, slot->operation->handle, NOTE_GRANTED, 0, t->now_ms)->reply =
        reply_ok("generation %llu", (unsigned long long)lease->generation);
}

static void lease_ended(struct store_lease *lease, const sw_error *why) {
    struct slot *slot = container_of(lease, struct slot, lease);
    struct store_target *t = slot->target;
    slot->lease_open = false;
    outcome_note(t->outcome, slot->operation->handle, NOTE_LEASE_ENDED, 0, t->now_ms)->reply =
        reply_of_error(why);
}

static void fill_policy(struct slot *slot, int i, const struct policy *p) {
    sw_channel_policy *policy = &slot->policies[i];
    *policy = (sw_channel_policy){
        .channel = channel_names[p->name],
        .kind = p->kind,
        .keep_steps = p->keep,
        .consumers = slot->consumers[i],
        .max_lag_steps = p->lag,
        .next_step = p->next,
    };
    /* Backwards: the order in which consumers are named means nothing. */
    for (int c = CONSUMERS - 1; c >= 0; c--)
        if (p->consumers[c]) slot->consumers[i][policy->consumer_count++] = consumer_names[c];
}

struct reply ask_attach(struct store_target *t, const struct operation *o, struct slot *slot) {
    slot->lease.granted = lease_granted;
    slot->lease.ended = lease_ended;
    slot->attachment = (sw_attachment){
        .run_id = o->other_run ? "other" : MODEL_RUN,
        .generation = o->generation,
        .stage = o->stage,
        .stage_count = o->stage_count,
        .group = o->group,
        .policies = slot->policies,
        .policy_count = (uint32_t)o->policy_count,
    };
    for (int i = 0; i < o->policy_count; i++) fill_policy(slot, i, &o->policies[i]);
    bool pending = false;
    sw_error error;
    if (store_attach(t->store, &slot->lease, &slot->attachment, !o->guest, &pending, &error) != SW_OK)
        return reply_of_error(&error);
    slot->lease_open = true;
    return pending ? reply_open() : reply_ok("generation %llu", (unsigned long long)slot->lease.generation);
}

static void pull_answered(struct store_pull *pull) {
    container_of(pull, struct slot, pull)->answered = true;
}

static uint64_t pin_of(const struct store_target *t, const struct operation *o) {
    if (o->of == UNKNOWN_PIN) return 0x5741;
    return o->of >= 0 && t->slots[o->of] ? t->slots[o->of]->pin : 0;
}

static int64_t until_of(const struct store_target *t, const struct operation *o) {
    return o->wait_ms ? t->now_ms + o->wait_ms : CLOCK_NEVER;
}

static void fill_pull(struct store_target *t, const struct operation *o, struct slot *slot) {
    slot->pull_request = (struct pull_request){
        .address = address_of(o),
        .latest = o->latest,
        .wait = {.no_wait = o->no_wait, .wait_ms = o->wait_ms > 0 ? (uint32_t)o->wait_ms : 0},
        .consumer = {o->consumer == NOBODY ? "" : consumer_names[o->consumer], o->below, o->ends_pins},
        .pin = pin_of(t, o),
    };
    if (o->kind != SW_TENSORS || o->want == WANT_ALL) return;
    slot->range = (struct tensor_range){.name = "t", .first_block = 1000000};
    if (o->want == WANT_MISSING_TENSOR) slot->range = (struct tensor_range){.name = "nope"};
    slot->pull_request.ranges = &slot->range;
    slot->pull_request.range_count = 1;
}

struct reply ask_pull(struct store_target *t, const struct operation *o, struct slot *slot) {
    fill_pull(t, o, slot);
    slot->pull = (struct store_pull){.request = &slot->pull_request,
                                     .kind = o->kind,
                                     .until_ms = until_of(t, o),
                                     .answered = pull_answered};
    if (store_pull_start(t->store, &slot->pull)) return pull_reply(t, slot);
    slot->waiting = true;
    return reply_open();
}

static void word_answered(struct store_word *word) {
    container_of(word, struct slot, word)->answered = true;
}

struct reply ask_exchange(struct store_target *t, const struct operation *o, struct slot *slot) {
    slot->exchange_request = (struct exchange_request){
        .address = address_of(o),
        .stage_count = o->stage_count,
        .present = o->present,
        .value_bytes = o->present ? make_bytes(o->value, o->size) : NULL,
        .value_digest = o->present ? digest_of(o->value) : (struct digest){0, 0},
        .wait = {.no_wait = o->no_wait, .wait_ms = o->wait_ms > 0 ? (uint32_t)o->wait_ms : 0},
    };
    slot->word = (struct store_word){
        .request = &slot->exchange_request, .until_ms = until_of(t, o), .answered = word_answered};
    if (store_word_start(t->store, &slot->word)) return word_reply(t, slot);
    slot->waiting = true;
    return reply_open();
}

static void watch_ready(struct store_watch *watch) {
    container_of(watch, struct slot, watch)->ready = true;
}

static void fill_filter(struct slot *slot, int i, const struct filter_part *part) {
    struct channel_filter *filter = &slot->filters[i];
    slot->filter_stages[i] = (uint32_t)part->stage;
    slot->filter_groups[i] = (uint32_t)part->group;
    *filter = (struct channel_filter){
        .stages = &slot->filter_stages[i],
        .stage_count = part->stage != ANYTHING,
        .groups = &slot->filter_groups[i],
        .group_count = part->group != ANYTHING,
        .channels = &part->channel,
        .channel_count = part->channel != NULL,
    };
}

struct reply ask_watch(struct store_target *t, const struct operation *o, struct slot *slot) {
    for (int i = 0; i < filters[o->filter].count; i++) fill_filter(slot, i, &filters[o->filter].parts[i]);
    slot->watch_request = (struct watch_request){
        .run_id = o->other_run ? "other" : MODEL_RUN,
        .filters = slot->filters,
        .filter_count = (uint32_t)filters[o->filter].count,
        .start = o->start,
        .positions = slot->positions,
        .position_count = (uint32_t)o->position_count,
    };
    for (int i = 0; i < o->position_count; i++)
        slot->positions[i] = (sw_address){
            .generation = o->positions[i].generation,
            .has_stage = true,
            .stage = OWN_STAGE,
            .channel = channel_names[o->positions[i].name],
            .step = o->positions[i].step,
            .call = o->positions[i].call,
        };
    sw_error error;
    slot->watch.ready = watch_ready;
    slot->watch_generation = store_generation(t->store);
    if (store_watch_start(t->store, &slot->watch, &slot->watch_request, &error) != SW_OK)
        return reply_of_error(&error);
    slot->watch_open = slot->ready = true;
    return reply_ok("%s", "");
}
