#include "client/cli/certs/facts.h"

#include <stdlib.h>

#include "tests/support/test.h"

#define NOW 1796077000

typedef void writer(FILE *out, int64_t time);

static void put_distance_from_now(FILE *out, int64_t time) {
    facts_put_distance(out, time, NOW);
}

static void expect(writer *put, int64_t time, const char *words) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    put(out, time);
    fclose(out);
    cr_assert_str_eq(text, words);
    free(text);
}

Test(cert_facts, a_distance_is_told_in_the_largest_unit_that_it_has_one_of) {
    expect(put_distance_from_now, NOW + 7 * 86400, "in 7 days");
    expect(put_distance_from_now, NOW + 7 * 86400 - 1, "in 6 days");
    expect(put_distance_from_now, NOW + 86400, "in 1 day");
    expect(put_distance_from_now, NOW + 86399, "in 23 hours");
    expect(put_distance_from_now, NOW + 61, "in 1 minute");
    expect(put_distance_from_now, NOW + 59, "in 59 seconds");
    expect(put_distance_from_now, NOW, "0 seconds ago");
    expect(put_distance_from_now, NOW - 3600, "1 hour ago");
    expect(put_distance_from_now, NOW - 400 * 86400, "400 days ago");
}

Test(cert_facts, a_time_is_told_to_the_minute_and_one_that_cannot_be_read_is_said_to_be_that) {
    expect(facts_put_time, 0, "1970-01-01 00:00 UTC");
    expect(facts_put_time, NOW, "2026-11-30 22:16 UTC");
    expect(facts_put_time, INT64_MIN, "a time that cannot be read");
    expect(facts_put_time, INT64_MAX, "a time that cannot be read");
}

Test(cert_facts, a_time_that_asn1_lacks_is_none) {
    cr_assert_eq(facts_time(NULL), INT64_MIN);
}
