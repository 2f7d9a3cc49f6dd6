#include "tests/model/reference_state.h"

static struct note *add_info(struct reference *r, const struct operation *o, int group) {
    struct note *note = outcome_note(r->outcome, o->handle, NOTE_INFO, group, r->now);
    note->reply = reply_ok("%s", "");
    return note;
}

static void add_place(struct reply *reply, const char *key, const struct reference *r, int item) {
    if (item == NONE) return;
    reply_add(reply, " %s %llu/%u", key, (unsigned long long)r->items[item].at.step, r->items[item].at.call);
}

static uint64_t held_bytes(const struct reference *r, int channel) {
    uint64_t bytes = 0;
    for (int i = 0; i < r->item_count; i++)
        if (r->items[i].channel == channel && r->items[i].held) bytes += r->items[i].size;
    return bytes;
}

static void channel_info(struct reference *r, const struct operation *o, int channel) {
    const struct channel *c = &r->channels[channel];
    struct reply *reply = &add_info(r, o, channel_group(c->stage, c->group, c->name, c->kind))->reply;
    reply_add(reply, "kind %d %s stage %u group %u: %d items", (int)c->kind, channel_names[c->name], c->stage,
              c->group, ref_channel_items(r, channel));
    int oldest = ref_channel_oldest_held(r, channel), latest = ref_channel_latest(r, channel);
    add_place(reply, "oldest", r, oldest != NONE ? oldest : latest);
    add_place(reply, "latest", r, latest);
    reply_add(reply, " held %llu bytes", (unsigned long long)held_bytes(r, channel));
    for (int i = 0; i < CONSUMERS; i++)
        if (ref_is_expected(c, i))
            reply_add(reply, " %s below %llu", consumer_names[i], (unsigned long long)c->below[i]);
    if (c->closing.reason)
        reply_add(reply, " closed %d '%s'", (int)c->closing.reason, messages[c->closing.message]);
}

static void load_info(struct reference *r, const struct operation *o) {
    uint64_t waiting = 0, watches = 0, streams = 0, publishes = 0;
    for (int i = 0; i < r->wait_count; i++) waiting += r->waits[i].waiting;
    for (int i = 0; i < r->watch_count; i++) watches += r->watches[i].open;
    for (int i = 0; i < r->item_count; i++) streams += (uint64_t)r->items[i].streams;
    for (int i = 0; i < r->publish_count; i++) publishes += r->publishes[i].open;
    struct note *note = add_info(r, o, -1);
    reply_add(
        &note->reply,
        "generation %llu, %llu waiting, %llu watches, %llu streams, %llu publishes, %llu bytes of tensors, "
        "%llu of metrics, %llu pinned, %llu dropped",
        (unsigned long long)r->generation, (unsigned long long)waiting, (unsigned long long)watches,
        (unsigned long long)streams, (unsigned long long)publishes,
        (unsigned long long)ref_used_bytes(r, SW_TENSORS), (unsigned long long)ref_used_bytes(r, SW_METRICS),
        (unsigned long long)ref_pinned_bytes(r), (unsigned long long)r->consumers_dropped);
}

static void lease_info(struct reference *r, const struct operation *o, const struct stage *s) {
    bool held = false;
    uint32_t stage_count = 0;
    for (int i = 0; i < r->lease_count; i++) {
        const struct lease *lease = &r->leases[i];
        bool of_it =
            lease->stage == s->stage && lease->group == s->group && lease->generation == r->generation;
        if (of_it && !lease->pending) stage_count = lease->stage_count;
        held |= of_it && lease->held;
    }
    if (!held && !s->lost) return;
    struct note *note = add_info(r, o, -2);
    reply_add(&note->reply, "lease of stage %u of %u, group %u%s", s->stage, stage_count, s->group,
              s->lost ? ", lost" : "");
}

void ref_info(struct reference *r, const struct operation *o) {
    load_info(r, o);
    for (uint32_t stage = 0; stage < STAGES; stage++)
        for (uint32_t group = 0; group < GROUPS; group++) lease_info(r, o, ref_stage_get(r, stage, group));
    for (int i = 0; i < r->channel_count; i++)
        if (r->channels[i].generation == r->generation) channel_info(r, o, i);
}
