#include "client/cli/demo/digest.h"

#include <inttypes.h>
#include <stdio.h>

#include <xxhash.h>

#include "proto/wire/value_codec.h"

struct running_digest *running_digest_create(void) {
    XXH3_state_t *state = XXH3_createState();
    if (state) XXH3_128bits_reset(state);
    return (struct running_digest *)state;
}

static XXH3_state_t *state_of(struct running_digest *digest) {
    return (XXH3_state_t *)digest;
}

void running_digest_destroy(struct running_digest *digest) {
    XXH3_freeState(state_of(digest));
}

static void add_number(struct running_digest *digest, uint64_t number) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(number >> 8 * i);
    XXH3_128bits_update(state_of(digest), bytes, sizeof bytes);
}

void running_digest_metrics(struct running_digest *digest, uint64_t step, const sw_value *metrics) {
    struct digest value = value_digest(metrics);
    add_number(digest, step);
    add_number(digest, value.low);
    add_number(digest, value.high);
}

void running_digest_tensor(struct running_digest *digest, uint64_t step, const sw_tensor_view *view) {
    add_number(digest, step);
    add_number(digest, view->dtype);
    add_number(digest, view->rank);
    for (uint32_t i = 0; i < view->rank; i++) add_number(digest, (uint64_t)view->shape[i]);
    XXH3_128bits_update(state_of(digest), view->data, view->size);
}

void running_digest_text(const struct running_digest *digest, char ret_text[DIGEST_TEXT_SIZE]) {
    XXH128_hash_t hash = XXH3_128bits_digest((const XXH3_state_t *)digest);
    snprintf(ret_text, DIGEST_TEXT_SIZE, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
             (uint64_t)hash.low64);
}
