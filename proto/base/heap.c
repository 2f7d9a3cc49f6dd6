#include "proto/base/heap.h"

void heap_init(struct heap *heap, const struct allocator *allocator) {
    *heap = (struct heap){.allocator = allocator};
}

void heap_destroy(struct heap *heap) {
    allocator_put(heap->allocator, heap->nodes);
    heap->nodes = NULL;
    heap->count = heap->capacity = 0;
}

static void set_at(struct heap *heap, size_t index, struct heap_node *node) {
    heap->nodes[index] = node;
    node->place = index + 1;
}

static void sift_up(struct heap *heap, struct heap_node *node) {
    size_t index = node->place - 1;
    while (index > 0) {
        struct heap_node *parent = heap->nodes[(index - 1) / 2];
        if (parent->due <= node->due) break;
        set_at(heap, index, parent);
        index = (index - 1) / 2;
    }
    set_at(heap, index, node);
}

static void sift_down(struct heap *heap, struct heap_node *node) {
    size_t index = node->place - 1;
    for (;;) {
        size_t child = 2 * index + 1;
        if (child >= heap->count) break;
        if (child + 1 < heap->count && heap->nodes[child + 1]->due < heap->nodes[child]->due) child++;
        if (node->due <= heap->nodes[child]->due) break;
        set_at(heap, index, heap->nodes[child]);
        index = child;
    }
    set_at(heap, index, node);
}

static bool grow(struct heap *heap) {
    size_t capacity = heap->capacity ? 2 * heap->capacity : 16;
    void *nodes = allocator_resize(heap->allocator, heap->nodes, capacity * sizeof *heap->nodes);
    if (!nodes) return false;
    heap->nodes = nodes;
    heap->capacity = capacity;
    return true;
}

bool heap_put(struct heap *heap, struct heap_node *node, int64_t due) {
    if (!heap_has(node)) {
        if (heap->count == heap->capacity && !grow(heap)) return false;
        set_at(heap, heap->count++, node);
    }
    node->due = due;
    sift_up(heap, node);
    sift_down(heap, node);
    return true;
}

void heap_remove(struct heap *heap, struct heap_node *node) {
    if (!heap_has(node)) return;
    struct heap_node *last = heap->nodes[--heap->count];
    if (last != node) {
        set_at(heap, node->place - 1, last);
        sift_up(heap, last);
        sift_down(heap, last);
    }
    node->place = 0;
}

struct heap_node *heap_first(const struct heap *heap) {
    return heap->count ? heap->nodes[0] : NULL;
}
