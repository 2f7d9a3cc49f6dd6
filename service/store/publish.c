/* Publishing: who writes into which channel, the rows of the table that all publishes share, metrics and
 * failures. */
#include <string.h>

#include "service/store/internal.h"
#include "service/store/words.h"

/* ---- who writes where ---- */

sw_status writer_check(const struct store *store, const sw_address *address, sw_item_kind kind,
                       sw_address *ret, sw_error *error) {
    uint64_t current = store->generation ? store->generation : 1;
    struct subject subject = {*address, kind, address->channel[0] ? ABOUT_STEP : ABOUT_STAGE};
    sw_address *a = &subject.address;
    if (!a->has_stage) a->stage = store->options.stage;
    a->has_stage = true;
    if (store_is_other_run(store, a->run_id)) return say_other_run(store, &subject, error);
    if (store->draining) return say_shutting_down(&subject, error);
    if (a->generation != 0 && a->generation < current) return say_stale(store, &subject, error);
    if (a->generation > current) return say_not_attached(store, &subject, error);
    a->run_id = store->options.run_id;
    a->generation = current;
    *ret = *a;
    return SW_OK;
}

sw_status writer_open(struct store *store, const sw_address *address, sw_item_kind kind, struct writer *ret,
                      sw_error *error) {
    struct writer writer = {.fresh = false};
    sw_status status = writer_check(store, address, kind, &writer.address, error);
    if (status != SW_OK) return status;
    const sw_address *a = &writer.address;
    struct channel_key key = {a->stage, a->group, kind, a->channel};
    writer.channel = channel_find(store, &key);
    if (!writer.channel) {
        struct subject subject = {*a, kind, ABOUT_STEP};
        if (store->channels.count >= store->options.max_channels)
            return say_limit(store, &subject, "channels", store->options.max_channels, error);
        writer.channel = channel_create(store, &key, store->generation);
        if (!writer.channel) return say_no_memory(store, &subject, error);
        writer.fresh = true;
    }
    *ret = writer;
    return SW_OK;
}

void writer_admit(struct store *store, struct writer *writer) {
    if (!writer->channel) return;
    generation_begin_first(store);
    if (writer->fresh) channel_admit(store, writer->channel);
    writer->fresh = false;
}

sw_status writer_starve(struct store *store, struct writer *writer, sw_error *error) {
    say_no_memory(store, &(struct subject){writer->address, writer->channel->kind, ABOUT_STEP}, error);
    if (writer->fresh) channel_discard(store, writer->channel);
    writer->channel = NULL;
    return SW_RESOURCE_EXHAUSTED;
}

/* ---- the rows about place ---- */

static bool same_content(const struct publication *old, const struct proposal *proposal) {
    return proposal->has_digest && old->failed == proposal->failed &&
           digest_equal(old->digest, proposal->digest);
}

sw_status publish_place(const struct writer *writer, const struct proposal *proposal, bool *ret_duplicate,
                        sw_error *error) {
    const struct store_channel *channel = writer->channel;
    const struct history *h = &channel->history;
    struct subject subject = {writer->address, channel->kind, ABOUT_STEP};
    struct at at = {writer->address.step, writer->address.call};
    uint64_t index;
    *ret_duplicate = false;
    if (history_find(h, at, &index)) {
        struct publication old = history_publication(h, index);
        if (!same_content(&old, proposal))
            return say_conflict(&subject, old.failed || proposal->failed, error);
        *ret_duplicate = true;
        return SW_OK;
    }
    if ((h->count > 0 && at_below(at, history_latest(h))) || at.step < channel->next_step)
        return say_went_back(&subject, channel, error);
    if (channel->closed) return say_closed(&subject, channel->closed, error);
    if (channel->open) return say_in_progress(&subject, channel->open, error);
    return SW_OK;
}

void publish_commit(struct store *store, struct store_channel *channel, struct item *item) {
    item->sequence = ++store->sequence;
    item->shown.published_unix_ns = store->world.clock->unix_ns(store->world.clock->context);
    item->shown.address.generation = store->generation;
    item->references = 1;
    item->held = true;
    history_add(&channel->history, item);
    if (!item->shown.failed) channel->newest_good = item;
    watches_tell_item(channel, item);
    keep_trim(store, channel);
    struct at at = item_at(item);
    if (channel->waiting) waiting_published(store, channel, at);
    if (channel->kind == SW_OBJECT) meetings_failed(store, channel, at);
}

/* ---- metrics ---- */

static sw_status publish_metrics(struct store *store, struct writer *writer, sw_buffer *bytes,
                                 struct digest digest, bool *ret_duplicate, sw_error *error) {
    struct proposal proposal = {.has_digest = true, .digest = digest};
    sw_status status = publish_place(writer, &proposal, ret_duplicate, error);
    if (status != SW_OK || *ret_duplicate) return status;
    struct subject subject = {writer->address, SW_METRICS, ABOUT_STEP};
    uint64_t size = sw_buffer_size(bytes);
    if (size > SW_MESSAGE_MAX) return say_larger_than_message(&subject, size, error);
    if (size > store->rest.capacity) return say_larger_than_budget(&subject, &store->rest, size, error);

    struct item *item = item_create(store, &writer->address, SW_METRICS, NULL);
    if (!item || !history_reserve(&writer->channel->history, store->world.allocator)) {
        store_put(store, item);
        return writer_starve(store, writer, error);
    }
    status = room_make(store, writer->channel, &writer->address, size, error);
    if (status != SW_OK) {
        store_put(store, item);
        return status;
    }
    item->shown.size = size;
    item->shown.metrics = sw_buffer_ref(bytes);
    item->digest = digest;
    store->rest.used += size;
    writer_admit(store, writer);
    publish_commit(store, writer->channel, item);
    return SW_OK;
}

sw_status store_publish_metrics(struct store *store, const sw_address *address, sw_buffer *bytes,
                                struct digest digest, bool *ret_duplicate, sw_error *error) {
    struct writer writer;
    bool duplicate;
    sw_status status = writer_open(store, address, SW_METRICS, &writer, error);
    if (status != SW_OK) return status;
    status = publish_metrics(store, &writer, bytes, digest, &duplicate, error);
    writer_admit(store, &writer);
    if (status == SW_OK && ret_duplicate) *ret_duplicate = duplicate;
    return status;
}

/* ---- failures ---- */

/* The whole message counts, also what isn't kept of it. */
static struct digest message_digest(const char *message) {
    size_t size = strlen(message);
    return (struct digest){block_hash(message, size), size};
}

static sw_status publish_failure(struct store *store, struct writer *writer, const char *message,
                                 bool *ret_duplicate, sw_error *error) {
    struct proposal proposal = {.failed = true, .has_digest = true, .digest = message_digest(message)};
    sw_status status = publish_place(writer, &proposal, ret_duplicate, error);
    if (status != SW_OK || *ret_duplicate) return status;
    struct item *item = item_create(store, &writer->address, writer->channel->kind, message);
    if (!item || !history_reserve(&writer->channel->history, store->world.allocator)) {
        store_put(store, item);
        return writer_starve(store, writer, error);
    }
    item->digest = proposal.digest;
    writer_admit(store, writer);
    publish_commit(store, writer->channel, item);
    return SW_OK;
}

sw_status store_publish_failure(struct store *store, const sw_address *address, sw_item_kind kind,
                                const char *message, bool *ret_duplicate, sw_error *error) {
    struct writer writer;
    bool duplicate;
    sw_status status = writer_open(store, address, kind, &writer, error);
    if (status != SW_OK) return status;
    status = publish_failure(store, &writer, message ? message : "", &duplicate, error);
    writer_admit(store, &writer);
    if (status == SW_OK && ret_duplicate) *ret_duplicate = duplicate;
    return status;
}
