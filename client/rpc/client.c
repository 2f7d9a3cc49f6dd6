#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/core/endpoint_name.h"
#include "client/core/retry.h"
#include "client/rpc/client_struct.h"
#include "client/rpc/shared_loop.h"
#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/base/sized.h"

#define ENDPOINT_GRACE_MS 30000

void sw_client_options_init_sized(sw_client_options *options, size_t size) {
    const sw_client_options defaults = {.timeout_ms = SW_TIMEOUT_DEFAULT_MS,
                                        .endpoint_grace_ms = ENDPOINT_GRACE_MS};
    sized_init(options, size, &defaults, sizeof defaults);
}

static sw_status check_options(const sw_client_options *options, sw_error *error) {
    if (options->run_id && strlen(options->run_id) > SW_RUN_ID_MAX)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "run_id is longer than %d bytes",
                              SW_RUN_ID_MAX);
    if (options->consumer_id && strlen(options->consumer_id) > LIMIT_CONSUMER_ID)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "consumer_id is longer than %u bytes", LIMIT_CONSUMER_ID);
    if (options->timeout_ms <= 0)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "timeout_ms is %lld; it must be more than 0 (sw_client_options_init sets the "
                              "default)",
                              (long long)options->timeout_ms);
    if (options->endpoint_grace_ms < 0)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "endpoint_grace_ms is %lld; it must not be negative",
                              (long long)options->endpoint_grace_ms);
    if (options->connections > LINK_CONNECTIONS_MAX)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "connections is %u; it may be 1 to %u, or 0 for up to %u", options->connections,
                              LINK_CONNECTIONS_MAX, LINK_CONNECTIONS);
    return SW_OK;
}

static void free_client(sw_client *client) {
    if (client->endpoint) hand_over_fini(&client->hand_over);
    published_destroy(&client->published);
    released_destroy(&client->released);
    pthread_cond_destroy(&client->quiet);
    pthread_mutex_destroy(&client->lock);
    free(client->endpoint);
    free(client->run_id);
    free(client->consumer_id);
    free(client);
}

static sw_client *make_client(const char *endpoint, const sw_client_options *options) {
    sw_client *client = calloc(1, sizeof *client);
    if (!client) return NULL;
    client->timeout_ms = options->timeout_ms;
    client->endpoint_grace_ms = options->endpoint_grace_ms;
    client->gone_since_ms = CLOCK_NEVER;
    client->random = (uint32_t)clock_system.unix_ns(NULL) ^ (uint32_t)(uintptr_t)client;
    client->publisher.ops = &publisher_over_rpc;
    list_init(&client->members);
    released_init(&client->released, &allocator_system);
    published_init(&client->published, &allocator_system);
    pthread_mutex_init(&client->lock, NULL);
    pthread_cond_init(&client->quiet, NULL);
    client->endpoint = strdup(endpoint);
    client->run_id = strdup(options->run_id ? options->run_id : "");
    client->consumer_id = strdup(options->consumer_id ? options->consumer_id : "");
    unsigned most = options->connections ? options->connections : LINK_CONNECTIONS;
    link_init(&client->link, endpoint_name_is_unix(endpoint) ? 1 : most);
    if (client->endpoint) hand_over_init(&client->hand_over, client->endpoint);
    if (client->endpoint && client->run_id && client->consumer_id) return client;
    free_client(client);
    return NULL;
}

static sw_status open_client(const char *endpoint, const sw_client_options *options, sw_client **ret_client,
                             sw_error *error) {
    char target[ENDPOINT_NAME_MAX];
    sw_status status = endpoint_name_target(endpoint, target, sizeof target, error);
    if (status == SW_OK) status = check_options(options, error);
    if (status != SW_OK) return status;
    sw_client *client = make_client(endpoint, options);
    if (!client) return error_no_memory(error);
    status = shared_loop_get(&client->loop, error);
    if (status != SW_OK) goto fail_loop;
    status = connection_open(&client->connection, endpoint, target, options, client->loop, error);
    if (status != SW_OK) goto fail_connection;
    *ret_client = client;
    return SW_OK;

fail_connection:
    shared_loop_put(client->loop);
fail_loop:
    free_client(client);
    return status;
}

sw_status sw_client_open(const char *endpoint, const sw_client_options *options, sw_client **ret_client,
                         sw_error *error) {
    sw_client_options known;
    sw_client_options_init(&known);
    sw_status status = SW_OK;
    if (options) status = sized_read(options, &known, sizeof known, "sw_client_options_init", error);
    return status == SW_OK ? open_client(endpoint, &known, ret_client, error) : status;
}

/* ---- closing ---- */

static void tell_quiet(sw_client *client) {
    hand_over_fini(&client->hand_over);
    connection_end(&client->connection);
    pthread_mutex_lock(&client->lock);
    client->is_quiet = true;
    pthread_cond_signal(&client->quiet);
    pthread_mutex_unlock(&client->lock);
}

static void run_close(struct op *op, bool ok) {
    (void)ok;
    sw_client *client = container_of(op, sw_client, close_op);
    client->is_closing = true;
    if (list_empty(&client->members)) {
        tell_quiet(client);
        return;
    }
    list_each_safe(link, &client->members) {
        struct member *member = container_of(link, struct member, link);
        member->cancel(member);
    }
}

void sw_client_close(sw_client *client) {
    /* A forked child has the memory and none of the threads: what there is stays. */
    if (!client || loop_forked()) return;
    connection_stop(&client->connection);
    client->close_op.run = run_close;
    loop_post(client->loop, &client->close_op);
    pthread_mutex_lock(&client->lock);
    while (!client->is_quiet) pthread_cond_wait(&client->quiet, &client->lock);
    pthread_mutex_unlock(&client->lock);
    shared_loop_put(client->loop);
    connection_free(&client->connection);
    free_client(client);
}

bool client_enter(sw_client *client, struct member *member) {
    if (client->is_closing) return false;
    list_append(&client->members, &member->link);
    return true;
}

void client_leave(sw_client *client, struct member *member) {
    list_remove(&member->link);
    if (client->is_closing && list_empty(&client->members)) tell_quiet(client);
}

/* ---- what the others ask of it ---- */

sw_status client_check(const sw_client *client, sw_error *error) {
    if (loop_forked())
        return error_set_code(error, SW_FAILED_PRECONDITION, SW_REASON_NONE,
                              "this process was forked after the client was opened; exec, or fork before");
    if (loop_is_current(client->loop))
        return error_set_code(
            error, SW_FAILED_PRECONDITION, SW_REASON_NONE,
            "a release function runs where the clients' work is done and may not call one of them");
    return SW_OK;
}

sw_status client_deadline(const sw_client *client, int64_t timeout_ms, int64_t *ret_deadline_ms,
                          sw_error *error) {
    if (timeout_ms < 0)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "timeout_ms is %lld; it must not be negative", (long long)timeout_ms);
    int64_t left = timeout_ms > 0 ? timeout_ms : client->timeout_ms;
    *ret_deadline_ms = clock_after(loop_now_ms(client->loop), left);
    return SW_OK;
}

void client_reached(sw_client *client) {
    client->reached_once = true;
    client->gone_since_ms = CLOCK_NEVER;
}

void client_ended(sw_client *client, const sw_error *error) {
    bool is_gone = retry_nobody_answered(error->code, error->reason);
    if (is_gone && client->gone_since_ms == CLOCK_NEVER) client->gone_since_ms = loop_now_ms(client->loop);
}

void client_say_lost(const sw_client *client, sw_error *error) {
    error_set(error, SW_REASON_ENDPOINT_LOST,
              "%s was reached before and is gone for %" PRId64 " ms, which is the endpoint grace of %" PRId64
              " ms or more; see what became of it: %s",
              client->endpoint, loop_now_ms(client->loop) - client->gone_since_ms, client->endpoint_grace_ms,
              error->message);
}

uint32_t client_random(sw_client *client) {
    client->random = client->random * 1664525u + 1013904223u;
    return client->random >> 8;
}

sw_publisher *sw_client_publisher(sw_client *client) {
    return &client->publisher;
}
