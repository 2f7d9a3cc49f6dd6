#include "service/store/table.h"

#include <string.h>

void table_init(struct table *table, const struct allocator *allocator) {
    *table = (struct table){.mask = TABLE_FEW - 1, .allocator = allocator};
    table->buckets = table->few;
}

void table_destroy(struct table *table) {
    if (table->buckets != table->few) allocator_put(table->allocator, table->buckets);
}

static void put(struct table *table, struct table_node *node) {
    struct table_node **bucket = &table->buckets[node->hash & table->mask];
    node->next = *bucket;
    *bucket = node;
}

static void grow(struct table *table) {
    size_t old_size = table->mask + 1, size = old_size * 2;
    struct table_node **old = table->buckets;
    struct table_node **buckets = allocator_get_zeroed(table->allocator, size * sizeof *buckets);
    if (!buckets) return;
    table->buckets = buckets;
    table->mask = size - 1;
    for (size_t i = 0; i < old_size; i++) {
        for (struct table_node *node = old[i], *next; node; node = next) {
            next = node->next;
            put(table, node);
        }
    }
    if (old != table->few) allocator_put(table->allocator, old);
}

void table_add(struct table *table, struct table_node *node, uint64_t hash) {
    if (table->count > table->mask) grow(table);
    node->hash = hash;
    put(table, node);
    table->count++;
}

void table_remove(struct table *table, struct table_node *node) {
    struct table_node **link = &table->buckets[node->hash & table->mask];
    while (*link != node) link = &(*link)->next;
    *link = node->next;
    table->count--;
}

struct table_node *table_find(const struct table *table, uint64_t hash) {
    struct table_node *node = table->buckets[hash & table->mask];
    while (node && node->hash != hash) node = node->next;
    return node;
}

struct table_node *table_same(const struct table_node *node) {
    struct table_node *next = node->next;
    while (next && next->hash != node->hash) next = next->next;
    return next;
}

struct table_node *table_walk(const struct table *table, const struct table_node *after) {
    if (after && after->next) return after->next;
    for (size_t i = after ? (after->hash & table->mask) + 1 : 0; i <= table->mask; i++) {
        if (table->buckets[i]) return table->buckets[i];
    }
    return NULL;
}

uint64_t hash_number(uint64_t hash, uint64_t number) {
    hash = (hash ^ number) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
    return hash ^ (hash >> 29);
}

uint64_t hash_text(uint64_t hash, const char *text) {
    size_t left = strlen(text);
    for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t), text += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, text, sizeof word);
        hash = hash_number(hash, word);
    }
    uint64_t tail = 0;
    memcpy(&tail, text, left);
    return hash_number(hash, tail + ((uint64_t)(left + 1) << 56));
}
