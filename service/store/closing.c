/* Closing: a channel, or (stage, group) with all its channels, is finished or aborted until a new generation.
 */
#include <string.h>

#include "service/store/internal.h"
#include "service/store/words.h"

struct closing *closing_create(struct store *store, sw_close_reason reason, const char *message) {
    size_t size = message_kept(message);
    struct closing *closing = store_get(store, sizeof *closing + size + 1);
    if (!closing) return NULL;
    closing->references = 1;
    closing->reason = reason;
    if (size > 0) memcpy(closing->message, message, size);
    closing->message[size] = '\0';
    return closing;
}

struct closing *closing_ref(struct closing *closing) {
    if (closing) closing->references++;
    return closing;
}

void closing_unref(struct store *store, struct closing *closing) {
    if (closing && --closing->references == 0) store_put(store, closing);
}

bool closing_is(const struct closing *closing, sw_close_reason reason, const char *message) {
    size_t size = message_kept(message);
    return closing->reason == reason && strlen(closing->message) == size &&
           (size == 0 || memcmp(closing->message, message, size) == 0);
}

/* Who waits for it is told by the caller. */
static void close_channel(struct store *store, struct store_channel *channel, struct closing *closing) {
    channel->closed = closing_ref(closing);
    publishes_end(store, channel, SW_REASON_CHANNEL_CLOSED);
    watches_tell_closing(store, channel);
}

static void close_stage(struct store *store, struct store_stage *stage, struct closing *closing) {
    if (!stage->closed) stage_close(store, stage, closing);
    list_each(node, &stage->channels) {
        struct store_channel *channel = container_of(node, struct store_channel, in_stage);
        if (!channel->closed)
            close_channel(store, channel, closing);
        else
            publishes_end(store, channel, SW_REASON_CHANNEL_CLOSED);
    }
    waiting_settle_stage(store, stage);
    meetings_settle_group(store, stage->group);
}

static sw_status close_all(struct store *store, const struct subject *subject, sw_close_reason reason,
                           const char *message, sw_error *error) {
    const sw_address *address = &subject->address;
    struct store_stage *stage = stage_find(store, address->stage, address->group);
    if (!stage && stage_table_full(store))
        return say_limit(store, subject, "channels", store->options.max_channels, error);
    struct closing *closing = closing_create(store, reason, message);
    if (!closing) return say_no_memory(store, subject, error);
    stage = stage_get(store, address->stage, address->group);
    if (!stage) {
        closing_unref(store, closing);
        return say_no_memory(store, subject, error);
    }
    stage->holds++;
    generation_begin_first(store);
    stage->holds--;
    close_stage(store, stage, closing);
    closing_unref(store, closing);
    return SW_OK;
}

static sw_status close_one(struct store *store, const sw_address *address, sw_item_kind kind,
                           sw_close_reason reason, const char *message, sw_error *error) {
    struct writer writer;
    sw_status status = writer_open(store, address, kind, &writer, error);
    if (status != SW_OK) return status;
    struct store_channel *channel = writer.channel;
    if (channel->closed) {
        writer_admit(store, &writer);
        if (closing_is(channel->closed, reason, message)) {
            publishes_end(store, channel, SW_REASON_CHANNEL_CLOSED);
            return SW_OK;
        }
        return say_closed_otherwise(&(struct subject){writer.address, kind, ABOUT_CHANNEL}, channel->closed,
                                    error);
    }
    struct closing *closing = closing_create(store, reason, message);
    if (!closing) return writer_starve(store, &writer, error);
    writer_admit(store, &writer);
    close_channel(store, channel, closing);
    closing_unref(store, closing);
    if (channel->waiting) waiting_settle(store, channel->waiting);
    if (kind == SW_OBJECT) meetings_settle_group(store, channel->stage->group);
    return SW_OK;
}

sw_status store_close(struct store *store, const sw_address *address, sw_item_kind kind, bool all,
                      sw_close_reason reason, const char *message, sw_error *error) {
    if (!all) return close_one(store, address, kind, reason, message, error);
    sw_address about = *address;
    about.channel = "";
    struct subject subject = {.about = ABOUT_STAGE};
    sw_status status = writer_check(store, &about, SW_METRICS, &subject.address, error);
    return status == SW_OK ? close_all(store, &subject, reason, message, error) : status;
}
