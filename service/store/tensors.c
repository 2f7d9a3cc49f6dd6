/* A tensor publish: it takes its place and its room at the manifest, and is an item once all of it has come.
 */
#include "service/store/internal.h"
#include "service/store/words.h"

/* At a known address there is nothing to place: the blocks only say whether it is the same again. */
static bool is_known(const struct writer *writer, struct digest *ret_digest) {
    const struct history *h = &writer->channel->history;
    uint64_t index;
    if (!history_find(h, (struct at){writer->address.step, writer->address.call}, &index)) return false;
    struct publication old = history_publication(h, index);
    *ret_digest = old.digest;
    return !old.failed;
}

static void link_publish(struct store *store, struct store_publish *publish, const struct writer *writer) {
    publish->channel = writer->channel;
    publish->step = writer->address.step;
    publish->call = writer->address.call;
    list_append(&writer->channel->publishes, &publish->link);
    store->publish_count++;
}

static void unlink_publish(struct store *store, struct store_publish *publish) {
    list_remove(&publish->link);
    store->publish_count--;
    if (publish->channel->open == publish) publish->channel->open = NULL;
}

static sw_status refuse_too_many(const struct store *store, const struct subject *subject, sw_error *error) {
    return say_limit(store, subject, "publishes", store->options.max_publishes, error);
}

static sw_status open_new(struct store *store, struct store_publish *publish, struct writer *writer,
                          uint64_t size, bool manifest_fits, sw_error *error) {
    struct subject subject = {writer->address, SW_TENSORS, ABOUT_STEP};
    bool duplicate;
    sw_status status = publish_place(writer, &(struct proposal){.failed = false}, &duplicate, error);
    if (status != SW_OK) return status;
    if (size > store->tensors.capacity) return say_larger_than_budget(&subject, &store->tensors, size, error);
    if (!manifest_fits) return say_manifest_too_large(&subject, error);
    if (store->publish_count >= store->options.max_publishes) return refuse_too_many(store, &subject, error);

    publish->item = item_create(store, &writer->address, SW_TENSORS, NULL);
    if (!publish->item || !history_reserve(&writer->channel->history, store->world.allocator)) {
        store_put(store, publish->item);
        return writer_starve(store, writer, error);
    }
    status = room_make(store, writer->channel, &writer->address, size, error);
    if (status != SW_OK) {
        store_put(store, publish->item);
        return status;
    }
    publish->item->shown.size = size;
    store->tensors.used += size;
    writer->channel->open = publish;
    link_publish(store, publish, writer);
    return SW_OK;
}

sw_status store_publish_open(struct store *store, struct store_publish *publish, const sw_address *address,
                             uint64_t size, bool manifest_fits, sw_error *error) {
    struct writer writer;
    publish->link = (struct list){NULL, NULL};
    sw_status status = writer_open(store, address, SW_TENSORS, &writer, error);
    if (status != SW_OK) return status;
    publish->item = NULL;
    publish->known = is_known(&writer, &publish->digest);
    if (!publish->known) {
        status = open_new(store, publish, &writer, size, manifest_fits, error);
    } else if (store->publish_count >= store->options.max_publishes) {
        status = refuse_too_many(store, &(struct subject){writer.address, SW_TENSORS, ABOUT_STEP}, error);
    } else {
        link_publish(store, publish, &writer);
    }
    writer_admit(store, &writer);
    return status;
}

static struct subject subject_of(const struct store *store, const struct store_publish *publish) {
    struct at at = {publish->step, publish->call};
    return (struct subject){channel_address(store, publish->channel, at), SW_TENSORS, ABOUT_STEP};
}

/* It is open no longer, and its room is free again. */
static void drop(struct store *store, struct store_publish *publish) {
    unlink_publish(store, publish);
    if (publish->item) store->tensors.used -= publish->item->shown.size;
    store_put(store, publish->item);
    publish->item = NULL;
}

sw_status store_publish_commit(struct store *store, struct store_publish *publish, struct tensor_set *set,
                               struct digest digest, bool *ret_duplicate, sw_error *error) {
    struct subject subject = subject_of(store, publish);
    if (publish->known) {
        drop(store, publish);
        if (!digest_equal(publish->digest, digest)) return say_conflict(&subject, false, error);
        if (ret_duplicate) *ret_duplicate = true;
        return SW_OK;
    }
    struct item *item = publish->item;
    unlink_publish(store, publish);
    publish->item = NULL;
    item->shown.tensors = tensor_set_ref(set);
    item->digest = digest;
    publish_commit(store, publish->channel, item);
    if (ret_duplicate) *ret_duplicate = false;
    return SW_OK;
}

void store_publish_abandon(struct store *store, struct store_publish *publish) {
    if (list_linked(&publish->link)) drop(store, publish);
}

static void word_end(const struct store *store, const struct store_publish *publish, sw_reason reason,
                     sw_error *why) {
    struct subject subject = subject_of(store, publish);
    if (reason == SW_REASON_STALE_GENERATION)
        say_stale(store, &subject, why);
    else if (reason == SW_REASON_CHANNEL_CLOSED)
        say_closed(&subject, publish->channel->closed, why);
    else
        say_shutting_down(&subject, why);
}

void publishes_end(struct store *store, struct store_channel *channel, sw_reason reason) {
    while (!list_empty(&channel->publishes)) {
        struct store_publish *publish = container_of(channel->publishes.next, struct store_publish, link);
        sw_error why;
        word_end(store, publish, reason, &why);
        drop(store, publish);
        publish->ended(publish, &why);
    }
}
