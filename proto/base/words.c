#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/error.h"
#include "proto/base/text.h"

const char *item_kind_name(sw_item_kind kind) {
    switch (kind) {
    case SW_METRICS:
        return "metrics";
    case SW_TENSORS:
        return "tensors";
    case SW_OBJECT:
        return "object";
    }
    return "channel";
}

static void put_pair(struct text *text, const char *word, uint64_t number) {
    if (text->size > 0) text_put(text, ", ");
    text_put(text, word);
    text_put(text, " ");
    text_put_unsigned(text, number);
}

const char *address_in_words(char *out, size_t size, const sw_address *address, sw_item_kind kind) {
    struct text text;
    text_init(&text, out, size);
    if (address->has_stage) put_pair(&text, "stage", address->stage);
    put_pair(&text, "group", address->group);
    if (address->channel && address->channel[0]) {
        text_put(&text, ", ");
        text_put(&text, item_kind_name(kind));
        text_put(&text, " ");
        text_put_json(&text, address->channel, strlen(address->channel), SW_CHANNEL_MAX);
    }
    put_pair(&text, "step", address->step);
    put_pair(&text, "call", address->call);
    if (address->generation > 0) put_pair(&text, "generation", address->generation);
    return out;
}
