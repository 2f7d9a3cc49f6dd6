#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/rpc/held.h"
#include "client/rpc/publisher.h"
#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/transport/slices.h"

struct lease {
    sw_lease lease;
    struct held held;
    struct arena arena;
    sw_attachment attachment;    /* in the arena */
    sw_channel_policy *policies; /* the attachment's */
    bool is_counted;             /* among the client's */
    char words[96];
};

static struct lease *lease_of(struct held *held) {
    return container_of(held, struct lease, held);
}

static const char *lease_words(struct held *held) {
    return lease_of(held)->words;
}

/* ---- the stream ---- */

/* An endpoint that was started anew learns here what was published before. */
static void raise_next_steps(struct lease *lease) {
    const sw_attachment *attachment = &lease->attachment;
    for (uint32_t i = 0; i < attachment->policy_count; i++) {
        sw_channel_policy *policy = &lease->policies[i];
        uint64_t step = published_step(&lease->held.client->published, attachment->stage, attachment->group,
                                       policy->channel, policy->kind);
        if (step > policy->next_step) policy->next_step = step;
    }
}

static sw_status lease_request(struct held *held, sw_buffer **ret_request, sw_error *error) {
    struct lease *lease = lease_of(held);
    if (held->state == HELD_BROKEN) raise_next_steps(lease);
    return attach_request_encode(&lease->attachment, ret_request, error);
}

static sw_status unreadable(struct held *held, const sw_error *why, sw_error *error) {
    return error_set_code(error, SW_DATA_LOSS, SW_REASON_NONE, "%s: the answer of %s is not readable: %s",
                          lease_words(held), held->client->endpoint, why->message);
}

/* What the client publishes from now on is of this generation: an endpoint that was started anew doesn't take
 * it before it has the lease, and with it the policies. */
static void count(struct lease *lease, uint64_t generation) {
    sw_client *client = lease->held.client;
    lease->is_counted = true;
    client->leases++;
    if (generation > atomic_load(&client->attached_generation))
        atomic_store(&client->attached_generation, generation);
}

static void lease_ended(struct held *held) {
    sw_client *client = held->client;
    if (lease_of(held)->is_counted && --client->leases == 0) atomic_store(&client->attached_generation, 0);
}

/* Once it stands it stands in one generation: taken up again, it must not slip into a newer one. */
static sw_status lease_message(struct held *held, grpc_byte_buffer *message, sw_error *error) {
    struct message_flat flat;
    sw_status status = message_flatten(message, &flat, error);
    if (status != SW_OK) return status;
    uint64_t generation;
    sw_error why = {0};
    status = attach_response_decode(flat.data, flat.size, &generation, &why);
    message_flat_free(&flat);
    if (status != SW_OK) return unreadable(held, &why, error);
    if (held->state == HELD_STARTING) {
        lease_of(held)->attachment.generation = generation;
        count(lease_of(held), generation);
    }
    published_generation(&held->client->published, generation);
    held_stands(held);
    return SW_OK;
}

static const struct held_ops lease_stream = {
    .method = "/stagewire.v1.StageService/Attach",
    .words = lease_words,
    .request = lease_request,
    .message = lease_message,
    .ended = lease_ended,
};

/* ---- the attachment, kept for taking it up again ---- */

static bool copy_text(struct arena *arena, const char *text, const char **ret) {
    *ret = arena_string(arena, text ? text : "", text ? strlen(text) : 0);
    return *ret != NULL;
}

static bool copy_policy(struct arena *arena, const sw_channel_policy *policy, sw_channel_policy *ret) {
    *ret = *policy;
    const char **consumers = arena_get(arena, policy->consumer_count * sizeof *consumers);
    if (!consumers || !copy_text(arena, policy->channel, &ret->channel)) return false;
    for (uint32_t i = 0; i < policy->consumer_count; i++)
        if (!copy_text(arena, policy->consumers[i], &consumers[i])) return false;
    ret->consumers = consumers;
    return true;
}

static bool copy_attachment(struct lease *lease, const sw_attachment *attachment) {
    struct arena *arena = &lease->arena;
    lease->attachment = *attachment;
    lease->policies = arena_get(arena, attachment->policy_count * sizeof *lease->policies);
    if (!lease->policies || !copy_text(arena, attachment->run_id, &lease->attachment.run_id)) return false;
    for (uint32_t i = 0; i < attachment->policy_count; i++)
        if (!copy_policy(arena, &attachment->policies[i], &lease->policies[i])) return false;
    lease->attachment.policies = lease->policies;
    return true;
}

/* ---- what the caller has ---- */

static void free_lease(struct lease *lease) {
    arena_destroy(&lease->arena);
    free(lease);
}

static void lease_release(sw_lease *base) {
    struct lease *lease = container_of(base, struct lease, lease);
    if (loop_forked()) return; /* the thread that also holds it is not here */
    held_close(&lease->held);
    free_lease(lease);
}

static sw_status lease_check(sw_lease *base, sw_error *error) {
    return held_check(&container_of(base, struct lease, lease)->held, error);
}

static const sw_lease_ops lease_ops = {lease_release, lease_check};

static struct lease *make(const sw_client *client, const sw_attachment *attachment) {
    struct lease *lease = calloc(1, sizeof *lease);
    if (!lease) return NULL;
    lease->lease.ops = &lease_ops;
    arena_init(&lease->arena, &allocator_system, LIMIT_DECODE_BYTES);
    if (!copy_attachment(lease, attachment)) {
        free_lease(lease);
        return NULL;
    }
    if (!lease->attachment.run_id[0]) lease->attachment.run_id = client->run_id;
    snprintf(lease->words, sizeof lease->words, "the lease of stage %u, group %u", attachment->stage,
             attachment->group);
    return lease;
}

sw_status attach_call(sw_publisher *publisher, const sw_attachment *attachment, int64_t timeout_ms,
                      sw_lease **ret_lease, uint64_t *ret_generation, sw_error *error) {
    sw_client *client = client_of_publisher(publisher);
    struct lease *lease = make(client, attachment);
    if (!lease) return error_no_memory(error);
    sw_status status = held_open(&lease->held, &lease_stream, client, timeout_ms, error);
    if (status != SW_OK) {
        free_lease(lease);
        return status;
    }
    if (ret_generation) *ret_generation = lease->attachment.generation;
    *ret_lease = &lease->lease;
    return SW_OK;
}
