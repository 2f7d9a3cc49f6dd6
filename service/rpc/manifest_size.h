/* Whether a manifest fits a message once it is whole. */
#ifndef STAGEWIRE_SERVICE_MANIFEST_SIZE_H
#define STAGEWIRE_SERVICE_MANIFEST_SIZE_H

#include "proto/wire/messages.h"

/* Whether the manifest, as those who pull will get it (address resolved, digests known), fits a message. */
bool manifest_fits_response(const struct manifest *manifest);

#endif
