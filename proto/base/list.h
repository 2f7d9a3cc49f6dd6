/* A doubly linked list whose links live in their owners. */
#ifndef STAGEWIRE_BASE_LIST_H
#define STAGEWIRE_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *previous; /* an empty list points to itself; an unlinked node is NULL */
};

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

static inline void list_init(struct list *list) {
    list->next = list->previous = list;
}
static inline bool list_empty(const struct list *list) {
    return list->next == list;
}
static inline bool list_linked(const struct list *node) {
    return node->next != NULL;
}
static inline void list_append(struct list *list, struct list *node) {
    node->previous = list->previous;
    node->next = list;
    list->previous->next = node;
    list->previous = node;
}
static inline void list_remove(struct list *node) {
    if (!node->next) return;
    node->previous->next = node->next;
    node->next->previous = node->previous;
    node->next = node->previous = NULL;
}

#define list_each(node, head) for (struct list *node = (head)->next; node != (head); node = node->next)
/* The body may remove `node`, and nothing else of the list. */
#define list_each_safe(node, head)                                                                           \
    for (struct list *node = (head)->next, *node##_next = node->next; node != (head);                        \
         node = node##_next, node##_next = node->next)

#endif
