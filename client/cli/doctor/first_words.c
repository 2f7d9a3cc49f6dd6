#include "client/cli/doctor/first_words.h"

#include <stdbool.h>
#include <string.h>

#define TLS_ALERT       0x15
#define TLS_HANDSHAKE   0x16
#define TLS_MAJOR       0x03
#define HTTP2_SETTINGS  0x04
#define HTTP2_TYPE_AT   3
#define HTTP2_STREAM_AT 5

static bool begins(const char *bytes, size_t size, const char *with) {
    return size >= strlen(with) && memcmp(bytes, with, strlen(with)) == 0;
}

/* 3 bytes of length, the type, flags, and the stream, which is 0. */
static bool is_settings(const unsigned char *bytes, size_t size) {
    return size > HTTP2_STREAM_AT && bytes[0] == 0 && bytes[HTTP2_TYPE_AT] == HTTP2_SETTINGS &&
           bytes[HTTP2_STREAM_AT] == 0;
}

enum speaker first_words(const void *bytes, size_t size) {
    const unsigned char *byte = bytes;
    if (size > 1 && (byte[0] == TLS_ALERT || byte[0] == TLS_HANDSHAKE) && byte[1] == TLS_MAJOR)
        return SPEAKS_TLS;
    if (is_settings(byte, size)) return SPEAKS_HTTP2;
    if (begins(bytes, size, "HTTP/1")) return SPEAKS_HTTP1;
    if (begins(bytes, size, "SSH-")) return SPEAKS_SSH;
    return SPEAKS_OTHER;
}

const char *speaker_name(enum speaker speaker) {
    static const char *const names[] = {"plaintext HTTP/2", "HTTP/1", "TLS", "SSH", "neither TLS nor HTTP"};
    return names[speaker];
}
