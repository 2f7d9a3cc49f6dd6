/* The certificates that a process goes by, kept current: a thread of its own looks at the files, and what
 * they hold is taken once all of it fits together. Until then the old stays, so that a bad or half-written
 * file breaks nothing.
 *
 * It looks at the files once a second: that sees plain overwriting and renaming, Kubernetes' exchange of a
 * link, and network file systems, which report no events. Any thread. */
#ifndef STAGEWIRE_TRANSPORT_TLS_SOURCE_H
#define STAGEWIRE_TRANSPORT_TLS_SOURCE_H

#include <stdint.h>

#include <stagewire/status.h>

#include "proto/transport/tls_files.h"
#include "proto/transport/tls_identity.h"

#define TLS_SOURCE_LOOK_MS 1000

struct tls_source;

/* Loads the files. Errors of tls_files_check and tls_identity_load; RESOURCE_EXHAUSTED without memory. Paths
 * are copied. */
sw_status tls_source_open(const struct tls_files *files, enum tls_role role, struct tls_source **ret_source,
                          sw_error *error);

struct tls_source_watch {
    int64_t look_ms; /* 0: TLS_SOURCE_LOOK_MS */
    /* After each look that took an identity or failed to, on the thread of the source, which it must not
     * close; may be NULL. */
    void (*changed)(void *context, bool taken);
    void *context;
};
/* Starts the thread, once. RESOURCE_EXHAUSTED without one. */
sw_status tls_source_watch(struct tls_source *source, const struct tls_source_watch *watch, sw_error *error);

/* Joins the thread, if there is one: `changed` isn't called any more. */
void tls_source_unwatch(struct tls_source *source);
/* The same, and frees. Takes NULL. */
void tls_source_close(struct tls_source *source);

/* With a reference. Never waits for a file. */
struct tls_identity *tls_source_current(struct tls_source *source);
/* Grows with each identity that is taken; from 1. */
uint64_t tls_source_generation(const struct tls_source *source);

struct tls_source_state {
    struct tls_identity *identity; /* a reference: the caller's */
    int64_t taken_s;               /* when, seconds since 1970 */
    uint64_t taken, failed; /* how often: identities with the first, and looks that found another error */
    int64_t failed_s;       /* since when the files don't fit; 0: they do */
    char error[SW_ERROR_MESSAGE_MAX]; /* why; "": they do */
};
void tls_source_state(struct tls_source *source, struct tls_source_state *ret);

#endif
