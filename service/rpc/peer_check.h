/* Whether a peer's certificate still stands: its dates, and what its CA has taken back. A certificate that
 * was good is looked at again once a second, or as soon as there is another list. On the loop's thread. */
#ifndef STAGEWIRE_SERVICE_PEER_CHECK_H
#define STAGEWIRE_SERVICE_PEER_CHECK_H

#include <stdint.h>

#include "proto/transport/tls_source.h"

#define PEER_CHECK_KEPT 256

struct peer_check {
    struct tls_source *source;
    struct good_peer {
        char *pem; /* NULL: none yet */
        uint64_t generation;
        int64_t checked_s;
    } good[PEER_CHECK_KEPT];
};

void peer_check_init(struct peer_check *check, struct tls_source *source);
void peer_check_close(struct peer_check *check);

/* UNAUTHENTICATED says why not. */
sw_status peer_check_certificate(struct peer_check *check, const char *pem, int64_t now_s, sw_error *error);

#endif
