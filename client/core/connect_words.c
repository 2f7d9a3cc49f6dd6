#include "client/core/connect_words.h"

#include <string.h>

#include "client/core/retry.h"
#include "proto/base/error.h"

#define FROM_OUR_CHECK "Custom verification check failed with error: UNAUTHENTICATED: "

static const struct {
    const char *part;                      /* of what gRPC says */
    const char *over_tls, *over_plaintext; /* NULL: nothing to add */
} cases[] = {
    {"certificate verify failed",
     "the endpoint's certificate is not accepted: none of the CAs in tls_ca (--tls-ca) has issued it, or it "
     "has "
     "expired; 'stagewire doctor' tells which",
     NULL},
    {"wrong version number",
     "the endpoint speaks no TLS: have it serve with certificates (stagewired --tls-cert), or leave out this "
     "side's (--tls-cert) if the way to it is yours alone",
     NULL},
    {" alert ",
     "the endpoint refuses this client's certificate: it has expired or been revoked, or is of a CA that the "
     "endpoint doesn't know; the endpoint's log tells which",
     NULL},
    {"Socket closed",
     "the endpoint closed the connection before it answered: over TLS that means that it doesn't accept this "
     "client's certificate (of another CA, expired); its log tells why",
     "the endpoint closed the connection before it answered: if it speaks TLS, give certificates "
     "(--tls-cert, "
     "--tls-key, --tls-ca)"},
};

static const char *words_for(const char *message, bool speaks_tls) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strstr(message, cases[i].part)) return speaks_tls ? cases[i].over_tls : cases[i].over_plaintext;
    return NULL;
}

void connect_words(sw_error *error, bool speaks_tls) {
    if (!retry_nobody_answered(error->code, error->reason)) return;
    const char *ours = strstr(error->message, FROM_OUR_CHECK);
    if (ours) {
        ours += strlen(FROM_OUR_CHECK);
        memmove(error->message, ours, strlen(ours) + 1);
        return;
    }
    const char *words = words_for(error->message, speaks_tls);
    if (words) error_prefix(error, "%s; gRPC says: ", words);
}
