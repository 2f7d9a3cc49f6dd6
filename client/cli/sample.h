/* What of an endpoint's tensors to pull in order to measure. */
#ifndef STAGEWIRE_CLIENT_CLI_SAMPLE_H
#define STAGEWIRE_CLIENT_CLI_SAMPLE_H

#include <stagewire/client.h>

/* The channel that holds most bytes of tensors, or NULL. */
const sw_channel_info *sample_channel(const sw_info *info);

/* Tensors of an item: each that still fits into `most` bytes together, in their order. Names are the
 * manifest's, and the requests the caller's to free. */
struct sample {
    sw_tensor_request *requests;
    uint32_t count;
    uint64_t bytes;
};
struct sample sample_choose(const sw_tensors *manifest, uint64_t most);

#endif
