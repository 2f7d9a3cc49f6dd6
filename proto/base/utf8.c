#include "proto/base/utf8.h"

#include <stdint.h>
#include <string.h>

static bool continues(const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if ((bytes[i] & 0xc0) != 0x80) return false;
    }
    return true;
}

size_t utf8_character(const char *data, size_t size) {
    const uint8_t *bytes = (const uint8_t *)data;
    uint8_t first = bytes[0];
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (size < length || !continues(bytes + 1, length - 1)) return 0;
    if (first == 0xe0 && bytes[1] < 0xa0) return 0; /* overlong */
    if (first == 0xed && bytes[1] > 0x9f) return 0; /* surrogate */
    if (first == 0xf0 && bytes[1] < 0x90) return 0; /* overlong */
    if (first == 0xf4 && bytes[1] > 0x8f) return 0; /* beyond U+10FFFF */
    return length;
}

static bool all_ascii(const char *data) {
    uint64_t word;
    memcpy(&word, data, sizeof word);
    return (word & 0x8080808080808080u) == 0;
}

bool utf8_valid(const char *data, size_t size) {
    for (size_t at = 0; at < size;) {
        if (size - at >= sizeof(uint64_t) && all_ascii(data + at)) {
            at += sizeof(uint64_t);
            continue;
        }
        size_t length = utf8_character(data + at, size - at);
        if (length == 0) return false;
        at += length;
    }
    return true;
}

size_t utf8_prefix(const char *data, size_t size, size_t room) {
    if (size <= room) return size;
    while (room > 0 && ((uint8_t)data[room] & 0xc0) == 0x80) room--;
    return room;
}
