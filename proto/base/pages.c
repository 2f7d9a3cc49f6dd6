#include "proto/base/pages.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "proto/base/limits.h"
#include "proto/base/list.h"

#define PAGE_BYTES 4096u
/* From here on whole huge pages, where the kernel has them: fewer first touches. */
#define HUGE_FROM  (16u << 20)
#define HUGE_BYTES (2u << 20)

/* Sizes are rounded up to one of eight a doubling, so that about the same is the same; what is never touched
 * is never there. */
#define CLASS_BITS  3
#define CLASSES     (64 << CLASS_BITS)
#define CLASS_FIRST (64u << 10)

/* Lies at the start of pages that are kept. */
struct kept {
    struct list of_class, of_age;
    size_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list classes[CLASSES]; /* newest last; all zero until the first is kept */
static struct list ages = {&ages, &ages};
static size_t in_use, kept_bytes, most; /* most: that was in use at once */

static size_t round_up(size_t size) {
    if (size <= CLASS_FIRST) return CLASS_FIRST;
    if (size > SIZE_MAX / 2) return 0;
    unsigned shift = 63u - (unsigned)__builtin_clzll(size - 1) - CLASS_BITS;
    size_t unit = (size_t)1 << shift;
    return (size + unit - 1) & ~(unit - 1);
}

/* `size` is rounded. */
static struct list *class_of(size_t size) {
    unsigned top = 63u - (unsigned)__builtin_clzll(size);
    unsigned within = (unsigned)(size >> (top - CLASS_BITS)) & ((1u << CLASS_BITS) - 1);
    struct list *class = &classes[top << CLASS_BITS | within];
    if (!class->next) list_init(class);
    return class;
}

static void unlink_kept(struct kept *kept) {
    list_remove(&kept->of_class);
    list_remove(&kept->of_age);
    kept_bytes -= kept->size;
}

static struct kept *take_kept(size_t size) {
    struct list *class = class_of(size);
    if (list_empty(class)) return NULL;
    struct kept *kept = container_of(class->previous, struct kept, of_class);
    unlink_kept(kept);
    return kept;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t may_keep(void) {
    size_t below_the_most = larger(most, in_use) - in_use;
    return below_the_most < LIMIT_KEPT_PAGES ? below_the_most : LIMIT_KEPT_PAGES;
}

/* The oldest that must go. */
static void collect_surplus(struct list *surplus) {
    list_init(surplus);
    while (kept_bytes > may_keep()) {
        struct kept *oldest = container_of(ages.next, struct kept, of_age);
        unlink_kept(oldest);
        list_append(surplus, &oldest->of_age);
    }
}

static void unmap_all(struct list *surplus) {
    list_each_safe(node, surplus) {
        struct kept *kept = container_of(node, struct kept, of_age);
        munmap(kept, kept->size);
    }
}

static void *map(size_t size) {
    size_t slack = size >= HUGE_FROM ? HUGE_BYTES : 0;
    char *start = mmap(NULL, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return NULL;
    if (slack == 0) return start;
    char *aligned = (char *)(((uintptr_t)start + slack - 1) & ~(uintptr_t)(slack - 1));
    size_t before = (size_t)(aligned - start);
    if (before > 0) munmap(start, before);
    if (before < slack) munmap(aligned + size, slack - before);
    madvise(aligned, size, MADV_HUGEPAGE); /* a hint: without huge pages it is slower, and right */
    return aligned;
}

/* Only what there was counts for the most. */
static void *settle(void *pages, size_t size) {
    pthread_mutex_lock(&lock);
    if (pages)
        most = larger(most, in_use);
    else
        in_use -= size;
    pthread_mutex_unlock(&lock);
    return pages;
}

static void *pages_get_rounded(size_t size) {
    struct list surplus;
    pthread_mutex_lock(&lock);
    struct kept *kept = take_kept(size);
    in_use += size;
    collect_surplus(&surplus);
    pthread_mutex_unlock(&lock);
    unmap_all(&surplus);
    return kept ? kept : settle(map(size), size);
}

static void keep(void *pages, size_t size) {
    struct kept *kept = pages;
    struct list surplus;
    *kept = (struct kept){.size = size};
    pthread_mutex_lock(&lock);
    in_use -= size;
    kept_bytes += size;
    list_append(class_of(size), &kept->of_class);
    list_append(&ages, &kept->of_age);
    collect_surplus(&surplus);
    pthread_mutex_unlock(&lock);
    unmap_all(&surplus);
}

/* AddressSanitizer sees what is used after it was given back only where nothing is kept. */
#if defined(__SANITIZE_ADDRESS__)
#define KEEPS false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEPS false
#endif
#endif
#ifndef KEEPS
#define KEEPS true
#endif

void *pages_get(size_t size) {
    size_t rounded = round_up(size);
    if (rounded == 0) return NULL;
    if (KEEPS) return pages_get_rounded(rounded);
    void *pages;
    return posix_memalign(&pages, PAGE_BYTES, size) == 0 ? pages : NULL;
}

void pages_put(void *pages, size_t size) {
    if (KEEPS)
        keep(pages, round_up(size));
    else
        free(pages);
}

size_t pages_kept(void) {
    pthread_mutex_lock(&lock);
    size_t bytes = kept_bytes;
    pthread_mutex_unlock(&lock);
    return bytes;
}
