/* What the store is built of: a table, a queue, and what a channel published. */
#include <stdlib.h>
#include <string.h>

#include "service/store/history.h"
#include "service/store/table.h"
#include "tests/support/test.h"

/* ---- table ---- */

struct thing {
    struct table_node node;
    uint64_t key;
    bool in;
};

static struct thing *find(const struct table *table, uint64_t key) {
    for (struct table_node *node = table_find(table, key / 3); node; node = table_same(node)) {
        struct thing *thing = container_of(node, struct thing, node);
        if (thing->key == key) return thing;
    }
    return NULL;
}

Test(table, it_finds_what_is_in_it_and_nothing_else) {
    enum { THINGS = 3000 };
    static struct thing things[THINGS];
    struct table table;
    table_init(&table, &allocator_system);
    srand(1);
    for (int round = 0; round < 50000; round++) {
        struct thing *thing = &things[rand() % THINGS];
        thing->key = (uint64_t)(thing - things);
        if (thing->in)
            table_remove(&table, &thing->node);
        else
            table_add(&table, &thing->node, thing->key / 3); /* three share a hash */
        thing->in = !thing->in;
        uint64_t probe = (uint64_t)rand() % THINGS;
        cr_assert_eq(find(&table, probe) == &things[probe], things[probe].in);
    }
    size_t walked = 0, in = 0;
    for (struct table_node *node = NULL; (node = table_walk(&table, node));) walked++;
    for (int i = 0; i < THINGS; i++) in += things[i].in;
    cr_assert_eq(walked, in);
    cr_assert_eq(table.count, in);
    table_destroy(&table);
}

static void *no_memory(void *context, size_t size) {
    (void)context, (void)size;
    return NULL;
}
static void *no_more(void *context, void *memory, size_t size) {
    (void)context, (void)memory, (void)size;
    return NULL;
}
static void release(void *context, void *memory) {
    (void)context;
    free(memory);
}

Test(table, without_memory_it_works_and_is_slower) {
    static const struct allocator none = {no_memory, no_more, release, NULL};
    static struct thing things[500];
    struct table table;
    table_init(&table, &none);
    for (uint64_t i = 0; i < 500; i++) {
        things[i].key = i;
        table_add(&table, &things[i].node, i / 3);
    }
    for (uint64_t i = 0; i < 500; i++) cr_assert_eq(find(&table, i), &things[i]);
    table_destroy(&table);
}

Test(table, hashes_of_alike_names_differ) {
    static const char *const names[] = {"",          "a",         "b",          "aa",
                                        "channel-1", "channel-2", "channel-10", "channel-1/"};
    for (size_t i = 0; i < 8; i++) {
        for (size_t j = 0; j < i; j++) cr_assert_neq(hash_text(7, names[i]), hash_text(7, names[j]));
        cr_assert_neq(hash_text(7, names[i]), hash_text(8, names[i]));
    }
}

/* ---- queue ---- */

Test(queue, the_lowest_is_first_whatever_is_moved_and_removed) {
    enum { NODES = 300 };
    static struct queue_node nodes[NODES];
    struct queue queue = {NULL};
    srand(2);
    for (int round = 0; round < 100000; round++) {
        struct queue_node *node = &nodes[rand() % NODES];
        if (rand() % 3 == 0)
            queue_remove(&queue, node);
        else
            queue_put(&queue, node, (uint64_t)rand() % 40, (uint64_t)rand() % 40);
        if (round % 20) continue;
        const struct queue_node *first = queue_first(&queue), *lowest = NULL;
        for (int i = 0; i < NODES; i++) {
            const struct queue_node *n = &nodes[i];
            if (!n->queued) continue;
            if (!lowest || n->high < lowest->high || (n->high == lowest->high && n->low < lowest->low))
                lowest = n;
        }
        cr_assert_eq(!first, !lowest);
        if (first) cr_assert(first->high == lowest->high && first->low == lowest->low);
    }
}

Test(queue, a_hundred_thousand_come_out_in_order) {
    enum { NODES = 100000 };
    struct queue_node *nodes = calloc(NODES, sizeof *nodes);
    struct queue queue = {NULL};
    for (uint64_t i = 0; i < NODES; i++) queue_put(&queue, &nodes[i], i * 7919 % NODES, 0);
    for (uint64_t i = 0; i < NODES; i++) {
        struct queue_node *first = queue_first(&queue);
        cr_assert_eq(first->high, i);
        queue_remove(&queue, first);
    }
    cr_assert_null(queue_first(&queue));
    free(nodes);
}

/* ---- history ---- */

static struct history history;
static uint64_t sequence;

static void add(uint64_t step, uint32_t call, uint64_t size) {
    struct item *item = calloc(1, sizeof *item);
    item->shown.address.step = step, item->shown.address.call = call, item->shown.size = size;
    item->digest = (struct digest){step, call};
    item->sequence = ++sequence;
    cr_assert(history_reserve(&history, &allocator_system));
    history_add(&history, item);
}
static void end_history(void) {
    while (history_holds(&history)) free(history_drop(&history));
    history_free(&history, &allocator_system);
}
TestSuite(history, .fini = end_history);

Test(history, steps_know_their_items_and_bytes) {
    add(5, 0, 10), add(5, 1, 20), add(9, 3, 40), add(12, 0, 80);
    cr_assert_eq(history_steps(&history), 3);
    cr_assert_eq(history_step(&history, 1)->step, 9);
    cr_assert_eq(history_step(&history, 1)->first_sequence, 3);
    cr_assert_eq(history_bytes_of(&history, 0), 0);
    cr_assert_eq(history_bytes_of(&history, 2), 70);
    cr_assert_eq(history_bytes_of(&history, 3), 150);
    cr_assert_eq(history_steps_below(&history, 5), 0);
    cr_assert_eq(history_steps_below(&history, 6), 1);
    cr_assert_eq(history_steps_below(&history, 100), 3);
    cr_assert_eq(history_oldest_step_end(&history), 2);
    free(history_drop(&history));
    cr_assert_eq(history_steps(&history), 3, "a call of it is held");
    free(history_drop(&history));
    cr_assert_eq(history_steps(&history), 2);
    cr_assert_eq(history_bytes_of(&history, 1), 40);
}

Test(history, addresses_are_found_while_they_are_known) {
    uint64_t index;
    for (uint64_t i = 0; i < 200; i++) {
        add(i * 2, 0, 1);
        if (i >= 10) free(history_drop(&history));
    }
    cr_assert_eq(history_known(&history), 200 - 64);
    cr_assert(history_find(&history, (struct at){398, 0}, &index));
    cr_assert_eq(index, 199);
    cr_assert_not_null(history_item(&history, index));
    cr_assert(history_find(&history, (struct at){136 * 2, 0}, &index));
    cr_assert_null(history_item(&history, index));
    cr_assert_eq(history_publication(&history, index).digest.low, 272);
    cr_assert_not(history_find(&history, (struct at){135 * 2, 0}, &index), "forgotten");
    cr_assert_not(history_find(&history, (struct at){397, 0}, &index), "skipped");
    cr_assert_not(history_find(&history, (struct at){400, 0}, &index), "to come");
    cr_assert_eq(history_lower_bound(&history, (struct at){0, 0}), 136);
    cr_assert_eq(history_lower_bound(&history, (struct at){500, 0}), 200);
}

Test(history, a_hundred_thousand_steps_are_searched_at_once) {
    uint64_t index;
    for (uint64_t i = 0; i < 100000; i++) add(i * 3, (uint32_t)i % 2, 1);
    for (uint64_t i = 0; i < 100000; i += 997) {
        cr_assert(history_find(&history, (struct at){i * 3, (uint32_t)i % 2}, &index));
        cr_assert_eq(index, i);
        cr_assert_eq(history_steps_below(&history, i * 3), i);
    }
}
