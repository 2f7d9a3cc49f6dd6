/* What TLS answers, in words with what mends it. */
#ifndef STAGEWIRE_CLIENT_CLI_DOCTOR_TLS_WORDS_H
#define STAGEWIRE_CLIENT_CLI_DOCTOR_TLS_WORDS_H

#include <openssl/x509_vfy.h>

#include "client/cli/doctor/doctor.h"

/* A certificate of the peer's chain did not stand OpenSSL's examination. */
struct chain_fault {
    int number;        /* X509_V_ERR_…; X509_V_OK: none */
    int depth;         /* 0: the leaf */
    X509 *certificate; /* borrowed from the chain */
};

void say_chain_fault(struct doctor *doctor, const struct chain_fault *fault);

/* The peer ended the connection where it should have taken the own certificate; `alert` is its TLS alert, -1
 * if there was none. */
void say_certificate_refused(struct doctor *doctor, int alert);

/* The handshake came to no end for another reason. */
void say_handshake_failed(struct doctor *doctor, enum wire_end end);

#endif
