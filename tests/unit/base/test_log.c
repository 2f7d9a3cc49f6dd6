#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/log.h"
#include "proto/base/utf8.h"
#include "tests/support/test.h"

/* What was logged is read back from a pipe in stderr's place. */
static int kept_stderr, reading;

static void divert(void) {
    int ends[2];
    if (pipe(ends) != 0) abort();
    kept_stderr = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    reading = ends[0];
}

static size_t logged(char *out, size_t size) {
    dup2(kept_stderr, STDERR_FILENO);
    size_t used = 0;
    for (ssize_t got; (got = read(reading, out + used, size - used - 1)) > 0;) used += (size_t)got;
    out[used] = '\0';
    return used;
}

TestSuite(log, .init = divert);

static char line[8192];

static const char *after_time(void) {
    logged(line, sizeof line);
    return strstr(line, "level");
}

Test(log, nothing_is_logged_until_a_level_is_set) {
    log_error("failed", LOG_TEXT("why", "x"));
    cr_assert_eq(logged(line, sizeof line), 0);
}

Test(log, levels_below_are_not_logged) {
    log_set_level(LOG_WARN);
    cr_assert_not(log_enabled(LOG_INFO));
    cr_assert(log_enabled(LOG_WARN));
    cr_assert_not(log_enabled(LOG_OFF));
    log_info("no");
    log_warn("yes");
    cr_assert_str_eq(after_time(), "level=warn event=yes\n");
}

Test(log, logfmt_quotes_what_it_must) {
    log_set_level(LOG_DEBUG);
    log_debug("serving", LOG_TEXT("listen", "127.0.0.1:4317"), LOG_NUMBER("stage", -3), LOG_TEXT("empty", ""),
              LOG_TEXT("path", "a b"), LOG_TEXT("quote", "a\"b\\c=d\n\xff"), LOG_TEXT("none", NULL));
    cr_assert_str_eq(after_time(),
                     "level=debug event=serving listen=127.0.0.1:4317 stage=-3 empty=\"\" path=\"a b\" "
                     "quote=\"a\\\"b\\\\c=d\\n\xEF\xBF\xBD\" none=\"\"\n");
}

Test(log, each_character_that_ends_a_value_is_quoted) {
    static const char *const values[] = {"a b", "a\"b", "a=b", "a\\b", "a\tb", "ü", "a\x7f"};
    log_set_level(LOG_INFO);
    for (size_t i = 0; i < 7; i++) log_info("x", LOG_TEXT("v", values[i]));
    logged(line, sizeof line);
    const char *at = line;
    for (size_t i = 0; i < 7; i++, at++) {
        at = strstr(at, " v=");
        cr_assert_not_null(at);
        cr_assert_eq(at[3], '"', "%s", values[i]);
    }
}

Test(log, json_escapes_what_it_must) {
    log_set_level(LOG_INFO);
    log_set_format(LOG_JSON);
    log_info("new \"step\"", LOG_NUMBER("step", INT64_MAX), LOG_TEXT("run", "a\\\"\x01ü"));
    const char *rest = after_time();
    cr_assert_eq(strncmp(line, "{\"ts\":\"2", 8), 0);
    cr_assert_str_eq(rest, "level\":\"info\",\"event\":\"new \\\"step\\\"\",\"step\":9223372036854775807,"
                           "\"run\":\"a\\\\\\\"\\u0001ü\"}\n");
}

Test(log, times_are_utc_to_the_millisecond) {
    log_set_level(LOG_INFO);
    log_info("x");
    logged(line, sizeof line);
    static const char shape[] = "ts=dddd-dd-ddTdd:dd:dd.dddZ level";
    for (size_t i = 0; i + 1 < sizeof shape; i++) {
        if (shape[i] == 'd' && i < 26)
            cr_assert(line[i] >= '0' && line[i] <= '9', "%s", line);
        else
            cr_assert_eq(line[i], shape[i], "%s", line);
    }
}

Test(log, a_long_line_stays_whole_and_ends) {
    static char text[5000];
    memset(text, '\x02', sizeof text - 1);
    log_set_level(LOG_INFO);
    log_set_format(LOG_JSON);
    log_info("x", LOG_TEXT("first", text), LOG_TEXT("second", text), LOG_NUMBER("third", 3));
    size_t size = logged(line, sizeof line);
    cr_assert_leq(size, 4096);
    cr_assert_str_eq(line + size - strlen(",\"third\":3}\n"), ",\"third\":3}\n");
    cr_assert_null(strstr(line, "second"), "half a field is no JSON");
}

enum { THREADS = 4, LINES = 100 };

static void *log_lines(void *unused) {
    (void)unused;
    for (int i = 0; i < LINES; i++) log_info("x", LOG_TEXT("text", "some words"));
    return NULL;
}

Test(log, lines_of_several_threads_do_not_mix) {
    static char all[THREADS * LINES * 120];
    pthread_t threads[THREADS];
    log_set_level(LOG_INFO);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, log_lines, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    logged(all, sizeof all);
    int lines = 0;
    for (char *next, *at = all; (next = strchr(at, '\n')); at = next + 1, lines++)
        cr_assert_eq(strncmp(next - 36, "level=info event=x text=\"some words\"", 36), 0, "%.*s", 60,
                     next - 59);
    cr_assert_eq(lines, THREADS * LINES);
}
