/* How large a tensor publish is, before it is taken. */
#ifndef STAGEWIRE_SERVICE_MANIFEST_SIZE_H
#define STAGEWIRE_SERVICE_MANIFEST_SIZE_H

#include "proto/wire/messages.h"

/* The sum of all byte_length; UINT64_MAX where that overflows. */
uint64_t manifest_bytes(const struct manifest *manifest);

/* Whether the manifest, as those who pull will get it (address resolved, digests known), fits a message. */
bool manifest_fits_response(const struct manifest *manifest);

#endif
