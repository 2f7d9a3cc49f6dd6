#include <stdlib.h>
#include <string.h>

#include "client/cli/doctor/doctor.h"
#include "client/cli/doctor/first_words.h"
#include "client/cli/doctor/h2.h"
#include "tests/support/test.h"

static enum speaker speaker_of(const char *bytes, size_t size) {
    return first_words(bytes, size);
}
#define SPEAKER(literal) speaker_of(literal, sizeof(literal) - 1)

Test(doctor, who_speaks_is_told_by_the_first_bytes) {
    cr_assert_eq(SPEAKER("\0\0\6\4\0\0\0\0\0"), SPEAKS_HTTP2);
    cr_assert_eq(SPEAKER("HTTP/1.1 400 Bad Request"), SPEAKS_HTTP1);
    cr_assert_eq(SPEAKER("\x15\3\3\0\2\2\x46"), SPEAKS_TLS);
    cr_assert_eq(SPEAKER("\x16\3\3\0\x7a\2"), SPEAKS_TLS);
    cr_assert_eq(SPEAKER("SSH-2.0-x"), SPEAKS_SSH);
    cr_assert_eq(SPEAKER("220 mail"), SPEAKS_OTHER);
}

Test(doctor, few_bytes_are_never_read_beyond_their_end) {
    const char *const starts[] = {"\0\0\0\4\0\0", "HTTP/1", "\x16\3", "SSH-"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        size_t most = i == 0 ? 5 : strlen(starts[i]) - 1;
        for (size_t size = 0; size <= most; size++)
            cr_assert_eq(speaker_of(starts[i], size), SPEAKS_OTHER, "%zu, %zu", i, size);
    }
}

Test(doctor, a_frame_is_read_as_http2_has_it) {
    const unsigned char header[H2_HEADER_BYTES] = {1, 2, 3, H2_PING, H2_FLAG_ACK, 0, 0, 0, 0};
    struct h2_frame frame = h2_frame_of(header);
    cr_assert_eq(frame.length, 0x010203u);
    cr_assert_eq(frame.type, H2_PING);
    cr_assert_eq(frame.flags, H2_FLAG_ACK);
}

Test(doctor, a_duration_has_the_unit_that_people_read) {
    char text[DOCTOR_DURATION_BYTES];
    cr_assert_str_eq(doctor_duration(123456, text), "0.12 ms");
    cr_assert_str_eq(doctor_duration(9999999, text), "10.00 ms");
    cr_assert_str_eq(doctor_duration(44000000, text), "44 ms");
    cr_assert_str_eq(doctor_duration(1500000000, text), "1.5 s");
}

static void expect_split(const char *endpoint, const char *host, const char *port) {
    struct doctor doctor = {.options = {.endpoint = endpoint, .timeout_ms = 1000, .json = true}};
    doctor_init(&doctor);
    cr_assert_str_eq(doctor.host, host);
    cr_assert_str_eq(doctor.port, port);
    cr_assert(!doctor.is_unix);
    report_end(&doctor.report, endpoint);
}

Test(doctor, an_ipv6_address_loses_its_brackets) {
    expect_split("[::1]:4317", "::1", "4317");
    expect_split("node7.example:80", "node7.example", "80");
    expect_split("10.0.0.1:65535", "10.0.0.1", "65535");
}

Test(doctor, the_first_thing_that_is_wrong_decides_the_exit_status) {
    struct report report;
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    report_begin(&report, out, false);
    report_ok(&report, "name", "fine");
    report_note(&report, "tcp", "so so");
    report_wrong(&report, "tls", EXIT_TRUST, "bad \033[2J");
    report_mend(&report, "mend it");
    report_wrong(&report, "run", EXIT_REFUSED, "also bad");
    report_skipped(&report, "throughput", "no");
    cr_assert_eq(report_end(&report, "a:1"), EXIT_TRUST);
    fclose(out);
    cr_assert_str_eq(text, "ok     name         fine\n"
                           "note   tcp          so so\n"
                           "wrong  tls          bad \\x1b[2J\n"
                           "                    mend: mend it\n"
                           "wrong  run          also bad\n"
                           "skip   throughput   no\n");
    free(text);
}
