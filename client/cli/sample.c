#include "client/cli/sample.h"

#include <stdlib.h>

#include "client/cli/memory.h"

const sw_channel_info *sample_channel(const sw_info *info) {
    const sw_channel_info *largest = NULL;
    for (uint32_t i = 0; i < info->channel_count; i++) {
        const sw_channel_info *channel = &info->channels[i];
        if (channel->kind != SW_TENSORS || !channel->has_items) continue;
        if (!largest || channel->held_bytes > largest->held_bytes) largest = channel;
    }
    return largest;
}

struct sample sample_choose(const sw_tensors *manifest, uint64_t most) {
    uint32_t count = sw_tensors_count(manifest);
    struct sample sample = {.requests = memory_check(calloc((size_t)count + 1, sizeof *sample.requests))};
    for (uint32_t i = 0; i < count; i++) {
        size_t size = sw_tensors_view(manifest, i)->size;
        if (size > most - sample.bytes) continue;
        sample.requests[sample.count++].name = sw_tensors_name(manifest, i);
        sample.bytes += size;
    }
    return sample;
}
