#include "client/core/names.h"

#include <stdlib.h>
#include <string.h>

bool names_init(struct names *names, uint32_t count, const struct allocator *allocator) {
    names->allocator = allocator;
    names->count = 0;
    names->entries = allocator_get(allocator, (count ? count : 1) * sizeof *names->entries);
    return names->entries != NULL;
}

void names_add(struct names *names, const char *name, uint32_t index) {
    names->entries[names->count++] = (struct name_entry){name, index};
}

static int compare(const void *a, const void *b) {
    return strcmp(((const struct name_entry *)a)->name, ((const struct name_entry *)b)->name);
}

void names_sort(struct names *names) {
    qsort(names->entries, names->count, sizeof *names->entries, compare);
}

void names_destroy(struct names *names) {
    if (names->entries) allocator_put(names->allocator, names->entries);
    names->entries = NULL;
    names->count = 0;
}

int64_t names_find(const struct names *names, const char *name) {
    if (names->count == 0) return -1;
    struct name_entry wanted = {name, 0};
    const struct name_entry *found =
        bsearch(&wanted, names->entries, names->count, sizeof *names->entries, compare);
    return found ? (int64_t)found->index : -1;
}

const char *names_twice(const struct names *names) {
    for (uint32_t i = 1; i < names->count; i++)
        if (strcmp(names->entries[i - 1].name, names->entries[i].name) == 0) return names->entries[i].name;
    return NULL;
}
