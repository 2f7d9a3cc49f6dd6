/* Between the generated types of protobuf-c and the plain structs. */
#ifndef STAGEWIRE_WIRE_PB_H
#define STAGEWIRE_WIRE_PB_H

#include <stagewire/v1/stage.pb-c.h>

#include <stagewire/address.h>
#include <stagewire/buffer.h>

#include "proto/wire/decode.h"
#include "proto/wire/malformed.h"
#include "proto/wire/reader.h"
#include "proto/wire/scan.h"

/* Scans, then unpacks into the arena; strings of the result live there (or are static). */
sw_status pb_unpack(const ProtobufCMessageDescriptor *descriptor, struct span message, struct arena *arena,
                    ProtobufCMessage **ret, sw_error *error);

/* A buffer with the packed message. */
sw_status pb_pack(const ProtobufCMessage *message, sw_buffer **ret, sw_error *error);

/* protobuf-c's strings are not const, and never NULL. */
static inline char *pb_text(const char *text) {
    return (char *)(text ? text : "");
}

static inline struct span span_of(const void *data, size_t size) {
    return (struct span){size > 0 ? data : (const void *)"", size};
}

/* Memory for encoding `count` messages of one type, and the array of pointers that protobuf-c wants;
 * *ret_first is NULL where count is 0. False without memory. */
bool pb_array(struct arena *arena, size_t count, size_t size, void **ret_first, void ***ret_pointers);

void pb_from_address(Stagewire__V1__Address *to, const sw_address *from);
/* All zero where `from` is NULL. */
sw_address pb_to_address(const Stagewire__V1__Address *from);

#endif
