/* An endpoint to measure: a stagewired that listens on TCP and at a Unix socket, and a client for each.
 * Whatever fails ends the program. */
#ifndef STAGEWIRE_TESTS_ENDPOINT_H
#define STAGEWIRE_TESTS_ENDPOINT_H

#include <stagewire/client.h>

#include "tests/support/daemon.h"

struct endpoint {
    const char *host;        /* an IPv4 address to listen at; NULL: 127.0.0.1 */
    const char *certs;       /* a folder of endpoint_make_certs: TCP is mTLS; NULL: plaintext */
    const char *const *more; /* further arguments of stagewired, ends with NULL; NULL: none */

    struct daemon *daemon; /* the rest is filled in */
    char folder[64], socket[96];
    sw_client *tcp, *local; /* by endpoint_connect */
};

void endpoint_start(struct endpoint *endpoint);
/* Not before the last fork, which gRPC does not survive. */
void endpoint_connect(struct endpoint *endpoint);
/* Another client over TCP. */
sw_client *endpoint_client(const struct endpoint *endpoint);
/* Closes its two clients; the daemon waits for what others have under way. */
void endpoint_stop(struct endpoint *endpoint);

/* Key, certificate and CA, the same for both ends. `folder` as folder_make takes it, and folder_remove after.
 */
void endpoint_make_certs(char *folder);

#endif
