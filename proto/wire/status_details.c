#include "proto/wire/messages.h"

#include <string.h>

#include "proto/base/buffer.h"
#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/wire/backwards.h"
#include "proto/wire/pb.h"

/* google.rpc.Status, google.protobuf.Any and google.rpc.ErrorInfo, by hand: three small messages that nothing
 * else needs. */
enum { STATUS_CODE = 1, STATUS_MESSAGE = 2, STATUS_DETAILS = 3 };
enum { ANY_TYPE = 1, ANY_VALUE = 2 };
enum { INFO_REASON = 1, INFO_DOMAIN = 2, INFO_METADATA = 3, PAIR_KEY = 1, PAIR_VALUE = 2 };

static const char type_url[] = "type.googleapis.com/google.rpc.ErrorInfo";
static const char type_name[] = "google.rpc.ErrorInfo";
static const char domain[] = "stagewire";

/* ---- encoding ---- */

/* What the tags and lengths around reason and metadata take at most. */
#define FRAME_BYTES 128

static size_t field_bytes(size_t content) {
    return 1 + varint_size(content) + content;
}

static size_t pair_bytes(const char *key, const char *value) {
    return field_bytes(field_bytes(strlen(key)) + field_bytes(strlen(value)));
}

/* Pairs from the first on, as many as fit `room`. */
static size_t count_pairs(const sw_error *error, size_t room) {
    const char *key, *value;
    size_t count = 0;
    for (size_t cursor = 0; error_next(error, &cursor, &key, &value); count++) {
        size_t bytes = pair_bytes(key, value);
        if (bytes > room) break;
        room -= bytes;
    }
    return count;
}

/* They end up in reverse, which a map does not know. */
static void put_pairs(struct backwards *out, const sw_error *error, size_t count) {
    const char *key, *value;
    size_t cursor = 0;
    for (size_t i = 0; i < count && error_next(error, &cursor, &key, &value); i++) {
        const uint8_t *end = out->at;
        backwards_bytes(out, PAIR_VALUE, value, strlen(value));
        backwards_bytes(out, PAIR_KEY, key, strlen(key));
        backwards_frame(out, INFO_METADATA, end);
    }
}

static void put_details(struct backwards *out, const sw_error *error, size_t pairs) {
    const uint8_t *end = out->at;
    put_pairs(out, error, pairs);
    backwards_bytes(out, INFO_DOMAIN, domain, strlen(domain));
    const char *reason = sw_reason_name(error->reason);
    backwards_bytes(out, INFO_REASON, reason, strlen(reason));
    backwards_frame(out, ANY_VALUE, end);
    backwards_bytes(out, ANY_TYPE, type_url, strlen(type_url));
    backwards_frame(out, STATUS_DETAILS, end);
}

/* The message goes into the details a second time only where there is room for it: whoever reads them has it
 * from gRPC. */
sw_status status_details_encode(const sw_error *to_send, sw_buffer **ret, sw_error *error) {
    uint8_t bytes[LIMIT_STATUS_BYTES], *end = bytes + sizeof bytes;
    struct backwards out = {end};
    size_t message = strlen(to_send->message);
    size_t room = sizeof bytes - FRAME_BYTES - message;
    if (to_send->reason != SW_REASON_NONE) put_details(&out, to_send, count_pairs(to_send, room));
    size_t used = (size_t)(end - out.at);
    if (used + message + field_bytes(message) + field_bytes(1) <= LIMIT_STATUS_BYTES)
        backwards_bytes(&out, STATUS_MESSAGE, to_send->message, message);
    backwards_number(&out, STATUS_CODE, (uint64_t)to_send->code);
    used = (size_t)(end - out.at);
    sw_buffer *buffer;
    void *data;
    sw_status status = buffer_create(used, &buffer, &data, error);
    if (status != SW_OK) return status;
    memcpy(data, out.at, used);
    *ret = buffer;
    return SW_OK;
}

/* ---- decoding ---- */

#define KEY_MAX 64

/* Fields 1 to 3 that are bytes; of a field given twice the last counts. */
static bool read_fields(struct span span, struct span ret[4]) {
    struct reader reader = reader_over(span);
    struct wire_field field;
    for (int i = 0; i < 4; i++) ret[i] = span_of(NULL, 0);
    while (reader_next(&reader, &field)) {
        if (field.number < 4 && field.type == WIRE_BYTES) ret[field.number] = field.bytes;
    }
    return !reader.broken;
}

static bool is(struct span span, const char *text) {
    return span.size == strlen(text) && memcmp(span.data, text, span.size) == 0;
}

static bool ends_in(struct span span, const char *text) {
    size_t size = strlen(text);
    return span.size >= size && memcmp(span.data + span.size - size, text, size) == 0;
}

static void read_pair(struct span span, sw_error *error) {
    struct span fields[4];
    char key[KEY_MAX + 1];
    if (!read_fields(span, fields) || fields[PAIR_KEY].size > KEY_MAX) return;
    if (fields[PAIR_KEY].size == 0 || memchr(fields[PAIR_KEY].data, '\0', fields[PAIR_KEY].size)) return;
    memcpy(key, fields[PAIR_KEY].data, fields[PAIR_KEY].size);
    key[fields[PAIR_KEY].size] = '\0';
    error_add_bytes(error, key, (const char *)fields[PAIR_VALUE].data, fields[PAIR_VALUE].size);
}

static void read_info(struct span span, sw_error *error) {
    struct span fields[4];
    char name[KEY_MAX + 1];
    if (!read_fields(span, fields) || !is(fields[INFO_DOMAIN], domain) || fields[INFO_REASON].size > KEY_MAX)
        return;
    memcpy(name, fields[INFO_REASON].data, fields[INFO_REASON].size);
    name[fields[INFO_REASON].size] = '\0';
    error->reason = sw_reason_from_name(name);
    if (error->reason == SW_REASON_NONE) return;
    struct reader reader = reader_over(span);
    struct wire_field field;
    while (reader_next(&reader, &field)) {
        if (field.number == INFO_METADATA && field.type == WIRE_BYTES) read_pair(field.bytes, error);
    }
}

void status_details_decode(const void *data, size_t size, sw_error *error) {
    struct reader reader = reader_over(span_of(data, size));
    struct wire_field field;
    struct span any[4];
    error->reason = SW_REASON_NONE;
    error->details_size = 0;
    while (error->reason == SW_REASON_NONE && reader_next(&reader, &field)) {
        if (field.number != STATUS_DETAILS || field.type != WIRE_BYTES) continue;
        if (read_fields(field.bytes, any) && ends_in(any[ANY_TYPE], type_name))
            read_info(any[ANY_VALUE], error);
    }
}
