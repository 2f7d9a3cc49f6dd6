/* Events of a watch between the loop's thread, which puts them in, and the caller's, which takes them out.
 * All is under the lock of the watch. Its descriptor is readable while there is something to say. */
#ifndef STAGEWIRE_CLIENT_RPC_WATCH_QUEUE_H
#define STAGEWIRE_CLIENT_RPC_WATCH_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/base/list.h"
#include "proto/wire/arena.h"
#include "proto/wire/messages.h"

struct watch_item {
    struct list link;
    struct arena arena; /* of the event */
    struct watch_event event;
    size_t size; /* of the message */
};

/* NULL without memory. */
struct watch_item *watch_item_create(size_t size);
void watch_item_destroy(struct watch_item *item); /* takes NULL */

struct watch_queue {
    struct list items;
    size_t count, size;
    bool has_ended;
    int fd;
};

/* False where there is no descriptor; errno says why. */
bool watch_queue_init(struct watch_queue *queue);
void watch_queue_fini(struct watch_queue *queue); /* frees what is left */

void watch_queue_put(struct watch_queue *queue, struct watch_item *item); /* takes it over */
struct watch_item *watch_queue_take(struct watch_queue *queue);           /* or NULL */
void watch_queue_end(struct watch_queue *queue);

/* Who reads slowly is read for slowly: no more is asked of the endpoint meanwhile. */
bool watch_queue_is_full(const struct watch_queue *queue);

#endif
