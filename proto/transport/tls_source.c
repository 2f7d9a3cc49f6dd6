#include "proto/transport/tls_source.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/base/clock.h"
#include "proto/base/error.h"
#include "proto/base/log.h"
#include "proto/transport/tls_pem.h"

/* A file that was written within the last moment may be written again without its times showing it. */
#define FRESH_NS INT64_C(2000000000)

struct tls_source {
    struct tls_files files; /* strings are its own */
    char *paths[4];
    enum tls_role role;
    struct tls_source_watch watch;
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t lock;
    pthread_cond_t closing_changed;
    bool is_closing;                  /* with lock, as all below */
    struct tls_source_state state;    /* its reference is the source's */
    _Atomic uint64_t generation;      /* state.taken, for those who only compare */
    struct tls_files_state looked_at; /* the thread's own */
    bool look_again;
};

static int64_t now_s(void) {
    return clock_system.unix_ns(NULL) / 1000000000;
}

/* ---- what was found ---- */

static void take(struct tls_source *source, struct tls_identity *identity) {
    pthread_mutex_lock(&source->lock);
    struct tls_identity *old = source->state.identity;
    source->state.identity = identity;
    source->state.taken_s = now_s();
    source->state.taken++;
    source->state.failed_s = 0;
    source->state.error[0] = 0;
    atomic_store(&source->generation, source->state.taken);
    pthread_mutex_unlock(&source->lock);
    tls_identity_unref(old);
}

static bool is_same(const struct tls_identity *one, const struct tls_identity *other) {
    return memcmp(one->content, other->content, sizeof one->content) == 0;
}

static void say_taken(const struct tls_identity *identity) {
    char until[PEM_TIME_WORDS];
    log_info("certificates taken", LOG_TEXT("name", identity->name), LOG_TEXT("issuer", identity->issuer),
             LOG_TEXT("until", pem_time_words(identity->not_after_s, until)),
             LOG_TEXT("sha256", identity->fingerprint));
}

/* True if it is another error than before: that one has been told. */
static bool note_failure(struct tls_source *source, const sw_error *error) {
    pthread_mutex_lock(&source->lock);
    bool is_new = strcmp(source->state.error, error->message) != 0;
    if (is_new) {
        strcpy(source->state.error, error->message);
        source->state.failed++;
    }
    if (source->state.failed_s == 0) source->state.failed_s = now_s();
    pthread_mutex_unlock(&source->lock);
    return is_new;
}

static void forget_failure(struct tls_source *source) {
    pthread_mutex_lock(&source->lock);
    source->state.failed_s = 0;
    source->state.error[0] = 0;
    pthread_mutex_unlock(&source->lock);
}

static void tell(struct tls_source *source, bool taken) {
    if (source->watch.changed) source->watch.changed(source->watch.context, taken);
}

/* ---- looking ---- */

/* While they were read: some were of the old ones. The next look has them all. */
static bool have_changed(const struct tls_source *source) {
    return tls_files_state(&source->files).digest != source->looked_at.digest;
}

static void load(struct tls_source *source) {
    struct tls_identity *identity;
    sw_error error;
    sw_status status = tls_identity_load(&source->files, source->role, now_s(), &identity, &error);
    source->look_again = status != SW_OK;
    if (status != SW_OK && have_changed(source)) return;
    if (status != SW_OK) {
        if (note_failure(source, &error))
            log_warn("certificates cannot be used; the old ones stay", LOG_TEXT("why", error.message));
        tell(source, false);
        return;
    }
    if (is_same(identity, source->state.identity)) {
        tls_identity_unref(identity);
        forget_failure(source);
        return;
    }
    take(source, identity);
    say_taken(identity);
    tell(source, true);
}

/* What doesn't fit is looked at again each time: perhaps only its date was too early. */
static void look(struct tls_source *source) {
    struct tls_files_state state = tls_files_state(&source->files);
    bool changed = state.digest != source->looked_at.digest;
    if (!changed && !source->look_again) return;
    source->looked_at = state;
    load(source);
    if (clock_system.unix_ns(NULL) - state.newest_ns < FRESH_NS) source->look_again = true;
}

static void add_ms(struct timespec *time, int64_t ms) {
    time->tv_sec += ms / 1000;
    time->tv_nsec += ms % 1000 * 1000000;
    if (time->tv_nsec >= 1000000000) time->tv_sec++, time->tv_nsec -= 1000000000;
}

/* False once it is to end. */
static bool wait_for_next_look(struct tls_source *source) {
    struct timespec due;
    clock_gettime(CLOCK_MONOTONIC, &due);
    add_ms(&due, source->watch.look_ms);
    pthread_mutex_lock(&source->lock);
    int waited = 0;
    while (!source->is_closing && waited == 0)
        waited = pthread_cond_timedwait(&source->closing_changed, &source->lock, &due);
    bool goes_on = !source->is_closing;
    pthread_mutex_unlock(&source->lock);
    return goes_on;
}

static void *run(void *context) {
    struct tls_source *source = context;
    while (wait_for_next_look(source)) look(source);
    return NULL;
}

/* ---- opening and closing ---- */

static void free_source(struct tls_source *source) {
    tls_identity_unref(source->state.identity);
    pthread_cond_destroy(&source->closing_changed);
    pthread_mutex_destroy(&source->lock);
    for (size_t i = 0; i < sizeof source->paths / sizeof *source->paths; i++) free(source->paths[i]);
    free(source);
}

static bool copy_paths(struct tls_source *source, const struct tls_files *files) {
    const char *const from[] = {files->key, files->cert, files->ca, files->crl ? files->crl : ""};
    for (size_t i = 0; i < 4; i++) {
        source->paths[i] = strdup(from[i]);
        if (!source->paths[i]) return false;
    }
    source->files =
        (struct tls_files){source->paths[0], source->paths[1], source->paths[2], source->paths[3]};
    return true;
}

static struct tls_source *make_source(const struct tls_files *files, enum tls_role role) {
    struct tls_source *source = calloc(1, sizeof *source);
    pthread_condattr_t monotonic;
    if (!source) return NULL;
    source->role = role;
    pthread_mutex_init(&source->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&source->closing_changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (copy_paths(source, files)) return source;
    free_source(source);
    return NULL;
}

/* The files' state is taken first: what changes meanwhile is seen at the next look. */
static sw_status load_first(struct tls_source *source, sw_error *error) {
    struct tls_identity *identity;
    source->looked_at = tls_files_state(&source->files);
    source->look_again = clock_system.unix_ns(NULL) - source->looked_at.newest_ns < FRESH_NS;
    sw_status status = tls_identity_load(&source->files, source->role, now_s(), &identity, error);
    if (status == SW_OK) take(source, identity);
    return status;
}

sw_status tls_source_open(const struct tls_files *files, enum tls_role role, struct tls_source **ret_source,
                          sw_error *error) {
    struct tls_files checked;
    sw_status status = tls_files_check(files, &checked, error);
    if (status != SW_OK) return status;
    struct tls_source *source = make_source(&checked, role);
    if (!source) return error_no_memory(error);
    status = load_first(source, error);
    if (status == SW_OK)
        *ret_source = source;
    else
        free_source(source);
    return status;
}

sw_status tls_source_watch(struct tls_source *source, const struct tls_source_watch *watch, sw_error *error) {
    source->watch = *watch;
    if (source->watch.look_ms <= 0) source->watch.look_ms = TLS_SOURCE_LOOK_MS;
    source->has_thread = pthread_create(&source->thread, NULL, run, source) == 0;
    if (source->has_thread) return SW_OK;
    return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE,
                          "no thread to look after certificates; raise the limit (ulimit -u)");
}

void tls_source_unwatch(struct tls_source *source) {
    if (!source->has_thread) return;
    pthread_mutex_lock(&source->lock);
    source->is_closing = true;
    pthread_cond_signal(&source->closing_changed);
    pthread_mutex_unlock(&source->lock);
    pthread_join(source->thread, NULL);
    source->has_thread = false;
}

void tls_source_close(struct tls_source *source) {
    if (!source) return;
    tls_source_unwatch(source);
    free_source(source);
}

/* ---- asking ---- */

struct tls_identity *tls_source_current(struct tls_source *source) {
    pthread_mutex_lock(&source->lock);
    struct tls_identity *identity = tls_identity_ref(source->state.identity);
    pthread_mutex_unlock(&source->lock);
    return identity;
}

uint64_t tls_source_generation(const struct tls_source *source) {
    return atomic_load(&source->generation);
}

void tls_source_state(struct tls_source *source, struct tls_source_state *ret) {
    pthread_mutex_lock(&source->lock);
    *ret = source->state;
    tls_identity_ref(ret->identity);
    pthread_mutex_unlock(&source->lock);
}
