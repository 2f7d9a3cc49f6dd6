/* A daemon that speaks mTLS, with its files and those of a client, for tests of certificates. Its Unix socket
 * is plaintext: there a test publishes, and asks what the daemon thinks. */
#ifndef STAGEWIRE_TESTS_TLS_STAND_H
#define STAGEWIRE_TESTS_TLS_STAND_H

#include "tests/support/certs.h"
#include "tests/support/client.h"

#define STAND_SERVER "spiffe://job.example/stage/3"
#define STAND_CLIENT "spiffe://job.example/stage/0"

struct stand {
    struct bench bench; /* its clients but the publisher speak plaintext: not for TCP */
    char server[64], client[64],
        crl[96]; /* folders with tls.key, tls.crt, ca.crt; the daemon's revocations */
    struct cert *ca, *server_cert, *client_cert;
    sw_client *local; /* over the Unix socket */
    const char *target;
};

/* `with_crl`: the daemon goes by the list in the file `crl`, which lists nothing yet. */
void stand_open(struct stand *stand, bool with_crl);
void stand_close(struct stand *stand);

/* Options of a client with the files of `client`. They live as long as the stand. */
sw_client_options stand_options(struct stand *stand);
sw_client *stand_client(struct stand *stand);

/* Asks the daemon until it has taken certificates `taken` times, or found them not to fit `failed` times. */
void stand_await_taken(struct stand *stand, uint64_t taken);
void stand_await_failed(struct stand *stand, uint64_t failed);
sw_info *stand_info(struct stand *stand); /* sw_info_destroy */

/* A server that shakes hands and serves nothing, with these files' texts: for what a client makes of it. */
struct tls_dummy;
struct tls_dummy *tls_dummy_open(const struct cert *cert, const struct cert *ca);
const char *tls_dummy_target(const struct tls_dummy *dummy);
void tls_dummy_close(struct tls_dummy *dummy);

#endif
