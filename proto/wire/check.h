/* The rules of names and numbers in requests, each once. Errors are MALFORMED with the path that was handed
 * in. */
#ifndef STAGEWIRE_WIRE_CHECK_H
#define STAGEWIRE_WIRE_CHECK_H

#include <stagewire/address.h>

#include "proto/base/allocator.h"
#include "proto/wire/malformed.h"

enum check_needs {
    CHECK_CHANNEL = 1 << 0,    /* a channel must be named; else it may be empty */
    CHECK_STAGE = 1 << 1,      /* a stage must be named */
    CHECK_STEP = 1 << 2,       /* the step counts; else it is ignored */
    CHECK_GENERATION = 1 << 3, /* a generation must be named */
};

/* `path` is that of the address itself. */
sw_status check_address(const sw_address *address, unsigned needs, const struct path *path, sw_error *error);

sw_status check_run_id(const char *run_id, const struct path *path, sw_error *error);
sw_status check_channel(const char *channel, const struct path *path, sw_error *error);
sw_status check_kind(int kind, const struct path *path, sw_error *error);
sw_status check_stage_count(uint32_t stage, uint32_t stage_count, const struct path *stage_path,
                            const struct path *count_path, sw_error *error);

/* UTF-8 of at least `least` and at most `most` bytes; `what` in words: "a consumer's id". */
sw_status check_text(const char *text, size_t least, size_t most, const char *what, const struct path *path,
                     sw_error *error);

#endif
