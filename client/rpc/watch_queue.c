#include "client/rpc/watch_queue.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "proto/base/limits.h"

#define QUEUE_EVENTS_MAX 256u
#define QUEUE_BYTES_MAX  (1u << 20)

struct watch_item *watch_item_create(size_t size) {
    struct watch_item *item = calloc(1, sizeof *item);
    if (!item) return NULL;
    item->size = size;
    arena_init(&item->arena, &allocator_system, LIMIT_DECODE_BYTES);
    return item;
}

void watch_item_destroy(struct watch_item *item) {
    if (!item) return;
    arena_destroy(&item->arena);
    free(item);
}

bool watch_queue_init(struct watch_queue *queue) {
    *queue = (struct watch_queue){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    list_init(&queue->items);
    return queue->fd >= 0;
}

void watch_queue_fini(struct watch_queue *queue) {
    struct watch_item *item;
    while ((item = watch_queue_take(queue))) watch_item_destroy(item);
    if (queue->fd >= 0) close(queue->fd);
}

void watch_queue_put(struct watch_queue *queue, struct watch_item *item) {
    if (queue->count == 0 && !queue->has_ended) eventfd_write(queue->fd, 1);
    list_append(&queue->items, &item->link);
    queue->count++;
    queue->size += item->size;
}

struct watch_item *watch_queue_take(struct watch_queue *queue) {
    if (list_empty(&queue->items)) return NULL;
    struct watch_item *item = container_of(queue->items.next, struct watch_item, link);
    list_remove(&item->link);
    queue->count--;
    queue->size -= item->size;
    eventfd_t ignored;
    if (queue->count == 0 && !queue->has_ended) eventfd_read(queue->fd, &ignored);
    return item;
}

void watch_queue_end(struct watch_queue *queue) {
    if (queue->count == 0 && !queue->has_ended) eventfd_write(queue->fd, 1);
    queue->has_ended = true;
}

bool watch_queue_is_full(const struct watch_queue *queue) {
    return queue->count >= QUEUE_EVENTS_MAX || queue->size >= QUEUE_BYTES_MAX;
}
