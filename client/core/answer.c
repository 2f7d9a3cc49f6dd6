#include "client/core/answer.h"

#include <string.h>

#include "proto/base/error.h"

static const char *text_or_empty(const char *text) {
    return text ? text : "";
}

bool answer_fits(const sw_address *asked, bool latest, const sw_address *answered) {
    return answered->has_stage && answered->generation > 0 &&
           (!asked->has_stage || asked->stage == answered->stage) &&
           (asked->generation == 0 || asked->generation == answered->generation) &&
           asked->group == answered->group &&
           strcmp(text_or_empty(asked->channel), text_or_empty(answered->channel)) == 0 &&
           (latest || (asked->step == answered->step && asked->call == answered->call));
}

bool address_same_item(const sw_address *a, const sw_address *b) {
    return a->generation == b->generation && a->has_stage == b->has_stage && a->stage == b->stage &&
           a->group == b->group && a->step == b->step && a->call == b->call &&
           strcmp(text_or_empty(a->channel), text_or_empty(b->channel)) == 0;
}

sw_status answer_broken(sw_error *error, const sw_address *asked, sw_item_kind kind, const char *what,
                        const sw_error *why) {
    char words[ADDRESS_WORDS_MAX];
    return error_set(error, SW_REASON_CHECKSUM,
                     "%s: %s%s%s; it was damaged on the way, or the endpoint is not one of stagewire's: pull "
                     "it again",
                     address_in_words(words, sizeof words, asked, kind), what, why ? ": " : "",
                     why ? why->message : "");
}
