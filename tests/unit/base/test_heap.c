#include <stdlib.h>

#include "proto/base/clock.h"
#include "proto/base/heap.h"
#include "tests/support/test.h"

enum { NODES = 500 };

static struct heap heap;
static struct heap_node nodes[NODES];

static void begin(void) {
    heap_init(&heap, &allocator_system);
}
static void end(void) {
    heap_destroy(&heap);
}
TestSuite(heap, .init = begin, .fini = end);

Test(heap, the_earliest_comes_first) {
    static const int64_t due[] = {5, 3, CLOCK_NEVER, -1, 3, 0};
    cr_assert_null(heap_first(&heap));
    for (size_t i = 0; i < 6; i++) cr_assert(heap_put(&heap, &nodes[i], due[i]));
    int64_t before = INT64_MIN;
    for (struct heap_node *node; (node = heap_first(&heap)); heap_remove(&heap, node)) {
        cr_assert_geq(node->due, before);
        before = node->due;
    }
    cr_assert_eq(before, CLOCK_NEVER);
}

static void check_against_scan(void) {
    const struct heap_node *first = heap_first(&heap);
    size_t in = 0;
    for (size_t i = 0; i < NODES; i++) {
        if (!heap_has(&nodes[i])) continue;
        in++;
        cr_assert_leq(first->due, nodes[i].due);
        cr_assert_eq(heap.nodes[nodes[i].place - 1], &nodes[i]);
    }
    cr_assert_eq(in, heap.count);
    for (size_t i = 1; i < heap.count; i++) cr_assert_leq(heap.nodes[(i - 1) / 2]->due, heap.nodes[i]->due);
}

Test(heap, any_node_can_be_moved_and_removed) {
    srand(1);
    for (int round = 0; round < 20000; round++) {
        struct heap_node *node = &nodes[rand() % NODES];
        if (rand() % 3 == 0)
            heap_remove(&heap, node);
        else
            cr_assert(heap_put(&heap, node, rand() % 1000));
        if (round % 20 == 0) check_against_scan();
    }
}

static void *none(void *context, void *memory, size_t size) {
    (void)context, (void)memory, (void)size;
    return NULL;
}

Test(heap, without_memory_the_node_is_in_no_heap) {
    struct allocator failing = allocator_system;
    failing.resize = none;
    struct heap small;
    heap_init(&small, &failing);
    struct heap_node node = {0};
    cr_assert_not(heap_put(&small, &node, 1));
    cr_assert_not(heap_has(&node));
    cr_assert_null(heap_first(&small));
    heap_remove(&small, &node);
    heap_destroy(&small);
}

Test(clock, never_is_never_passed) {
    cr_assert_eq(clock_after(10, 5), 15);
    cr_assert_eq(clock_after(10, INT64_MAX), CLOCK_NEVER);
    cr_assert_eq(clock_after(CLOCK_NEVER, 1), CLOCK_NEVER);
}

Test(clock, the_systems_clock_goes_forward) {
    int64_t start = clock_now_ms(&clock_system);
    cr_assert_gt(start, 0);
    cr_assert_geq(clock_now_ms(&clock_system), start);
    cr_assert_gt(clock_system.unix_ns(clock_system.context), INT64_C(1700000000) * 1000000000);
}

Test(allocator, zeroed_memory_is_zero) {
    unsigned char *memory = allocator_get_zeroed(&allocator_system, 100);
    for (int i = 0; i < 100; i++) cr_assert_eq(memory[i], 0);
    memory = allocator_resize(&allocator_system, memory, 200);
    cr_assert_not_null(memory);
    allocator_put(&allocator_system, memory);
    allocator_put(&allocator_system, NULL);
    void *nothing = allocator_get(&allocator_system, 0);
    cr_assert_not_null(nothing);
    allocator_put(&allocator_system, nothing);
}
