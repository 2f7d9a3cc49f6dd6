/* A hash table whose nodes live in their owners: adding and removing never need memory. Growing its buckets
 * does; without memory the chains only get longer. Several nodes may share a hash: walk them with table_same
 * and compare keys. */
#ifndef STAGEWIRE_SERVICE_TABLE_H
#define STAGEWIRE_SERVICE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/base/allocator.h"

struct table_node {
    struct table_node *next;
    uint64_t hash;
};

#define TABLE_FEW 8 /* buckets that a small table has in itself; it must not be moved */

struct table {
    struct table_node **buckets;
    size_t mask, count;
    const struct allocator *allocator;
    struct table_node *few[TABLE_FEW];
};

void table_init(struct table *table, const struct allocator *allocator);
void table_destroy(struct table *table); /* the nodes are their owners' */

void table_add(struct table *table, struct table_node *node, uint64_t hash);
void table_remove(struct table *table, struct table_node *node); /* must be in it */

struct table_node *table_find(const struct table *table,
                              uint64_t hash);                 /* the first with that hash, or NULL */
struct table_node *table_same(const struct table_node *node); /* the next with its hash, or NULL */

/* A walk over everything: NULL begins, NULL ends. Nothing may be added meanwhile; fetch the next before
 * removing one. */
struct table_node *table_walk(const struct table *table, const struct table_node *after);

/* Spreads numbers and text over 64 bits. */
uint64_t hash_number(uint64_t hash, uint64_t number);
uint64_t hash_text(uint64_t hash, const char *text);

#endif
