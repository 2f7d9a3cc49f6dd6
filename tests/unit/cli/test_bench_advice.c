#include <stdio.h>
#include <string.h>

#include "client/cli/bench/advice.h"
#include "tests/support/test.h"

#define MIB (1u << 20)

static struct bench_results results;

static void add(enum bench_what what, unsigned connections, double bytes_per_s, double took_ms,
                double cores) {
    struct bench_row *row = &results.rows[results.count++];
    *row = (struct bench_row){.what = what, .connections = connections, .ns = 1000000000, .cores = cores};
    row->moved = (uint64_t)bytes_per_s;
    if (what == BENCH_PULL) row->bytes = 64 * MIB;
    latency_add(&row->took, (int64_t)(took_ms * 1e6));
}

static void begin(enum bench_link link, bool is_near, double round_trip_ms) {
    memset(&results, 0, sizeof results);
    results.endpoint = "node7:4317";
    results.link = link;
    results.is_near = is_near;
    add(BENCH_CALL, 1, 0, round_trip_ms, 0.1);
}

static struct advice advice[ADVICE_MAX];

static const struct advice *find_on(struct advice_machine machine, const char *word) {
    size_t count = advise(&results, &machine, advice);
    for (size_t i = 0; i < count; i++)
        if (strstr(advice[i].change, word)) return &advice[i];
    return NULL;
}

static const struct advice *find(const char *word, uint64_t receive_max) {
    return find_on((struct advice_machine){.receive_max = receive_max}, word);
}

Test(bench_advice, both_ends_on_one_machine_are_told_of_a_unix_socket) {
    begin(BENCH_TCP, true, 0.1);
    cr_assert_not_null(find("--listen unix:", 0));
    begin(BENCH_TCP, false, 0.1);
    cr_assert_null(find("--listen unix:", 0));
    begin(BENCH_UNIX, true, 0.1);
    cr_assert_null(find("--listen unix:", 0));
}

Test(bench_advice, chunks_over_a_unix_socket_are_told_of_memory_that_is_passed) {
    begin(BENCH_UNIX, true, 0.1);
    add(BENCH_PULL, 1, 1e9, 60, 0.5);
    cr_assert_not_null(find("sw_buffer_create", 0));
    results.passes_memory = true;
    cr_assert_null(find("sw_buffer_create", 0));
}

/* 200 MB/s at a round trip of 100 ms are 20 MB under way; twice that for the kernel's own use. */
Test(bench_advice, connections_that_carry_more_than_one_ask_for_a_send_buffer_of_twice_what_is_under_way) {
    begin(BENCH_TCP, false, 100);
    add(BENCH_PULL, 1, 27e6, 2000, 0.1);
    add(BENCH_PULL, 4, 200e6, 300, 0.3);
    const struct advice *found = find("net.ipv4.tcp_wmem", 0);
    cr_assert_not_null(found);
    unsigned long long asked = 0;
    cr_assert_eq(sscanf(strstr(found->change, "tcp_wmem to "), "tcp_wmem to %llu", &asked), 1);
    cr_assert_geq(asked, 2 * 18000000ull); /* a latency is right to a 16th */
    cr_assert_leq(asked, 2 * 20000000ull + MIB);
    cr_assert_eq(asked % MIB, 0);
    cr_assert_not_null(strstr(found->change, "a pull opens up to 8"));
    cr_assert_not_null(strstr(found->reason, "7.4 times"));
}

Test(bench_advice, connections_that_carry_no_more_ask_for_nothing) {
    begin(BENCH_TCP, false, 1);
    add(BENCH_PULL, 1, 190e6, 300, 0.1);
    add(BENCH_PULL, 4, 200e6, 300, 0.3);
    cr_assert_null(find("net.ipv4.tcp_wmem", 0));
}

Test(bench_advice, a_receive_buffer_is_asked_for_only_where_this_machine_s_is_too_small) {
    begin(BENCH_TCP, false, 100);
    add(BENCH_PULL, 1, 200e6, 300, 0.3);
    cr_assert_not_null(find("net.ipv4.tcp_rmem", 6 * MIB));
    cr_assert_null(find("net.ipv4.tcp_rmem", 64 * MIB));
    cr_assert_null(find("net.ipv4.tcp_rmem", 0));
}

Test(bench_advice, a_raw_socket_that_is_faster_says_how_much_the_link_holds) {
    begin(BENCH_TCP, false, 100);
    add(BENCH_PULL, 1, 20e6, 300, 0.3);
    cr_assert_null(find("net.ipv4.tcp_rmem", 6 * MIB));
    add(BENCH_RAW_STREAM, 1, 200e6, 1, 0.3);
    cr_assert_not_null(find("net.ipv4.tcp_rmem", 6 * MIB));
}

Test(bench_advice, tls_is_named_where_it_keeps_a_core_busy) {
    begin(BENCH_TLS, false, 1);
    add(BENCH_PULL, 1, 1e9, 60, 1.1);
    cr_assert_not_null(find("openssl speed", 0));
    begin(BENCH_TLS, false, 1);
    add(BENCH_PULL, 1, 1e7, 60, 0.2);
    cr_assert_null(find("openssl speed", 0));
    begin(BENCH_TCP, false, 1);
    add(BENCH_PULL, 1, 1e9, 60, 1.1);
    cr_assert_null(find("openssl speed", 0));
}

Test(bench_advice, huge_pages_are_named_where_memory_is_passed_and_there_are_none_for_it) {
    const struct advice_machine small_pages = {.lacks_huge_pages = true}, huge_pages = {0};
    begin(BENCH_UNIX, true, 0.1);
    add(BENCH_PULL, 1, 1e9, 60, 0.5);
    cr_assert_null(find_on(small_pages, "shmem_enabled"));
    results.passes_memory = true;
    cr_assert_not_null(find_on(small_pages, "shmem_enabled"));
    cr_assert_null(find_on(huge_pages, "shmem_enabled"));
}

Test(bench_advice, nothing_pulled_asks_for_nothing) {
    begin(BENCH_TCP, false, 100);
    cr_assert_eq(advise(&results, &(struct advice_machine){MIB, true}, advice), 0);
}
