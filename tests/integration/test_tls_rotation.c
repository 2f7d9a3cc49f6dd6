/* Server, client and CA certificates are replaced three times under load, also with a half-written pair in
 * between: no call fails, and a watch goes on. So does a pull over several connections. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/rpc/client_struct.h"
#include "tests/support/relay.h"
#include "tests/support/test.h"
#include "tests/support/tls_stand.h"

#define ROTATIONS 3
#define PULLS     1000
#define AHEAD     100 /* steps that are published before the watch tells of them */

static struct stand stand;
static atomic_uint pulls, failures;
static atomic_bool over, watch_over;
static atomic_ullong watched; /* the last step of which the watch told */
static sw_error first_failure;

static void setup(void) {
    stand_open(&stand, false);
}
static void teardown(void) {
    stand_close(&stand);
}
TestSuite(tls_rotation, .init = setup, .fini = teardown, .timeout = 120);

/* ---- load ---- */

static void note(sw_status status, const sw_error *error) {
    if (status != SW_OK && atomic_fetch_add(&failures, 1) == 0) first_failure = *error;
}

/* Each pull must do with its first try: a retry would hide what is to be seen, so the deadline is short. */
static void pull_latest(sw_client *client) {
    const sw_pull pull = {
        .address = {.channel = "train"}, .latest = true, .no_wait = true, .timeout_ms = 5000};
    sw_metrics *metrics;
    sw_error error;
    sw_status status = sw_client_get_metrics(client, &pull, &metrics, &error);
    note(status, &error);
    if (status == SW_OK) sw_metrics_destroy(metrics);
    atomic_fetch_add(&pulls, 1);
}

/* By one client that stays, and now and then by a new one, which must shake hands with what is there. */
static void *pull_on(void *context) {
    (void)context;
    sw_client *stays = stand_client(&stand);
    for (unsigned i = 0; !atomic_load(&over) || atomic_load(&pulls) < PULLS; i++) pull_latest(stays);
    sw_client_close(stays);
    return NULL;
}

static void *connect_on(void *context) {
    (void)context;
    while (!atomic_load(&over)) {
        sw_client_options options = stand_options(&stand);
        sw_client *new;
        sw_error error;
        /* Its own files may be half written right now, which is said at once and is no failed call. */
        if (sw_client_open(stand.target, &options, &new, &error) != SW_OK) continue;
        pull_latest(new);
        sw_client_close(new);
    }
    return NULL;
}

/* Not further ahead of the watch than what is held: what went before it was told would rightly be a gap. */
static void *publish_on(void *context) {
    uint64_t *published = context;
    sw_error error;
    while (!atomic_load(&watch_over)) { /* it ends with an event */
        if (*published - atomic_load(&watched) < AHEAD)
            note(bench_publish_by(stand.local, "train", ++*published, 7, &error), &error);
        pull_latest(stand.local);
    }
    return NULL;
}

/* ---- a stream ---- */

static void follow(sw_watch *watch) {
    sw_watch_event event;
    sw_error error;
    for (;;) {
        sw_status status = sw_watch_next(watch, 5000, &event, &error);
        note(status, &error);
        if (status != SW_OK) return;
        unsigned long long last = atomic_fetch_add(&watched, 1);
        if (event.type != SW_EVENT_PUBLISHED || event.address.step != last + 1) {
            snprintf(error.message, sizeof error.message, "event %d of step %llu after step %llu",
                     (int)event.type, (unsigned long long)event.address.step, last);
            note(SW_INTERNAL, &error);
            return;
        }
        if (atomic_load(&over)) return;
    }
}

static void *watch_on(void *context) {
    follow(context);
    atomic_store(&watch_over, true);
    return NULL;
}

/* ---- rotation ---- */

static sw_client *steady; /* whose certificates tell when the client side has taken them */
static uint64_t server_taken = 1, server_failed, client_taken = 1;

static void write_file(const char *folder, const char *name, char *one, char *two, bool by_renaming) {
    char path[96];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const char *const texts[] = {one, two, NULL};
    if (by_renaming)
        cert_replace(path, texts);
    else
        cert_write(path, texts);
    free(one);
    free(two);
}

static void await_client(void) {
    client_taken++;
    while (tls_source_generation(steady->connection.tls) < client_taken) pull_latest(steady);
}

static void await_both(void) {
    stand_await_taken(&stand, ++server_taken);
    await_client();
}

static void trust(char *one, char *two, bool by_renaming) {
    char *same_one = strdup(one), *same_two = two ? strdup(two) : NULL;
    write_file(stand.server, "ca.crt", one, two, by_renaming);
    write_file(stand.client, "ca.crt", same_one, same_two, by_renaming);
    await_both();
}

/* The daemon looks in between the two halves. */
static void replace_server(struct cert *next, bool by_renaming) {
    write_file(stand.server, "tls.key", cert_key_pem(next), NULL, by_renaming);
    stand_await_failed(&stand, ++server_failed);
    write_file(stand.server, "tls.crt", cert_pem(next), NULL, by_renaming);
    stand_await_taken(&stand, ++server_taken);
    cert_free(stand.server_cert);
    stand.server_cert = next;
}

static void replace_client(struct cert *next, bool by_renaming) {
    write_file(stand.client, "tls.key", cert_key_pem(next), NULL, by_renaming);
    write_file(stand.client, "tls.crt", cert_pem(next), NULL, by_renaming);
    await_client();
    cert_free(stand.client_cert);
    stand.client_cert = next;
}

static void rotate(bool by_renaming) {
    struct cert *next_ca = cert_ca("ca");
    trust(cert_pem(stand.ca), cert_pem(next_ca), by_renaming);
    replace_server(cert_leaf(next_ca, STAND_SERVER), by_renaming);
    replace_client(cert_leaf(next_ca, STAND_CLIENT), by_renaming);
    trust(cert_pem(next_ca), NULL, by_renaming);
    cert_free(stand.ca);
    stand.ca = next_ca;
}

Test(tls_rotation, no_call_fails_while_all_certificates_are_replaced_three_times) {
    static void *(*const loads[])(void *) = {pull_on, pull_on, connect_on, publish_on, watch_on};
    pthread_t threads[5];
    uint64_t published = 0;
    sw_watch *watch;
    sw_error error;
    steady = stand_client(&stand);
    cr_assert_eq(bench_publish_by(stand.local, "train", ++published, 7, &error), SW_OK);
    cr_assert_eq(sw_client_watch(steady, NULL, 0, SW_WATCH_OLDEST_HELD, NULL, 0, 0, &watch, &error), SW_OK,
                 "%s", error.message);
    for (size_t i = 0; i < 5; i++)
        pthread_create(&threads[i], NULL, loads[i], loads[i] == watch_on ? (void *)watch : &published);
    for (int i = 0; i < ROTATIONS; i++) rotate(i % 2 == 1);
    atomic_store(&over, true);
    for (size_t i = 0; i < 5; i++) pthread_join(threads[i], NULL);
    cr_log_info("%u pulls, %llu steps watched", atomic_load(&pulls), atomic_load(&watched));
    cr_assert_eq(atomic_load(&failures), 0, "%u of %u, the first: %s", atomic_load(&failures),
                 atomic_load(&pulls), first_failure.message);
    cr_assert_geq(atomic_load(&pulls), PULLS);
    cr_assert_gt(atomic_load(&watched), 100);
    sw_watch_close(watch);
    sw_client_close(steady);
}

/* ---- a pull over several connections ---- */

enum { BIG = 16 << 20, DELAY_MS = 10, CONNECTIONS = 2 };

static struct relay *slow_relay(void) {
    struct relay *relay = relay_open(stand.target);
    relay_delay(relay, RELAY_TO_CLIENT, DELAY_MS);
    relay_delay(relay, RELAY_TO_ENDPOINT, DELAY_MS);
    return relay;
}

static sw_client *client_over(const struct relay *relay) {
    sw_client_options options = stand_options(&stand);
    sw_client *client;
    sw_error error;
    options.connections = CONNECTIONS;
    cr_assert_eq(sw_client_open(relay_target(relay), &options, &client, &error), SW_OK, "%s", error.message);
    return client;
}

static uint8_t *publish_big(void) {
    uint8_t *big = malloc(BIG);
    for (size_t i = 0; i < BIG; i++) big[i] = (uint8_t)(i * 2654435761u >> 11);
    const int64_t shape[] = {BIG};
    const sw_named_tensor tensor = {.name = "t", .view = {SW_U8, 1, shape, big, BIG}};
    const sw_address address = {.channel = "tensors", .step = 1};
    sw_error error;
    cr_assert_eq(sw_publish_tensors(sw_client_publisher(stand.local), &address, &tensor, 1, 0, NULL, &error),
                 SW_OK, "%s", error.message);
    return big;
}

static sw_call *start_pull(sw_client *client) {
    const sw_pull pull = {.address = {.channel = "tensors", .step = 1}, .timeout_ms = 60000};
    sw_call *call;
    sw_error error;
    cr_assert_eq(sw_client_start_tensors(client, &pull, NULL, 0, &call, &error), SW_OK, "%s", error.message);
    return call;
}

static void finish_pull(sw_call *call, const uint8_t *big) {
    sw_tensors *tensors;
    sw_error error;
    cr_assert_eq(sw_call_finish_tensors(call, &tensors, &error), SW_OK, "%s", error.message);
    cr_assert_eq(memcmp(sw_tensors_view(tensors, 0)->data, big, BIG), 0);
    sw_tensors_destroy(tensors);
    sw_call_destroy(call);
}

Test(tls_rotation, a_pull_over_several_connections_goes_on_while_its_certificates_are_replaced) {
    struct relay *relay = slow_relay();
    steady = client_over(relay);
    uint8_t *big = publish_big();
    finish_pull(start_pull(steady), big);
    cr_assert_eq(relay_connections(relay), CONNECTIONS);
    uint64_t before = relay_bytes(relay, RELAY_TO_CLIENT);
    sw_call *call = start_pull(steady);
    cr_assert(relay_wait_for_bytes(relay, RELAY_TO_CLIENT, before + BIG / 4, 30000));
    relay_stall_way(relay, RELAY_TO_CLIENT, true);
    struct cert *next = cert_leaf(stand.ca, STAND_CLIENT);
    write_file(stand.client, "tls.key", cert_key_pem(next), NULL, true);
    write_file(stand.client, "tls.crt", cert_pem(next), NULL, true);
    cert_free(stand.client_cert);
    stand.client_cert = next;
    while (tls_source_generation(steady->connection.tls) == client_taken) sw_info_destroy(stand_info(&stand));
    relay_stall_way(relay, RELAY_TO_CLIENT, false);
    finish_pull(call, big);
    finish_pull(start_pull(steady), big);
    cr_assert_eq(relay_connections(relay), 2 * CONNECTIONS, "all are new, with the new certificate");
    sw_client_close(steady);
    relay_close(relay);
    free(big);
}
