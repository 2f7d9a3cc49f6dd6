#include "proto/wire/reader.h"

static bool broken(struct reader *reader) {
    reader->broken = true;
    return false;
}

bool reader_varint(struct reader *reader, uint64_t *ret) {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 7 * VARINT_MAX; shift += 7) {
        if (reader->at == reader->end) return broken(reader);
        uint8_t byte = *reader->at++;
        if (shift == 63 && byte > 1) return broken(reader);
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret = number;
            return true;
        }
    }
    return broken(reader);
}

/* A tag or a length: protobuf-c and Google's readers take none of more than five bytes. */
static bool read_short_varint(struct reader *reader, uint64_t *ret) {
    const uint8_t *begun = reader->at;
    if (!reader_varint(reader, ret)) return false;
    return reader->at - begun <= VARINT32_MAX || broken(reader);
}

static bool read_fixed(struct reader *reader, size_t size, uint64_t *ret) {
    if ((size_t)(reader->end - reader->at) < size) return broken(reader);
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) number |= (uint64_t)reader->at[i] << (8 * i);
    reader->at += size;
    *ret = number;
    return true;
}

static bool read_bytes(struct reader *reader, struct span *ret) {
    uint64_t size;
    if (!read_short_varint(reader, &size)) return false;
    if (size > (uint64_t)(reader->end - reader->at)) return broken(reader);
    *ret = (struct span){reader->at, (size_t)size};
    reader->at += size;
    return true;
}

bool reader_next(struct reader *reader, struct wire_field *ret) {
    uint64_t tag;
    if (reader->broken || reader->at == reader->end) return false;
    if (!read_short_varint(reader, &tag)) return false;
    if (tag > UINT32_MAX || tag >> 3 == 0) return broken(reader);
    *ret = (struct wire_field){.number = (uint32_t)tag >> 3, .type = (enum wire_type)(tag & 7)};
    switch (ret->type) {
    case WIRE_VARINT:
        return reader_varint(reader, &ret->value);
    case WIRE_FIXED64:
        return read_fixed(reader, 8, &ret->value);
    case WIRE_BYTES:
        return read_bytes(reader, &ret->bytes);
    case WIRE_FIXED32:
        return read_fixed(reader, 4, &ret->value);
    }
    return broken(reader);
}

size_t reader_count(struct span span, uint32_t number) {
    struct reader reader = reader_over(span);
    struct wire_field field;
    size_t count = 0;
    while (reader_next(&reader, &field)) count += field.number == number;
    return count;
}
