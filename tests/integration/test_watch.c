/* Watches of the client library: what is told, in order, once, across cuts, restarts and generations. */
#include <poll.h>
#include <string.h>

#include <stagewire/client.h>

#include "tests/support/client.h"
#include "tests/support/relay.h"
#include "tests/support/test.h"

static struct bench b;
static struct relay *relay;
static sw_client *client; /* through the relay, to the daemon's socket, which a restart keeps */
static sw_watch *watch;
static sw_watch_event event;

static void open_all(void) {
    bench_open(&b, NULL);
    relay = relay_open(b.socket);
    client = bench_client_of(&b, relay_target(relay), 20000);
}

static void close_all(void) {
    sw_watch_close(watch);
    sw_client_close(client);
    relay_close(relay);
    bench_close(&b);
}

TestSuite(watch, .init = open_all, .fini = close_all, .timeout = 60);

static void begin(sw_watch_start start) {
    bench_ok(&b, sw_client_watch(client, NULL, 0, start, NULL, 0, 0, &watch, &b.error));
}

static void next(sw_watch_event_type type) {
    bench_ok(&b, sw_watch_next(watch, 20000, &event, &b.error));
    cr_assert_eq(event.type, type, "%d, step %lu of %s", (int)event.type, (unsigned long)event.address.step,
                 event.address.channel);
}

static void next_is(const char *channel, uint64_t step, int64_t value) {
    next(SW_EVENT_PUBLISHED);
    cr_assert_str_eq(event.address.channel, channel);
    cr_assert_eq(event.address.step, step, "%lu", (unsigned long)event.address.step);
    cr_assert_eq(sw_dict_get(event.metrics, "v")->integer, value);
    cr_assert_gt(event.published_unix_ns, 0);
}

static void nothing_comes(void) {
    bench_fails(&b, sw_watch_next(watch, 100, &event, &b.error), SW_DEADLINE_EXCEEDED, SW_REASON_NONE);
    bench_fails(&b, sw_watch_next(watch, 0, &event, &b.error), SW_DEADLINE_EXCEEDED, SW_REASON_NONE);
}

Test(watch, a_new_one_tells_what_comes_after_it_and_nothing_before) {
    bench_publish(&b, "train", 1, 10);
    sw_address finished = {.channel = "old"};
    bench_publish(&b, "old", 1, 10);
    bench_ok(&b,
             sw_close_channel(b.publisher, &finished, SW_METRICS, false, SW_CLOSE_FINISHED, "", 0, &b.error));
    begin(SW_WATCH_NEW);
    nothing_comes();
    bench_publish(&b, "train", 2, 20);
    bench_publish(&b, "eval", 5, 50);
    next_is("train", 2, 20);
    next_is("eval", 5, 50);
    nothing_comes();
}

Test(watch, from_the_oldest_held_all_comes_in_order) {
    for (uint64_t step = 0; step < 300; step++) bench_publish(&b, "train", step, (int64_t)step);
    begin(SW_WATCH_OLDEST_HELD);
    for (uint64_t step = 0; step < 300; step++) next_is("train", step, (int64_t)step);
    nothing_comes();
}

Test(watch, from_positions_each_channel_goes_on_there) {
    for (uint64_t step = 0; step < 5; step++) bench_publish(&b, "train", step, (int64_t)step);
    bench_publish(&b, "eval", 9, 9);
    sw_address position = {.generation = 1, .has_stage = true, .stage = 3, .channel = "train", .step = 3};
    sw_watch_filter filter = {.channel = "tr*"};
    bench_ok(&b, sw_client_watch(client, &filter, 1, SW_WATCH_POSITIONS, &position, 1, 0, &watch, &b.error));
    next_is("train", 3, 3);
    next_is("train", 4, 4);
    nothing_comes();
}

Test(watch, a_position_that_names_no_generation_is_refused) {
    sw_address position = {.channel = "train", .step = 3};
    bench_fails(&b, sw_client_watch(client, NULL, 0, SW_WATCH_POSITIONS, &position, 1, 0, &watch, &b.error),
                SW_INVALID_ARGUMENT, SW_REASON_NONE);
}

Test(watch, failures_closings_and_generations_are_told) {
    begin(SW_WATCH_OLDEST_HELD);
    sw_address address = {.channel = "train", .step = 1};
    bench_ok(&b, sw_publish_failure(b.publisher, &address, SW_METRICS, "out of memory", 0, NULL, &b.error));
    next(SW_EVENT_FAILED);
    cr_assert_str_eq(event.message, "out of memory");
    cr_assert_eq(event.address.step, 1);
    bench_ok(&b, sw_close_channel(b.publisher, &address, SW_METRICS, false, SW_CLOSE_ABORTED, "no more", 0,
                                  &b.error));
    next(SW_EVENT_CLOSED);
    cr_assert_eq(event.reason, SW_CLOSE_ABORTED);
    cr_assert_str_eq(event.message, "no more");
    cr_assert_str_eq(event.address.channel, "train");
    sw_lease *lease;
    sw_attachment second = {.generation = 2, .stage = 3, .stage_count = 4};
    bench_ok(&b, sw_attach(b.publisher, &second, 0, &lease, NULL, &b.error));
    next(SW_EVENT_GENERATION);
    cr_assert_eq(event.generation, 2);
    bench_publish(&b, "train", 0, 7);
    next_is("train", 0, 7);
    cr_assert_eq(event.address.generation, 2);
    sw_lease_release(lease);
}

Test(watch, its_descriptor_is_readable_while_there_is_something_to_say) {
    begin(SW_WATCH_NEW);
    struct pollfd wait = {.fd = sw_watch_fd(watch), .events = POLLIN};
    cr_assert_eq(poll(&wait, 1, 0), 0);
    bench_publish(&b, "train", 1, 1);
    bench_publish(&b, "train", 2, 2);
    cr_assert_eq(poll(&wait, 1, 20000), 1);
    next_is("train", 1, 1);
    cr_assert_eq(poll(&wait, 1, 20000), 1);
    next_is("train", 2, 2);
    cr_assert_eq(poll(&wait, 1, 0), 0);
}

/* ---- cuts ---- */

Test(watch, it_goes_on_where_it_was_when_it_is_cut) {
    bench_publish(&b, "train", 0, 0);
    begin(SW_WATCH_OLDEST_HELD);
    next_is("train", 0, 0);
    for (uint64_t step = 1; step < 20; step++) {
        relay_cut(relay);
        bench_publish(&b, "train", step, (int64_t)step);
        next_is("train", step, (int64_t)step);
    }
    nothing_comes();
}

Test(watch, nothing_is_lost_or_repeated_wherever_it_is_cut) {
    enum { STEPS = 60 };
    begin(SW_WATCH_NEW);
    for (uint64_t step = 0; step < STEPS; step++) {
        relay_cut_after(relay, RELAY_TO_CLIENT, 1 + step * 7 % 90);
        bench_publish(&b, "train", step, (int64_t)step);
        next_is("train", step, (int64_t)step);
    }
    nothing_comes();
}

/* A channel of which nothing has come yet must not begin anew with what was there before the watch. */
Test(watch, a_cut_brings_nothing_from_before_the_watch) {
    bench_publish(&b, "train", 1, 10);
    begin(SW_WATCH_NEW);
    relay_cut(relay);
    bench_publish(&b, "train", 2, 20);
    next_is("train", 2, 20);
    nothing_comes();
}

Test(watch, a_closing_is_told_once) {
    bench_publish(&b, "train", 1, 10);
    begin(SW_WATCH_OLDEST_HELD);
    next_is("train", 1, 10);
    sw_address address = {.channel = "train"};
    bench_ok(&b,
             sw_close_channel(b.publisher, &address, SW_METRICS, false, SW_CLOSE_FINISHED, "", 0, &b.error));
    next(SW_EVENT_CLOSED);
    for (int i = 0; i < 3; i++) {
        unsigned connections = relay_connections(relay);
        relay_cut(relay);
        bench_publish(&b, "eval", (uint64_t)i, i);
        next_is("eval", (uint64_t)i, i);
        cr_assert_gt(relay_connections(relay), connections);
    }
    nothing_comes();
}

Test(watch, what_is_gone_when_it_comes_back_is_a_gap) {
    bench_publish(&b, "train", 0, 0);
    begin(SW_WATCH_OLDEST_HELD);
    next_is("train", 0, 0);
    relay_refuse(relay, true);
    relay_cut(relay);
    for (uint64_t step = 1; step < 1100; step++) bench_publish(&b, "train", step, (int64_t)step);
    relay_refuse(relay, false);
    next(SW_EVENT_GAP);
    cr_assert_eq(event.address.step, 0);
    cr_assert_eq(event.address.call, 1, "from where it was");
    cr_assert(event.has_next);
    uint64_t first = event.next.step;
    cr_assert_gt(first, 1);
    for (uint64_t step = first; step < 1100; step++) next_is("train", step, (int64_t)step);
    nothing_comes();
}

Test(watch, a_generation_that_began_meanwhile_is_told_once) {
    bench_publish(&b, "train", 5, 5);
    begin(SW_WATCH_OLDEST_HELD);
    next_is("train", 5, 5);
    relay_refuse(relay, true);
    relay_cut(relay);
    sw_lease *lease;
    sw_attachment second = {.generation = 2, .stage = 3, .stage_count = 4};
    bench_ok(&b, sw_attach(b.publisher, &second, 0, &lease, NULL, &b.error));
    bench_publish(&b, "train", 3, 33);
    relay_refuse(relay, false);
    next(SW_EVENT_GENERATION);
    cr_assert_eq(event.generation, 2);
    next_is("train", 3, 33);
    nothing_comes();
    sw_lease_release(lease);
}

Test(watch, it_goes_on_at_an_endpoint_that_was_started_anew) {
    bench_publish(&b, "train", 5, 5);
    begin(SW_WATCH_OLDEST_HELD);
    next_is("train", 5, 5);
    bench_down(&b);
    bench_up(&b);
    sw_client *publisher = bench_client(&b, NULL);
    bench_ok(&b, bench_publish_by(publisher, "train", 6, 6, &b.error));
    next(SW_EVENT_PUBLISHED);
    cr_assert_eq(event.address.step, 6);
    nothing_comes();
    sw_client_close(publisher);
}

Test(watch, one_whose_endpoint_stays_away_ends_with_endpoint_lost) {
    sw_client *impatient = bench_client_of(&b, relay_target(relay), 300);
    bench_ok(&b, sw_client_watch(impatient, NULL, 0, SW_WATCH_NEW, NULL, 0, 0, &watch, &b.error));
    bench_publish(&b, "train", 1, 1);
    next_is("train", 1, 1);
    relay_refuse(relay, true);
    relay_cut(relay);
    bench_fails(&b, sw_watch_next(watch, 20000, &event, &b.error), SW_UNAVAILABLE, SW_REASON_ENDPOINT_LOST);
    bench_fails(&b, sw_watch_next(watch, 0, &event, &b.error), SW_UNAVAILABLE, SW_REASON_ENDPOINT_LOST);
    struct pollfd wait = {.fd = sw_watch_fd(watch), .events = POLLIN};
    cr_assert_eq(poll(&wait, 1, 0), 1, "sw_watch_next does not block");
    sw_watch_close(watch);
    watch = NULL;
    sw_client_close(impatient);
}

/* Whoever reads slowly is read for slowly; then all of it is there, in order. */
Test(watch, a_slow_reader_misses_nothing_and_holds_little) {
    enum { STEPS = 900 };
    static char text[4000];
    memset(text, 'x', sizeof text - 1);
    begin(SW_WATCH_NEW);
    for (uint64_t step = 0; step < STEPS; step++) {
        const sw_value metrics = sw_dict((sw_entry[]){{sw_text_of("text"), sw_text(text)}}, 1);
        sw_address address = {.channel = "train", .step = step};
        bench_ok(&b, sw_publish_metrics(b.publisher, &address, &metrics, 0, NULL, &b.error));
    }
    for (uint64_t step = 0; step < STEPS; step++) {
        next(SW_EVENT_PUBLISHED);
        cr_assert_eq(event.address.step, step);
    }
    nothing_comes();
}
