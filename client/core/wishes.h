/* The tensors that a pull asks for, checked before anything is sent. Strings and memory stay the caller's. */
#ifndef STAGEWIRE_CLIENT_CORE_WISHES_H
#define STAGEWIRE_CLIENT_CORE_WISHES_H

#include <stagewire/client.h>

#include "client/core/names.h"
#include "proto/wire/messages.h"

struct wishes {
    const sw_tensor_request *requests; /* a copy of the array; names too */
    uint32_t count;                    /* 0: every tensor, whole */
    struct names by_name;
    struct arena arena;
};

/* MALFORMED with the path (`tensors[2].name`) for a name that no tensor can have, or that is there twice. */
sw_status wishes_init(struct wishes *wishes, const sw_tensor_request *requests, uint32_t count,
                      sw_error *error);
void wishes_destroy(struct wishes *wishes);

/* Whether the manifest has what is wished for, in the size of the memory that was given for it:
 * NO_SUCH_TENSOR, or INVALID_ARGUMENT that says how they differ. */
sw_status wishes_fit(const struct wishes *wishes, const struct manifest *manifest, sw_error *error);

#endif
