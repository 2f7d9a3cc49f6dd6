#include "client/rpc/pull.h"

#include "client/rpc/release.h"

void pull_init(struct pull *pull, const sw_pull *asked) {
    *pull = (struct pull){.latest = asked->latest, .no_wait = asked->no_wait, .keep = asked->keep};
}

void pull_begin(struct pull *pull, struct sw_call *call) {
    sw_client *client = call->client;
    if (!client->consumer_id[0]) return;
    released_begin(&client->released, &pull->ticket, &call->address, call->kind, pull->latest, pull->keep);
    pull->release_below = released_below(&client->released, &pull->ticket);
    struct released_channel *cursor = NULL;
    sw_address address;
    uint64_t below;
    while (released_next(&client->released, &pull->ticket, &cursor, &address, &below))
        release_alone(client, &address, call->kind, below);
}

/* A step that failed is over as well as one that arrived: nobody needs it. */
void pull_done(struct pull *pull, struct sw_call *call, const sw_error *error, const sw_address *arrived) {
    if (!arrived && error->reason == SW_REASON_STEP_FAILED) arrived = &call->address;
    released_end(&call->client->released, &pull->ticket, arrived);
}

struct pull_request pull_request_of(const struct pull *pull, const struct sw_call *call, int64_t left_ms) {
    return (struct pull_request){
        .address = call->address,
        .latest = pull->latest,
        .wait = {.no_wait = pull->no_wait, .wait_ms = left_ms < UINT32_MAX ? (uint32_t)left_ms : UINT32_MAX},
        .consumer = {.id = call->client->consumer_id,
                     .release_below = pull->release_below,
                     .ends_pins = true},
    };
}
