#include "client/pipeline/marker.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const names[PIPELINE_KINDS] = {
    [SW_METRICS] = "metrics",
    [SW_TENSORS] = "tensors",
    [SW_OBJECT] = "objects",
};

sw_value marker_write(const uint32_t calls[PIPELINE_KINDS], sw_entry entries[MARKER_ENTRIES]) {
    for (int kind = 1; kind < PIPELINE_KINDS; kind++)
        entries[kind - 1] = (sw_entry){sw_text_of(names[kind]), sw_integer(calls[kind])};
    return sw_dict(entries, MARKER_ENTRIES);
}

bool marker_read(const sw_value *value, uint32_t ret_calls[PIPELINE_KINDS]) {
    uint32_t calls[PIPELINE_KINDS] = {0};
    for (int kind = 1; kind < PIPELINE_KINDS; kind++) {
        const sw_value *count = sw_dict_get(value, names[kind]);
        if (!count || count->kind != SW_VALUE_INTEGER) return false;
        if (count->integer < 0 || count->integer > UINT32_MAX) return false;
        calls[kind] = (uint32_t)count->integer;
    }
    for (int kind = 1; kind < PIPELINE_KINDS; kind++) ret_calls[kind] = calls[kind];
    return true;
}

bool marker_compare(const uint32_t here[PIPELINE_KINDS], const uint32_t there[PIPELINE_KINDS], char *text,
                    size_t size) {
    size_t used = 0;
    text[0] = 0;
    for (int kind = 1; kind < PIPELINE_KINDS; kind++) {
        if (here[kind] == there[kind] || used >= size) continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s %" PRIu32 " against %" PRIu32,
                                 used ? ", " : "", names[kind], here[kind], there[kind]);
    }
    return text[0] != 0;
}
