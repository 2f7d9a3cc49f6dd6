#include "service/rpc/endpoint_lease.h"

#include <stdlib.h>

#include "proto/base/error.h"
#include "service/rpc/local_publish.h"

struct endpoint_lease {
    sw_lease lease;
    sw_endpoint *endpoint; /* NULL once it has closed; under `endpoints` */
    struct list link;
    struct store_lease held;

    /* under the endpoint's lock while there is one */
    bool has_ended;
    sw_error why;
};

/* A lease may be released while its endpoint closes: whoever looks from one to the other holds this, before
 * the endpoint's own lock. */
static pthread_mutex_t endpoints = PTHREAD_MUTEX_INITIALIZER;

static void end_with(struct endpoint_lease *lease, const sw_error *why) {
    if (lease->has_ended) return;
    lease->has_ended = true;
    lease->why = *why;
}

static void on_ended(struct store_lease *held, const sw_error *why) {
    end_with(container_of(held, struct endpoint_lease, held), why);
}

static void on_granted(struct store_lease *held) {
    (void)held; /* it is granted at once: who is in the process may publish */
}

static void unlink_lease(struct endpoint_lease *lease) {
    struct guard *guard = &lease->endpoint->guard;
    store_detach(guard_lock(guard), &lease->held);
    list_remove(&lease->link);
    guard_unlock_changed(guard);
    lease->endpoint = NULL;
}

static void release(sw_lease *base) {
    struct endpoint_lease *lease = container_of(base, struct endpoint_lease, lease);
    if (loop_forked()) return;
    pthread_mutex_lock(&endpoints);
    if (lease->endpoint) unlink_lease(lease);
    pthread_mutex_unlock(&endpoints);
    free(lease);
}

static sw_status check(sw_lease *base, sw_error *error) {
    struct endpoint_lease *lease = container_of(base, struct endpoint_lease, lease);
    if (loop_forked()) {
        return error_set_code(error, SW_FAILED_PRECONDITION, SW_REASON_NONE,
                              "this lease belongs to the process that this one was forked from");
    }
    pthread_mutex_lock(&endpoints);
    sw_endpoint *endpoint = lease->endpoint;
    if (endpoint) guard_lock(&endpoint->guard);
    sw_status status = lease->has_ended ? lease->why.code : SW_OK;
    if (lease->has_ended && error) *error = lease->why;
    if (endpoint) guard_unlock(&endpoint->guard);
    pthread_mutex_unlock(&endpoints);
    return status;
}

static const sw_lease_ops ops = {.release = release, .check = check};

/* It is granted at once, so the attachment need not outlive this. */
static sw_status hold(struct endpoint_lease *lease, const sw_attachment *attachment, sw_error *error) {
    bool pending;
    struct guard *guard = &lease->endpoint->guard;
    lease->held = (struct store_lease){.granted = on_granted, .ended = on_ended};
    sw_status status = store_attach(guard_lock(guard), &lease->held, attachment, true, &pending, error);
    if (status == SW_OK) list_append(&lease->endpoint->leases, &lease->link);
    guard_unlock_changed(guard);
    return status;
}

sw_status endpoint_attach(sw_publisher *publisher, const sw_attachment *attachment, int64_t timeout_ms,
                          sw_lease **ret_lease, uint64_t *ret_generation, sw_error *error) {
    struct local_publish local;
    sw_status status = local_publish_begin(&local, publisher, timeout_ms, error);
    if (status != SW_OK) return status;
    struct endpoint_lease *lease = calloc(1, sizeof *lease);
    if (!lease) {
        status = error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory for a lease");
        return local_publish_end(&local, status);
    }
    lease->lease.ops = &ops;
    lease->endpoint = local.endpoint;
    status = attach_request_check(attachment, error);
    if (status == SW_OK) status = hold(lease, attachment, error);
    if (status != SW_OK) {
        free(lease);
        return local_publish_end(&local, status);
    }
    *ret_lease = &lease->lease;
    if (ret_generation) *ret_generation = lease->held.generation;
    return local_publish_end(&local, SW_OK);
}

void endpoint_leases_end(sw_endpoint *endpoint) {
    sw_error why;
    error_set(&why, SW_REASON_SHUTTING_DOWN, "the endpoint was closed");
    pthread_mutex_lock(&endpoints);
    while (!list_empty(&endpoint->leases)) {
        struct endpoint_lease *lease = container_of(endpoint->leases.next, struct endpoint_lease, link);
        end_with(lease, &why);
        unlink_lease(lease);
    }
    pthread_mutex_unlock(&endpoints);
}
