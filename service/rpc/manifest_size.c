#include "service/rpc/manifest_size.h"

/* What a response holds beyond the request: run, numbers of the address, time and pin, all at their longest.
 */
#define RESPONSE_EXTRA (SW_RUN_ID_MAX + 64)
#define DIGEST_EXTRA   9 /* a tensor each */

bool manifest_fits_response(const struct manifest *manifest) {
    sw_buffer *encoded;
    if (manifest_encode(manifest, &encoded, NULL) != SW_OK) return false;
    size_t size = sw_buffer_size(encoded) + RESPONSE_EXTRA + (size_t)manifest->tensor_count * DIGEST_EXTRA;
    sw_buffer_unref(encoded);
    return size <= SW_MESSAGE_MAX;
}
