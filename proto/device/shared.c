#include "proto/device/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "proto/base/buffer.h"
#include "proto/base/limits.h"
#include "proto/base/log.h"
#include "proto/device/give_back.h"
#include "proto/device/sealed.h"

#define PAGE_BYTES 4096u
#define UNMAP_STEP (16u << 20)

struct shared {
    int fd;
    unsigned char *pages; /* where it is mapped; the bytes begin at `lead` */
    size_t mapped, lead;
    uint64_t offset; /* of the bytes in the memory */
    pthread_mutex_t lock;
    bool is_sealed; /* with lock */
    struct giving_back end;
};

static atomic_uint count, takers;

void shared_taker_came(void) {
    atomic_fetch_add(&takers, 1);
}

void shared_taker_left(void) {
    atomic_fetch_sub(&takers, 1);
}

bool shared_has_takers(void) {
    return atomic_load(&takers) > 0;
}

unsigned shared_count(void) {
    return atomic_load(&count);
}

unsigned shared_most(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
    return files.rlim_cur / 4 < LIMIT_SHARED_BUFFERS ? (unsigned)(files.rlim_cur / 4) : LIMIT_SHARED_BUFFERS;
}

static bool take_place(void) {
    if (atomic_fetch_add(&count, 1) < shared_most()) return true;
    atomic_fetch_sub(&count, 1);
    return false;
}

/* In steps: while the kernel unmaps, nothing else of the process is mapped. */
static void unmap(struct shared *shared) {
    for (size_t at = 0; at < shared->mapped; at += UNMAP_STEP) {
        size_t left = shared->mapped - at;
        madvise(shared->pages + at, left < UNMAP_STEP ? left : UNMAP_STEP, MADV_DONTNEED);
    }
    munmap(shared->pages, shared->mapped);
}

static void destroy(struct shared *shared) {
    if (shared->pages) unmap(shared);
    if (shared->fd >= 0) close(shared->fd);
    pthread_mutex_destroy(&shared->lock);
    free(shared);
    atomic_fetch_sub(&count, 1);
}

static void end(struct giving_back *job) {
    destroy(container_of(job, struct shared, end));
}

static void release(void *context) {
    struct shared *shared = context;
    shared->end = (struct giving_back){.size = shared->mapped, .run = end};
    give_back(&shared->end);
}

static struct shared *make(int fd, uint64_t offset, size_t size, bool is_sealed) {
    struct shared *shared = calloc(1, sizeof *shared);
    if (!shared) {
        atomic_fetch_sub(&count, 1);
        return NULL;
    }
    shared->fd = fd;
    shared->offset = offset;
    shared->lead = offset % PAGE_BYTES;
    shared->mapped = shared->lead + size;
    shared->is_sealed = is_sealed;
    pthread_mutex_init(&shared->lock, NULL);
    return shared;
}

/* Takes `shared` over. */
static bool finish(struct shared *shared, int protection, int flags, sw_buffer **ret_buffer) {
    void *pages =
        mmap(NULL, shared->mapped, protection, flags, shared->fd, (off_t)(shared->offset - shared->lead));
    if (pages == MAP_FAILED) goto failed;
    shared->pages = pages;
    madvise(pages, shared->mapped, MADV_HUGEPAGE); /* a hint: most machines have none for this kind */
    if (sw_buffer_wrap(shared->pages + shared->lead, shared->mapped - shared->lead, release, shared,
                       ret_buffer, NULL) == SW_OK)
        return true;
failed:
    destroy(shared);
    return false;
}

bool shared_create(size_t size, sw_buffer **ret_buffer, void **ret_data) {
    if (!take_place()) return false;
    struct shared *shared = make(-1, 0, size, false);
    if (!shared) return false;
    shared->fd = sealed_create(size);
    if (shared->fd < 0) {
        destroy(shared);
        return false;
    }
    if (!finish(shared, PROT_READ | PROT_WRITE, MAP_SHARED, ret_buffer)) return false;
    *ret_data = (void *)sw_buffer_data(*ret_buffer);
    return true;
}

/* What its holders write is not in the memory that could be handed on. */
static void keep_to_itself(struct shared *shared) {
    close(shared->fd);
    shared->fd = -1;
}

/* Before Linux 6.7 sealed memory maps only so: private. */
bool shared_open(int fd, uint64_t offset, size_t size, bool writable, sw_buffer **ret_buffer) {
    if (!take_place()) return false;
    struct shared *shared = make(fcntl(fd, F_DUPFD_CLOEXEC, 0), offset, size, true);
    if (!shared) return false;
    if (shared->fd < 0) {
        destroy(shared);
        return false;
    }
    int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    if (!finish(shared, protection, MAP_PRIVATE | MAP_NORESERVE, ret_buffer)) return false;
    if (writable) keep_to_itself(shared);
    return true;
}

/* In one step, so that who reads meanwhile never finds nothing there. A writable shared mapping would stand
 * in the way of the seal. */
static void make_private(struct shared *shared) {
    void *pages = mmap(shared->pages, shared->mapped, PROT_READ, MAP_PRIVATE | MAP_FIXED, shared->fd, 0);
    if (pages != MAP_FAILED) return;
    log_error("memory of the library can't be mapped again", LOG_TEXT("why", strerror(errno)));
    abort(); /* the caller's bytes may not be there any more */
}

bool shared_seal(sw_buffer *buffer) {
    struct shared *shared = buffer_context(buffer, release);
    if (!shared) return false;
    pthread_mutex_lock(&shared->lock);
    if (!shared->is_sealed) {
        make_private(shared);
        shared->is_sealed = sealed_seal(shared->fd);
    }
    bool is_sealed = shared->is_sealed;
    pthread_mutex_unlock(&shared->lock);
    return is_sealed;
}

bool shared_memory_of(const sw_buffer *buffer, int *ret_fd, uint64_t *ret_offset) {
    struct shared *shared = buffer_context(buffer, release);
    if (!shared) return false;
    pthread_mutex_lock(&shared->lock);
    bool is_sealed = shared->is_sealed;
    pthread_mutex_unlock(&shared->lock);
    if (!is_sealed || shared->fd < 0) return false;
    *ret_fd = shared->fd;
    *ret_offset = shared->offset;
    return true;
}
