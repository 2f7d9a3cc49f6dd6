#include "proto/wire/scan.h"

#include <inttypes.h>
#include <string.h>

#include "proto/base/limits.h"
#include "proto/base/utf8.h"
#include "proto/wire/decode.h"
#include "proto/wire/malformed.h"

/* Messages of stage.proto, without values, nest 4 deep and have 11 fields at most. */
#define LEVELS 8
#define FIELDS 16

struct level {
    const ProtobufCMessageDescriptor *descriptor;
    struct reader reader;
    const struct path *path; /* of the message; NULL: the outermost */
    struct path field, index;
    uint32_t counts[FIELDS]; /* of repeated fields: what came so far */
};

struct scan {
    struct level levels[LEVELS];
    unsigned depth;
    uint32_t fields;
    sw_error *error;
};

static enum wire_type type_of(const ProtobufCFieldDescriptor *field) {
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return WIRE_BYTES;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return WIRE_FIXED64;
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return WIRE_FIXED32;
    default:
        return WIRE_VARINT;
    }
}

static bool number_fits(const ProtobufCFieldDescriptor *field, uint64_t number) {
    switch (field->type) {
    case PROTOBUF_C_TYPE_UINT32:
        return number <= UINT32_MAX;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_ENUM:
        return (int64_t)number >= INT32_MIN && (int64_t)number <= INT32_MAX;
    default:
        return true;
    }
}

/* Where a field is, told by its name, and by its number among others of that name. */
static const struct path *path_of(struct level *level, const ProtobufCFieldDescriptor *field) {
    level->field = path_field(level->path, field->name);
    if (field->label != PROTOBUF_C_LABEL_REPEATED) return &level->field;
    ptrdiff_t place = field - level->descriptor->fields;
    level->index = path_index(&level->field, place < FIELDS ? level->counts[place]++ : 0);
    return &level->index;
}

static sw_status check_string(struct scan *scan, const struct path *path, struct span bytes) {
    const char *text = (const char *)bytes.data;
    if (!utf8_valid(text, bytes.size)) return malformed(scan->error, path, "is not UTF-8");
    if (memchr(text, '\0', bytes.size)) return malformed(scan->error, path, "has a NUL in it");
    return SW_OK;
}

static sw_status check_number(struct scan *scan, const ProtobufCFieldDescriptor *field,
                              const struct path *path, uint64_t number) {
    if (number_fits(field, number)) return SW_OK;
    return malformed(scan->error, path, "is %" PRIu64 ", which is beyond its type", number);
}

static sw_status check_packed(struct scan *scan, const ProtobufCFieldDescriptor *field,
                              const struct path *path, struct span bytes) {
    struct reader reader = reader_over(bytes);
    while (reader.at < reader.end) {
        uint64_t number;
        if (!reader_varint(&reader, &number))
            return malformed(scan->error, path, "ends in the middle of a number");
        sw_status status = check_number(scan, field, path, number);
        if (status != SW_OK) return status;
        scan->fields++;
    }
    return SW_OK;
}

static sw_status enter(struct scan *scan, const ProtobufCFieldDescriptor *field, const struct path *path,
                       struct span bytes) {
    if (scan->depth == LEVELS) return malformed(scan->error, path, "nests deeper than any message does");
    struct level *level = &scan->levels[scan->depth++];
    *level = (struct level){.descriptor = field->descriptor, .reader = reader_over(bytes), .path = path};
    return SW_OK;
}

static sw_status check_field(struct scan *scan, struct level *level, const struct wire_field *found) {
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(level->descriptor, found->number);
    if (!field) return SW_OK;
    const struct path *path = path_of(level, field);
    enum wire_type type = type_of(field);
    bool packable = field->label == PROTOBUF_C_LABEL_REPEATED && type == WIRE_VARINT;
    if (packable && found->type == WIRE_BYTES) return check_packed(scan, field, path, found->bytes);
    if (found->type != type) return malformed(scan->error, path, "has another type on the wire than its own");
    if (field->type == PROTOBUF_C_TYPE_STRING) return check_string(scan, path, found->bytes);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) return enter(scan, field, path, found->bytes);
    return check_number(scan, field, path, found->value);
}

static sw_status broken(struct scan *scan, const struct level *level) {
    struct path root = path_field(NULL, level->descriptor->short_name);
    return malformed(scan->error, level->path ? level->path : &root,
                     "ends in the middle of a field, or holds something that is no protobuf");
}

static sw_status too_many(struct scan *scan, const struct level *level) {
    struct path root = path_field(NULL, level->descriptor->short_name);
    return malformed(scan->error, level->path ? level->path : &root, "has more than %u fields",
                     LIMIT_DECODE_FIELDS);
}

sw_status scan_message(const ProtobufCMessageDescriptor *descriptor, struct span message, sw_error *error) {
    struct scan scan = {.depth = 1, .error = error};
    scan.levels[0] = (struct level){.descriptor = descriptor, .reader = reader_over(message)};
    while (scan.depth > 0) {
        struct level *level = &scan.levels[scan.depth - 1];
        struct wire_field found;
        if (!reader_next(&level->reader, &found)) {
            if (level->reader.broken) return broken(&scan, level);
            scan.depth--;
            continue;
        }
        scan.fields++;
        sw_status status = check_field(&scan, level, &found);
        if (status != SW_OK) return status;
        if (scan.fields > LIMIT_DECODE_FIELDS) return too_many(&scan, level);
    }
    return SW_OK;
}

static void append(struct span *to, const uint8_t *from, const uint8_t *until) {
    memcpy((uint8_t *)to->data + to->size, from, (size_t)(until - from));
    to->size += (size_t)(until - from);
}

sw_status scan_take(struct span message, uint32_t number, const char *name, struct arena *arena,
                    bool *ret_there, struct span *ret_taken, struct span *ret_rest, sw_error *error) {
    struct path path = path_field(NULL, name);
    struct reader reader = reader_over(message);
    struct wire_field field;
    struct span taken = {(const uint8_t *)"", 0};
    struct span before = {message.data, 0}, behind = {message.data, 0};
    bool there = false;
    for (const uint8_t *start = reader.at; reader_next(&reader, &field); start = reader.at) {
        if (field.number != number) continue;
        if (there) return malformed(error, &path, "is there twice");
        if (field.type != WIRE_BYTES)
            return malformed(error, &path, "has another type on the wire than its own");
        there = true;
        taken = field.bytes;
        before.size = (size_t)(start - message.data);
        behind.data = reader.at;
    }
    if (reader.broken)
        return malformed(error, &path,
                         "cannot be found: the message ends in the middle of a field, or is no protobuf");
    behind.size = (size_t)(reader.end - behind.data);
    struct span rest = {arena_get(arena, message.size - taken.size), 0};
    if (!rest.data) return decode_out_of_memory(arena, error);
    append(&rest, before.data, before.data + before.size);
    append(&rest, behind.data, behind.data + behind.size);
    *ret_there = there;
    *ret_taken = taken;
    *ret_rest = rest;
    return SW_OK;
}
