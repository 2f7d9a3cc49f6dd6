/* Releasing: a consumer is done with every step below. It applies on arrival, never goes back, and may be
 * ahead of the latest. */
#include "service/store/internal.h"
#include "service/store/words.h"

void release_apply(struct store *store, const struct channel_key *key, uint64_t generation,
                   const struct consumer_request *consumer) {
    if (!consumer->id || consumer->id[0] == '\0') return;
    if (generation != 0 && generation != store->generation) return;
    struct store_channel *channel = channel_find(store, key);
    if (channel) keep_release(store, channel, consumer);
}

sw_status store_release(struct store *store, const struct release_request *request, sw_error *error) {
    const sw_address *address = &request->address;
    struct subject subject = {*address, request->kind, ABOUT_CHANNEL};
    struct channel_key key = {0, address->group, request->kind, address->channel};
    if (store_is_other_run(store, address->run_id)) return say_other_run(store, &subject, error);
    if (address->generation != 0 && address->generation < store->generation)
        return say_superseded(store, &subject, error);
    sw_status status = channel_settle_stage(store, address, request->kind, &key.stage, error);
    if (status != SW_OK) return status;
    for (uint32_t i = 0; i < request->consumer_count; i++)
        release_apply(store, &key, address->generation, &request->consumers[i]);
    return SW_OK;
}
