#include "service/store/item.h"

#include <string.h>

#include "proto/base/utf8.h"
#include "service/store/internal.h"

size_t message_kept(const char *message) {
    return message ? utf8_prefix(message, strlen(message), LIMIT_CLOSE_MESSAGE) : 0;
}

struct item *item_create(struct store *store, const sw_address *address, sw_item_kind kind,
                         const char *message) {
    size_t name_size = strlen(address->channel) + 1, message_size = message_kept(message);
    struct item *item = store_get(store, sizeof *item + name_size + message_size + 1);
    if (!item) return NULL;
    *item = (struct item){.shown = {.address = *address, .kind = kind, .failed = message != NULL}};
    memcpy(item->text, address->channel, name_size);
    item->shown.address.channel = item->text;
    item->shown.address.run_id = store->options.run_id;
    if (message) {
        char *copy = item->text + name_size;
        memcpy(copy, message, message_size);
        copy[message_size] = '\0';
        item->shown.message = copy;
    }
    return item;
}

void item_unref(struct store *store, struct item *item) {
    if (--item->references > 0) return;
    sw_buffer_unref(item->shown.metrics);
    tensor_set_unref(item->shown.tensors);
    store_put(store, item);
}

void item_gone(struct store *store, const struct store_channel *channel, struct item *item) {
    item->held = false;
    channel_budget(store, item->shown.kind)->used -= item->shown.size;
    if (item->pinned) pins_item_gone(store, channel, item);
    item_unref(store, item);
}

void store_item_release(struct store *store, const struct store_item *shown) {
    struct item *item = container_of(shown, struct item, shown);
    if (shown->tensors) pins_end_stream(store, item);
    item_unref(store, item);
}
