/* Names in order, so that one of many is found fast. Points to the caller's strings and copies none. */
#ifndef STAGEWIRE_CLIENT_CORE_NAMES_H
#define STAGEWIRE_CLIENT_CORE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/base/allocator.h"

struct name_entry {
    const char *name;
    uint32_t index;
};

struct names {
    struct name_entry *entries;
    uint32_t count;
    const struct allocator *allocator;
};

/* Room for `count` names; false without memory. Then names_add each, then names_sort. */
bool names_init(struct names *names, uint32_t count, const struct allocator *allocator);
void names_add(struct names *names, const char *name, uint32_t index);
void names_sort(struct names *names);
void names_destroy(struct names *names); /* takes a zeroed one */

/* The index that came with the name, or -1. */
int64_t names_find(const struct names *names, const char *name);
/* A name that is there twice, or NULL. */
const char *names_twice(const struct names *names);

#endif
