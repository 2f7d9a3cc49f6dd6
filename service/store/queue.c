#include "service/store/queue.h"

static bool before(const struct queue_node *a, const struct queue_node *b) {
    return a->high != b->high ? a->high < b->high : a->low < b->low;
}

/* Of two roots, the later becomes the first child of the other. */
static struct queue_node *meld(struct queue_node *a, struct queue_node *b) {
    if (!a || !b) return a ? a : b;
    if (before(b, a)) {
        struct queue_node *swap = a;
        a = b;
        b = swap;
    }
    b->next = a->child;
    if (b->next) b->next->previous = b;
    b->previous = a;
    a->child = b;
    return a;
}

/* Siblings into one root: in pairs from the left, then all pairs from the right. */
static struct queue_node *meld_siblings(struct queue_node *first) {
    struct queue_node *pairs = NULL;
    while (first) {
        struct queue_node *a = first, *b = a->next;
        first = b ? b->next : NULL;
        a->next = a->previous = NULL;
        if (b) b->next = b->previous = NULL;
        a = meld(a, b);
        a->next = pairs;
        pairs = a;
    }
    struct queue_node *root = NULL;
    while (pairs) {
        struct queue_node *a = pairs;
        pairs = a->next;
        a->next = NULL;
        root = meld(root, a);
    }
    return root;
}

void queue_remove(struct queue *queue, struct queue_node *node) {
    if (!node->queued) return;
    struct queue_node *children = meld_siblings(node->child);
    if (queue->root == node) {
        queue->root = children;
    } else {
        if (node->previous->child == node)
            node->previous->child = node->next;
        else
            node->previous->next = node->next;
        if (node->next) node->next->previous = node->previous;
        queue->root = meld(queue->root, children);
    }
    *node = (struct queue_node){.queued = false};
}

void queue_put(struct queue *queue, struct queue_node *node, uint64_t high, uint64_t low) {
    queue_remove(queue, node);
    *node = (struct queue_node){.high = high, .low = low, .queued = true};
    queue->root = meld(queue->root, node);
}
