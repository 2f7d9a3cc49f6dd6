#include "client/core/link.h"
#include "proto/base/clock.h"
#include "tests/support/test.h"

enum { LONG_MS = 50, MINUTE_MS = 60000 };

static struct link far;
static int64_t now_ms;

static void set_up(void) {
    link_init(&far, LINK_CONNECTIONS);
    link_answered(&far, LONG_MS);
}

TestSuite(link, .init = set_up);

static void measure(double rate) {
    link_measured(&far, far.connections, rate, now_ms);
}

static void become_long(void) {
    cr_assert(link_may_be_long(&far));
    link_is_long(&far);
}

Test(link, one_fast_answer_shows_that_it_is_short_however_slow_others_were) {
    link_answered(&far, 4);
    link_answered(&far, 1000);
    cr_assert_not(link_may_be_long(&far));
    cr_assert_eq(far.connections, 1);
}

Test(link, a_fast_answer_over_the_second_connection_takes_it_away) {
    become_long();
    cr_assert_eq(far.connections, 2);
    link_answered(&far, 1);
    cr_assert_eq(far.connections, 1);
    measure(100);
    cr_assert_eq(far.connections, 1);
}

Test(link, connections_double_while_they_raise_the_rate_by_a_tenth) {
    become_long();
    measure(100);
    cr_assert_eq(far.connections, 4);
    measure(111);
    cr_assert_eq(far.connections, 8);
    measure(200);
    cr_assert_eq(far.connections, 8);
}

Test(link, connections_that_gain_nothing_are_given_up) {
    become_long();
    measure(100);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(far.connections, 4, "the first rates are those of connections that begin");
        measure(109);
    }
    cr_assert_eq(far.connections, 2);
    measure(1000);
    cr_assert_eq(far.connections, 2, "that is settled");
}

Test(link, what_was_settled_is_tried_again_after_a_minute) {
    become_long();
    measure(100);
    for (int i = 0; i < 3; i++) measure(50);
    now_ms += MINUTE_MS - 1;
    measure(1000);
    cr_assert_eq(far.connections, 2);
    now_ms += 1;
    measure(100);
    cr_assert_eq(far.connections, 4);
    measure(150);
    cr_assert_eq(far.connections, 8);
}

Test(link, no_more_connections_than_it_may_have) {
    for (unsigned most = 1; most <= LINK_CONNECTIONS_MAX; most++) {
        link_init(&far, most);
        link_answered(&far, LONG_MS);
        cr_assert_eq(link_may_be_long(&far), most > 1);
        if (most > 1) link_is_long(&far);
        for (int i = 0; i < 10; i++) measure(100 << i);
        cr_assert_eq(far.connections, most);
    }
}

Test(link, a_rate_of_another_number_of_connections_tells_nothing) {
    become_long();
    link_measured(&far, 4, 100, now_ms);
    link_measured(&far, 1, 100, now_ms);
    cr_assert_eq(far.connections, 2);
}

Test(link, a_rate_is_measured_over_several_round_trips) {
    cr_assert_geq(link_measures_ms(&far), 8 * LONG_MS);
    link_answered(&far, 6);
    cr_assert_eq(link_measures_ms(&far), 100);
}

Test(link, a_connection_is_asked_for_twice_as_much_after_each_stream_and_for_little_after_one_that_broke) {
    uint64_t little = link_share(&far, 3);
    link_stream_brought(&far, 3, little, 10);
    link_stream_brought(&far, 3, 2 * little, 10);
    cr_assert_eq(link_share(&far, 3), 4 * little);
    cr_assert_eq(link_share(&far, 2), little);
    for (int i = 0; i < 100; i++) link_stream_brought(&far, 3, little, 10);
    cr_assert_eq(link_share(&far, 3), 32u << 20);
    link_stream_broke(&far, 3);
    cr_assert_eq(link_share(&far, 3), little);
}

Test(link, a_stream_may_need_four_round_trips_and_three_times_what_is_usual) {
    cr_assert_eq(link_patience_ms(&far, 1 << 20), 4 * LONG_MS);
    link_stream_brought(&far, 0, 1 << 20, 300);
    cr_assert_eq(link_patience_ms(&far, 2 << 20), 4 * LONG_MS + 3 * 600);
    cr_assert_eq(link_patience_ms(&far, 0), 4 * LONG_MS);
    link_stream_brought(&far, 0, 1 << 20, 700);
    cr_assert_eq(link_patience_ms(&far, 1 << 20), 4 * LONG_MS + 3 * 400, "one stream does not make it usual");
    link_stream_brought(&far, 0, 1000, 700);
    cr_assert_eq(link_patience_ms(&far, 1 << 20), 4 * LONG_MS + 3 * 400, "nor one of a few bytes");
}

Test(link, on_a_short_one_a_stream_is_never_asked_for_more_than_2_MiB) {
    for (int i = 0; i < 100; i++) link_stream_brought(&far, 0, 1 << 20, 10);
    cr_assert_eq(link_share(&far, 0), 32u << 20);
    link_answered(&far, 1);
    cr_assert(link_is_short(&far));
    cr_assert_eq(link_share(&far, 0), 2u << 20);
}
