/* What all decoders and encoders share. */
#ifndef STAGEWIRE_WIRE_DECODE_H
#define STAGEWIRE_WIRE_DECODE_H

#include <stagewire/status.h>

#include "proto/wire/arena.h"

/* After the arena gave NULL: TOO_LARGE where its budget ended, else LIMIT "memory". */
sw_status decode_out_of_memory(const struct arena *arena, sw_error *error);

#endif
