/* Looks through a message before protobuf-c unpacks it, along its description and without recursion: whether
 * all of it is protobuf, each field of its own type, numbers within their type, strings UTF-8 without NUL,
 * and how many fields there are. What passes costs protobuf-c memory in proportion, and fails for memory
 * alone. */
#ifndef STAGEWIRE_WIRE_SCAN_H
#define STAGEWIRE_WIRE_SCAN_H

#include <stdbool.h>

#include <protobuf-c/protobuf-c.h>

#include <stagewire/status.h>

#include "proto/wire/arena.h"
#include "proto/wire/reader.h"

/* MALFORMED with the path. */
sw_status scan_message(const ProtobufCMessageDescriptor *descriptor, struct span message, sw_error *error);

/* Takes the field that holds a value out, which has a decoder of its own: *ret_rest is the message without
 * it. MALFORMED if it is there twice, or is no message; `name` is its path. */
sw_status scan_take(struct span message, uint32_t number, const char *name, struct arena *arena,
                    bool *ret_there, struct span *ret_taken, struct span *ret_rest, sw_error *error);

#endif
