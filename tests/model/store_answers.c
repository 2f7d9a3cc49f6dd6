#include <stdlib.h>
#include <string.h>

#include "tests/model/store_slots.h"

/* The metadata that the contract promises with a reason. */
static const char *const keys[SW_REASON_COUNT][2] = {
    [SW_REASON_STALE_GENERATION] = {"generation"},   [SW_REASON_SUPERSEDED] = {"generation"},
    [SW_REASON_STORE_FULL] = {"consumers"},          [SW_REASON_NO_SUCH_TENSOR] = {"tensors"},
    [SW_REASON_STEP_FAILED] = {"message", "stages"}, [SW_REASON_EVICTED] = {"oldest"},
    [SW_REASON_FINISHED] = {"last", "stages"},       [SW_REASON_PUBLISHER_ABORTED] = {"message", "stages"},
    [SW_REASON_PUBLISHER_LOST] = {"stages"},         [SW_REASON_LIMIT] = {"limit"},
    [SW_REASON_NOT_YET] = {"latest", "stages"},      [SW_REASON_AMBIGUOUS_STAGE] = {"stages"},
};

static void add_without_spaces(struct reply *reply, const char *key, const char *value) {
    reply_add(reply, "%s=", key);
    for (; *value; value++)
        if (*value != ' ') reply_add(reply, "%c", *value);
}

struct reply reply_of_error(const sw_error *error) {
    struct reply reply = {.status = error->code, .reason = error->reason};
    if (error->reason >= SW_REASON_COUNT) return reply;
    for (int i = 0; i < 2; i++) {
        const char *key = keys[error->reason][i], *value = key ? sw_error_metadata(error, key) : NULL;
        if (value) add_without_spaces(&reply, key, value);
    }
    if (!error->message[0]) reply_add(&reply, " without a message");
    return reply;
}

uint32_t value_of_bytes(const sw_buffer *bytes) {
    const uint8_t *data = sw_buffer_data(bytes);
    for (size_t i = 1; i < sw_buffer_size(bytes); i++)
        if (data[i] != data[0]) return UINT32_MAX;
    return data[0];
}

static uint32_t value_of_item(const struct store_item *item) {
    if (item->kind == SW_METRICS) return value_of_bytes(item->metrics);
    const struct tensor *tensor = &item->tensors->tensors[0];
    bool whole = sw_buffer_size(tensor->bytes) == item->size &&
                 (!item->size || value_of_bytes(tensor->bytes) == tensor->info.digest);
    return whole ? (uint32_t)tensor->info.digest : UINT32_MAX;
}

struct reply pull_reply(struct store_target *t, struct slot *slot) {
    const struct store_pull *pull = &slot->pull;
    if (pull->status != SW_OK) return reply_of_error(&pull->error);
    const sw_address *a = &pull->item->address;
    struct reply reply = reply_ok("generation %llu stage %u group %u %s %llu/%u = %u",
                                  (unsigned long long)a->generation, a->stage, a->group, a->channel,
                                  (unsigned long long)a->step, a->call, value_of_item(pull->item));
    if (!a->has_stage || strcmp(a->run_id, MODEL_RUN) != 0) reply_add(&reply, " not resolved");
    if (pull->item->kind == SW_TENSORS) slot->pin = pull->item->pin;
    slot->kept = pull->item;
    if (slot->operation->keep_open) return reply;
    store_item_release(t->store, slot->kept);
    slot->kept = NULL;
    return reply;
}

static struct reply met_reply(const struct store_word *word) {
    const sw_address *a = &word->address;
    struct reply reply = reply_ok("generation %llu %s %llu/%u owners [", (unsigned long long)a->generation,
                                  a->channel, (unsigned long long)a->step, a->call);
    for (uint32_t i = 0; i < word->owner_count; i++) reply_add(&reply, i ? ",%u" : "%u", word->owners[i]);
    reply_add(&reply, "]");
    if (word->value) reply_add(&reply, " value %u", value_of_bytes(word->value));
    return reply;
}

struct reply word_reply(struct store_target *t, struct slot *slot) {
    struct store_word *word = &slot->word;
    struct reply reply = word->status == SW_OK ? met_reply(word) : reply_of_error(&word->error);
    if (word->status == SW_OK) sw_buffer_unref(word->value);
    store_word_finish(t->store, word);
    sw_buffer_unref(slot->exchange_request.value_bytes);
    slot->exchange_request.value_bytes = NULL;
    return reply;
}

static int group_of(const sw_address *a, sw_item_kind kind) {
    for (int name = 0; name < CHANNEL_NAMES; name++)
        if (strcmp(channel_names[name], a->channel) == 0)
            return channel_group(a->stage, a->group, name, kind);
    return -2;
}

static struct reply published_reply(const char *what, const sw_address *a) {
    return reply_ok("%s generation %llu %llu/%u = ", what, (unsigned long long)a->generation,
                    (unsigned long long)a->step, a->call);
}

static struct reply gap_reply(const struct watch_event *event) {
    const sw_address *from = &event->gap.first_missing, *to = &event->gap.next_held;
    struct reply reply =
        reply_ok("gap generation %llu from %llu/%u to ", (unsigned long long)from->generation,
                 (unsigned long long)from->step, from->call);
    if (event->gap.has_next)
        reply_add(&reply, "%llu/%u", (unsigned long long)to->step, to->call);
    else
        reply_add(&reply, "nothing held");
    return reply;
}

static struct reply closed_reply(const struct channel_closed *closed) {
    static const char *const reasons[] = {"?", "FINISHED", "ABORTED", "PUBLISHER_LOST", "SUPERSEDED"};
    struct reply reply =
        reply_ok("closed %s '%s' generation %llu after %llu items", reasons[closed->reason],
                 closed->message ? closed->message : "", (unsigned long long)closed->last.generation,
                 (unsigned long long)closed->items);
    if (closed->items)
        reply_add(&reply, ", last %llu/%u", (unsigned long long)closed->last.step, closed->last.call);
    return reply;
}

/* Returns the address that the event is about; NULL for a generation. */
static const sw_address *event_reply(const struct watch_event *event, const struct store_item *item,
                                     struct reply *ret) {
    switch (event->type) {
    case WATCH_PUBLISHED:
        *ret = published_reply("published", &item->address);
        reply_add(ret, "%u", value_of_item(item));
        return &item->address;
    case WATCH_FAILED:
        *ret = published_reply("failed", &event->failed.address);
        reply_add(ret, "%s", event->failed.message);
        return &event->failed.address;
    case WATCH_GAP:
        *ret = gap_reply(event);
        return &event->gap.first_missing;
    case WATCH_CLOSED:
        *ret = closed_reply(&event->closed);
        return &event->closed.last;
    case WATCH_GENERATION:
        *ret = reply_ok("generation %llu has begun", (unsigned long long)event->generation);
        return NULL;
    default:
        *ret = reply_ok("an event of type %d", (int)event->type);
        return NULL;
    }
}

void read_watch(struct store_target *t, struct slot *slot) {
    struct watch_event event;
    const struct store_item *item = NULL;
    slot->ready = false;
    while (store_watch_next(t->store, &slot->watch, &event, &item)) {
        struct reply reply;
        const sw_address *about = event_reply(&event, item, &reply);
        if (!about)
            slot->watch_generation = event.generation;
        else if (!slot->watch_generation)
            slot->watch_generation = about->generation;
        else if (about->generation != slot->watch_generation)
            reply_add(&reply, " before its generation was told");
        int group = about ? group_of(about, SW_METRICS) : -1;
        outcome_note(t->outcome, slot->operation->handle, NOTE_EVENT, group, t->now_ms)->reply = reply;
        if (item) store_item_release(t->store, item);
        item = NULL;
    }
}

static struct note *add_info(struct store_target *t, const struct operation *o, int group) {
    struct note *note = outcome_note(t->outcome, o->handle, NOTE_INFO, group, t->now_ms);
    note->reply = reply_ok("%s", "");
    return note;
}

static void add_channel(struct store_target *t, const struct operation *o, const struct channel_info *c) {
    const sw_address *a = &c->latest;
    struct reply *reply = &add_info(t, o, group_of(a, c->kind))->reply;
    reply_add(reply, "kind %d %s stage %u group %u: %llu items", (int)c->kind, a->channel, a->stage, a->group,
              (unsigned long long)c->items);
    if (c->has_items) reply_add(reply, " oldest %llu/%u", (unsigned long long)c->oldest.step, c->oldest.call);
    if (c->has_items) reply_add(reply, " latest %llu/%u", (unsigned long long)a->step, a->call);
    reply_add(reply, " held %llu bytes", (unsigned long long)c->held_bytes);
    for (int name = 0; name < CONSUMERS; name++)
        for (uint32_t i = 0; i < c->consumer_count; i++)
            if (strcmp(c->consumers[i].id, consumer_names[name]) == 0)
                reply_add(reply, " %s below %llu", consumer_names[name],
                          (unsigned long long)c->consumers[i].release_below);
    if (c->is_closed) reply_add(reply, " closed %d '%s'", (int)c->closed.reason, c->closed.message);
}

static void add_load(struct store_target *t, const struct operation *o, const struct stage_info *info) {
    const struct load_info *load = &info->load;
    struct note *note = add_info(t, o, -1);
    reply_add(
        &note->reply,
        "generation %llu, %llu waiting, %llu watches, %llu streams, %llu publishes, %llu bytes of tensors, "
        "%llu of metrics, %llu pinned, %llu dropped",
        (unsigned long long)info->generation, (unsigned long long)load->waiting,
        (unsigned long long)load->watches, (unsigned long long)load->streams,
        (unsigned long long)load->open_publishes, (unsigned long long)info->held_bytes,
        (unsigned long long)load->metrics_held_bytes, (unsigned long long)load->pinned_bytes,
        (unsigned long long)store_dropped_consumers(t->store));
}

/* In order of stage and group, which the store does not promise. */
static void add_leases(struct store_target *t, const struct operation *o, const struct stage_info *info) {
    for (uint32_t at = 0; at < STAGES * GROUPS; at++)
        for (uint32_t i = 0; i < info->lease_count; i++) {
            const struct lease_info *lease = &info->leases[i];
            if (lease->stage * GROUPS + lease->group != at) continue;
            struct note *note = add_info(t, o, -2);
            reply_add(&note->reply, "lease of stage %u of %u, group %u%s", lease->stage, lease->stage_count,
                      lease->group, lease->lost ? ", lost" : "");
        }
}

void read_info(struct store_target *t, const struct operation *o) {
    struct arena arena;
    arena_init(&arena, &allocator_system, SIZE_MAX);
    struct stage_info info = {.next_page_token = ""};
    const char *token = "";
    do {
        if (store_info(t->store, token, &arena, &info, NULL) != SW_OK) abort();
        if (!token[0]) add_load(t, o, &info);
        add_leases(t, o, &info);
        for (uint32_t i = 0; i < info.channel_count; i++) add_channel(t, o, &info.channels[i]);
        token = info.next_page_token ? info.next_page_token : "";
    } while (token[0]);
    arena_destroy(&arena);
}
