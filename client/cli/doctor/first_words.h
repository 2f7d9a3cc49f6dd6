/* Who speaks, by the first bytes that come: pure. */
#ifndef STAGEWIRE_CLIENT_CLI_DOCTOR_FIRST_WORDS_H
#define STAGEWIRE_CLIENT_CLI_DOCTOR_FIRST_WORDS_H

#include <stddef.h>

enum speaker {
    SPEAKS_HTTP2, /* in plaintext: the header of a SETTINGS frame */
    SPEAKS_HTTP1,
    SPEAKS_TLS, /* a handshake record or an alert */
    SPEAKS_SSH,
    SPEAKS_OTHER,
};

#define FIRST_WORDS_MAX 16 /* as many bytes suffice */

enum speaker first_words(const void *bytes, size_t size);
/* "plaintext HTTP/2", "HTTP/1", "TLS", "SSH", "neither TLS nor HTTP" */
const char *speaker_name(enum speaker speaker);

#endif
