#include "proto/wire/chunk.h"

#include <string.h>

#include "proto/base/copy.h"
#include "proto/wire/malformed.h"
#include "proto/wire/wire_format.h"

enum { PART_MANIFEST = 1, PART_CHUNK = 2, PART_SHARED = 3 };
enum { CHUNK_TENSOR = 1, CHUNK_BLOCK = 2, CHUNK_XXH3 = 3, CHUNK_DATA = 4 };
enum { SHARED_TENSOR = 1, SHARED_FIRST_BLOCK, SHARED_BYTE_LENGTH, SHARED_TOKEN, SHARED_OFFSET };

/* ---- writing ---- */

static uint8_t *put_number(uint8_t *at, unsigned field, uint64_t number) {
    if (number == 0) return at;
    *at++ = (uint8_t)WIRE_TAG(field, WIRE_VARINT);
    return at + varint_write(at, number);
}

static size_t number_size(uint64_t number) {
    return number == 0 ? 0 : 1 + varint_size(number);
}

size_t chunk_encode_header(const struct chunk_header *header, uint8_t *out) {
    uint64_t size = number_size(header->tensor) + number_size(header->block) + (header->xxh3 ? 9 : 0);
    if (header->size > 0) size += number_size(header->size) + header->size;
    uint8_t *at = out;
    *at++ = WIRE_TAG(PART_CHUNK, WIRE_BYTES);
    at += varint_write(at, size);
    at = put_number(at, CHUNK_TENSOR, header->tensor);
    at = put_number(at, CHUNK_BLOCK, header->block);
    if (header->xxh3) {
        *at++ = WIRE_TAG(CHUNK_XXH3, WIRE_FIXED64);
        fixed64_write(at, header->xxh3);
        at += 8;
    }
    if (header->size > 0) {
        *at++ = WIRE_TAG(CHUNK_DATA, WIRE_BYTES);
        at += varint_write(at, header->size);
    }
    return (size_t)(at - out);
}

static uint8_t *put_fixed64(uint8_t *at, unsigned field, uint64_t number) {
    *at++ = (uint8_t)WIRE_TAG(field, WIRE_FIXED64);
    fixed64_write(at, number);
    return at + 8;
}

size_t shared_run_encode(const struct shared_run *run, uint8_t *out) {
    uint8_t *body = out + 2, *at = body; /* a body of less than 128 bytes has its length in one */
    at = put_number(at, SHARED_TENSOR, run->tensor);
    at = put_number(at, SHARED_FIRST_BLOCK, run->first_block);
    at = put_number(at, SHARED_BYTE_LENGTH, run->byte_length);
    at = put_fixed64(at, SHARED_TOKEN, run->token);
    at = put_number(at, SHARED_OFFSET, run->offset);
    out[0] = WIRE_TAG(PART_SHARED, WIRE_BYTES);
    out[1] = (uint8_t)(at - body);
    return (size_t)(at - out);
}

/* ---- taking apart ---- */

/* A place in the pieces; it never goes beyond `end`. */
struct cursor {
    const struct chunk_piece *piece;
    size_t in_piece;
    uint64_t offset, end;
};

static bool read_byte(struct cursor *cursor, uint8_t *ret_byte) {
    if (cursor->offset == cursor->end) return false;
    while (cursor->in_piece == cursor->piece->size) {
        cursor->piece++;
        cursor->in_piece = 0;
    }
    *ret_byte = cursor->piece->data[cursor->in_piece++];
    cursor->offset++;
    return true;
}

static bool skip(struct cursor *cursor, uint64_t size) {
    if (size > cursor->end - cursor->offset) return false;
    cursor->offset += size;
    while (size > cursor->piece->size - cursor->in_piece) {
        size -= cursor->piece->size - cursor->in_piece;
        cursor->piece++;
        cursor->in_piece = 0;
    }
    cursor->in_piece += size;
    return true;
}

static bool read_varint(struct cursor *cursor, uint64_t *ret_number) {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte;
        if (!read_byte(cursor, &byte)) return false;
        if (shift == 63 && byte > 1) return false;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_number = number;
            return true;
        }
    }
    return false;
}

/* As in reader.c. */
static bool read_short_varint(struct cursor *cursor, uint64_t *ret_number) {
    uint64_t begun = cursor->offset;
    return read_varint(cursor, ret_number) && cursor->offset - begun <= VARINT32_MAX;
}

static bool read_fixed64(struct cursor *cursor, uint64_t *ret_number) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) {
        if (!read_byte(cursor, &bytes[i])) return false;
    }
    *ret_number = fixed64_read(bytes);
    return true;
}

/* A field's tag and, but for WIRE_BYTES where it is the length, its value. */
struct field {
    uint32_t number;
    enum wire_type type;
    uint64_t value;
};

static bool read_field(struct cursor *cursor, struct field *ret) {
    uint64_t tag;
    if (!read_short_varint(cursor, &tag) || tag > UINT32_MAX || tag >> 3 == 0) return false;
    *ret = (struct field){.number = (uint32_t)tag >> 3, .type = (enum wire_type)(tag & 7)};
    switch (ret->type) {
    case WIRE_VARINT:
        return read_varint(cursor, &ret->value);
    case WIRE_FIXED64:
        return read_fixed64(cursor, &ret->value);
    case WIRE_BYTES:
        return read_short_varint(cursor, &ret->value) && ret->value <= cursor->end - cursor->offset;
    case WIRE_FIXED32:
        return skip(cursor, 4);
    default:
        return false;
    }
}

static sw_status cut(sw_error *error, const char *where) {
    return malformed_at(error, where,
                        "ends in the middle of a field, or holds something that is no protobuf");
}

static sw_status take_number(const struct field *field, enum wire_type type, uint64_t most, const char *path,
                             uint64_t *ret, sw_error *error) {
    if (field->type != type) return malformed_at(error, path, "has another type on the wire than its own");
    if (field->value > most) return malformed_at(error, path, "is larger than its type holds");
    *ret = field->value;
    return SW_OK;
}

static sw_status take_shared_field(struct cursor *cursor, const struct field *field, struct chunk_view *view,
                                   sw_error *error) {
    struct shared_run *run = &view->shared;
    uint64_t tensor = 0;
    sw_status status = SW_OK;
    switch (field->number) {
    case SHARED_TENSOR:
        status = take_number(field, WIRE_VARINT, UINT32_MAX, "shared.tensor", &tensor, error);
        if (status == SW_OK) run->tensor = (uint32_t)tensor;
        return status;
    case SHARED_FIRST_BLOCK:
        return take_number(field, WIRE_VARINT, UINT64_MAX, "shared.first_block", &run->first_block, error);
    case SHARED_BYTE_LENGTH:
        return take_number(field, WIRE_VARINT, UINT64_MAX, "shared.byte_length", &run->byte_length, error);
    case SHARED_TOKEN:
        return take_number(field, WIRE_FIXED64, UINT64_MAX, "shared.token", &run->token, error);
    case SHARED_OFFSET:
        return take_number(field, WIRE_VARINT, UINT64_MAX, "shared.offset", &run->offset, error);
    }
    if (field->type == WIRE_BYTES) skip(cursor, field->value);
    return SW_OK;
}

static sw_status take_chunk_field(struct cursor *cursor, const struct field *field, struct chunk_view *view,
                                  sw_error *error) {
    uint64_t tensor = 0;
    sw_status status = SW_OK;
    switch (field->number) {
    case CHUNK_TENSOR:
        status = take_number(field, WIRE_VARINT, UINT32_MAX, "chunk.tensor", &tensor, error);
        if (status == SW_OK) view->header.tensor = (uint32_t)tensor;
        return status;
    case CHUNK_BLOCK:
        return take_number(field, WIRE_VARINT, UINT64_MAX, "chunk.block", &view->header.block, error);
    case CHUNK_XXH3:
        return take_number(field, WIRE_FIXED64, UINT64_MAX, "chunk.xxh3", &view->header.xxh3, error);
    case CHUNK_DATA:
        status = take_number(field, WIRE_BYTES, UINT64_MAX, "chunk.data", &view->header.size, error);
        if (status == SW_OK) view->payload_offset = cursor->offset;
        break;
    }
    if (status == SW_OK && field->type == WIRE_BYTES) skip(cursor, field->value);
    return status;
}

typedef sw_status take_function(struct cursor *, const struct field *, struct chunk_view *, sw_error *);

static sw_status parse_part(struct cursor *cursor, uint64_t size, const char *name, take_function *take,
                            struct chunk_view *view, sw_error *error) {
    uint64_t outer_end = cursor->end;
    cursor->end = cursor->offset + size;
    while (cursor->offset < cursor->end) {
        struct field field;
        if (!read_field(cursor, &field)) return cut(error, name);
        sw_status status = take(cursor, &field, view, error);
        if (status != SW_OK) return status;
    }
    cursor->end = outer_end;
    return SW_OK;
}

static struct cursor cursor_over(const struct chunk_piece *pieces, size_t count) {
    struct cursor cursor = {.piece = pieces};
    for (size_t i = 0; i < count; i++) cursor.end += pieces[i].size;
    return cursor;
}

sw_status chunk_parse(const struct chunk_piece *pieces, size_t count, enum chunk_part *ret_part,
                      struct chunk_view *ret_view, sw_error *error) {
    struct cursor cursor = cursor_over(pieces, count);
    struct chunk_view view = {0};
    unsigned parts = 0, part = 0;
    while (cursor.offset < cursor.end) {
        struct field field;
        if (!read_field(&cursor, &field)) return cut(error, "part");
        bool known = field.number >= PART_MANIFEST && field.number <= PART_SHARED;
        if (known && field.type != WIRE_BYTES) return malformed_at(error, "part", "is no message");
        if (known && ++parts > 1)
            return malformed_at(error, "part", "is set more than once; a message holds one");
        if (known) part = field.number;
        sw_status status = SW_OK;
        if (field.number == PART_CHUNK) {
            status = parse_part(&cursor, field.value, "chunk", take_chunk_field, &view, error);
        } else if (field.number == PART_SHARED) {
            status = parse_part(&cursor, field.value, "shared", take_shared_field, &view, error);
        } else if (field.type == WIRE_BYTES) {
            skip(&cursor, field.value);
        }
        if (status != SW_OK) return status;
    }
    *ret_part = part == PART_CHUNK ? CHUNK_CHUNK : part == PART_SHARED ? CHUNK_SHARED : CHUNK_OTHER;
    if (*ret_part != CHUNK_OTHER) *ret_view = view;
    return SW_OK;
}

void chunk_each_payload(const struct chunk_piece *pieces, size_t count, const struct chunk_view *view,
                        void (*take)(void *context, const uint8_t *data, size_t size), void *context) {
    uint64_t skipped = view->payload_offset, left = view->header.size;
    for (size_t i = 0; i < count && left > 0; i++) {
        if (skipped >= pieces[i].size) {
            skipped -= pieces[i].size;
            continue;
        }
        size_t size = pieces[i].size - (size_t)skipped;
        if (size > left) size = (size_t)left;
        take(context, pieces[i].data + skipped, size);
        skipped = 0;
        left -= size;
    }
}

struct destination {
    uint8_t *at;
    uint64_t whole;
};

static void append(void *context, const uint8_t *data, size_t size) {
    struct destination *out = context;
    copy_into(out->at, data, size, out->whole);
    out->at += size;
}

void chunk_copy_payload(const struct chunk_piece *pieces, size_t count, const struct chunk_view *view,
                        void *out, uint64_t whole) {
    struct destination destination = {out, whole};
    chunk_each_payload(pieces, count, view, append, &destination);
}
