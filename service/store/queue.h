/* Who comes first: a pairing heap whose nodes live in their owners. It needs no memory, so that what may not
 * fail (a release, a break, an eviction) doesn't. Any node can be taken out; equal keys come in any order. */
#ifndef STAGEWIRE_SERVICE_QUEUE_H
#define STAGEWIRE_SERVICE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queue_node {
    uint64_t high, low; /* the key: the lowest (high, low) is first */
    struct queue_node *child, *next, *previous;
    bool queued;
};

struct queue {
    struct queue_node *root;
};

/* A node that is in it already is moved. */
void queue_put(struct queue *queue, struct queue_node *node, uint64_t high, uint64_t low);
void queue_remove(struct queue *queue, struct queue_node *node); /* fine if it is not in it */

static inline struct queue_node *queue_first(const struct queue *queue) { /* NULL if empty */
    return queue->root;
}

#endif
