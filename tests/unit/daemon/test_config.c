/* Flag, then environment, then file, then default; what is wrong is named where it was written. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "service/daemon/config.h"
#include "service/daemon/config_table.h"
#include "tests/support/test.h"

static struct config config;
static sw_error error;
static char path[] = "/tmp/stagewired-config-XXXXXX";

static void setup(void) {
    memset(&error, 0, sizeof error);
}
static void teardown(void) {
    config_free(&config);
    unlink(path);
}
TestSuite(config, .init = setup, .fini = teardown, .timeout = 30);

static void write_file(const char *text) {
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* Arguments, then variables, each ending with NULL. */
#define ARGS(...) ((char *[]){"stagewired", ##__VA_ARGS__, NULL})

static sw_status load(char **argv, char **environment) {
    int argc = 0;
    while (argv[argc]) argc++;
    return config_load(&config, argc, argv, environment, &error);
}

static char *none[] = {NULL};

#define NEEDED "--run-id", "r", "--listen", "127.0.0.1:0"

static void expect_wrong(sw_status status, const char *message) {
    cr_assert_eq(status, SW_INVALID_ARGUMENT);
    cr_assert_str_eq(error.message, message);
}

Test(config, defaults_are_the_contracts) {
    cr_assert_eq(load(ARGS(NEEDED), none), SW_OK, "%s", error.message);
    const sw_endpoint_options *options = &config.endpoint;
    cr_assert_eq(options->store_bytes, 2ull << 30);
    cr_assert_eq(options->keep_steps, 1024);
    cr_assert_eq(options->keep_tensor_steps, 1);
    cr_assert_eq(options->publisher_grace_ms, 30000);
    cr_assert_eq(options->drain_grace_ms, 20000);
    cr_assert_eq(options->max_wait_ms, 600000);
    cr_assert(!options->publish_on_loopback && !options->insecure_plaintext);
    cr_assert_str_eq(options->run_id, "r");
}

/* The library and the daemon have one set of defaults. */
Test(config, defaults_are_those_of_an_embedded_endpoint) {
    sw_endpoint_options own;
    sw_endpoint_options_init(&own);
    cr_assert_eq(load(ARGS(NEEDED), none), SW_OK);
    own.listen = config.endpoint.listen;
    own.listen_count = config.endpoint.listen_count;
    own.run_id = config.endpoint.run_id;
    cr_assert_eq(own.store_bytes, config.endpoint.store_bytes);
    cr_assert_eq(own.metrics_bytes, config.endpoint.metrics_bytes);
    cr_assert_eq(own.pinned_bytes, config.endpoint.pinned_bytes);
    cr_assert_eq(own.keep_steps, config.endpoint.keep_steps);
    cr_assert_eq(own.keep_tensor_steps, config.endpoint.keep_tensor_steps);
    cr_assert_eq(own.max_lag_steps, config.endpoint.max_lag_steps);
    cr_assert_eq(own.publisher_grace_ms, config.endpoint.publisher_grace_ms);
    cr_assert_eq(own.drain_grace_ms, config.endpoint.drain_grace_ms);
    cr_assert_eq(own.max_wait_ms, config.endpoint.max_wait_ms);
    cr_assert_eq(own.max_waiters, config.endpoint.max_waiters);
    cr_assert_eq(own.max_watches, config.endpoint.max_watches);
    cr_assert_eq(own.max_channels, config.endpoint.max_channels);
    cr_assert_eq(own.max_consumers, config.endpoint.max_consumers);
    cr_assert_eq(own.max_leases, config.endpoint.max_leases);
    cr_assert_eq(own.max_publishes, config.endpoint.max_publishes);
    cr_assert_eq(own.max_calls, config.endpoint.max_calls);
    cr_assert_eq(own.max_streams, config.endpoint.max_streams);
    cr_assert_eq(own.header_bytes, config.endpoint.header_bytes);
    cr_assert_eq(own.transport_bytes, config.endpoint.transport_bytes);
    cr_assert_eq(own.handshake_timeout_ms, config.endpoint.handshake_timeout_ms);
    cr_assert_eq(own.max_connection_age_ms, config.endpoint.max_connection_age_ms);
    cr_assert_eq(own.connection_age_grace_ms, config.endpoint.connection_age_grace_ms);
    cr_assert_eq(own.max_connection_idle_ms, config.endpoint.max_connection_idle_ms);
}

Test(config, a_flag_wins_over_the_environment_and_that_over_the_file) {
    write_file("store-bytes = 1g\nkeep-steps = 7 # steps\n\n# all of it\nstage=2\n");
    char *environment[] = {"STAGEWIRE_STORE_BYTES=3g", "STAGEWIRE_KEEP_STEPS=8", NULL};
    cr_assert_eq(load(ARGS(NEEDED, "--config", path, "--store-bytes=4g"), environment), SW_OK, "%s",
                 error.message);
    cr_assert_eq(config.endpoint.store_bytes, 4ull << 30);
    cr_assert_eq(config.endpoint.keep_steps, 8);
    cr_assert_eq(config.endpoint.stage, 2);
}

Test(config, listeners_add_up_within_one_source_and_replace_those_of_a_lower_one) {
    char *environment[] = {"STAGEWIRE_LISTEN=unix:/a,unix:/b", NULL};
    cr_assert_eq(load(ARGS("--run-id", "r"), environment), SW_OK, "%s", error.message);
    cr_assert_eq(config.endpoint.listen_count, 2);
    cr_assert_str_eq(config.endpoint.listen[1], "unix:/b");
    config_free(&config);
    cr_assert_eq(load(ARGS(NEEDED, "--listen", "unix:/c"), environment), SW_OK, "%s", error.message);
    cr_assert_eq(config.endpoint.listen_count, 2);
    cr_assert_str_eq(config.endpoint.listen[0], "127.0.0.1:0");
    cr_assert_str_eq(config.endpoint.listen[1], "unix:/c");
}

Test(config, a_wrong_value_is_named_with_its_flag) {
    expect_wrong(load(ARGS(NEEDED, "--store-bytes", "12x"), none),
                 "--store-bytes 12x: not a size; write 512m or 2g");
}

Test(config, a_wrong_value_is_named_with_its_variable) {
    char *environment[] = {"STAGEWIRE_DRAIN_GRACE=soon", NULL};
    expect_wrong(load(ARGS(NEEDED), environment),
                 "STAGEWIRE_DRAIN_GRACE=soon: not a duration; write 500ms, 30s, 10m or 1h");
}

static void expect_wrong_at(sw_status status, const char *line_and_rest) {
    char message[256];
    snprintf(message, sizeof message, "%s:%s", path, line_and_rest);
    expect_wrong(status, message);
}

Test(config, a_wrong_value_is_named_with_its_file_and_line) {
    write_file("# one\n\nkeep-steps = 0\n");
    expect_wrong_at(load(ARGS(NEEDED, "--config", path), none),
                    "3: keep-steps = 0: not a number from 1; write digits, for instance 3");
}

Test(config, blanks_around_the_entries_of_a_list_count_for_nothing) {
    write_file("run-id = r\nlisten = unix:/a , [::1]:80\n");
    cr_assert_eq(load(ARGS("--config", path), none), SW_OK, "%s", error.message);
    cr_assert_eq(config.endpoint.listen_count, 2);
    cr_assert_str_eq(config.endpoint.listen[0], "unix:/a");
    cr_assert_str_eq(config.endpoint.listen[1], "[::1]:80");
}

Test(config, a_value_that_no_line_of_a_file_can_hold_is_refused) {
    static char *const values[] = {" r", "r ", "r\ns", "r #s", "#r"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        cr_assert_eq(load(ARGS("--run-id", values[i], "--listen", "unix:/a"), none), SW_INVALID_ARGUMENT);
        cr_assert(strstr(error.message, "no line break and no # after a blank"), "%s", error.message);
        config_free(&config);
    }
    expect_wrong(load(ARGS("--run-id", "r", "--listen", "unix:/a,#b"), none),
                 "--listen unix:/a,#b: an entry of the list begins with #");
}

Test(config, a_line_that_is_none_is_named) {
    write_file("stage 3\n");
    expect_wrong_at(load(ARGS(NEEDED, "--config", path), none), "1: stage 3: not KEY = VALUE");
}

Test(config, a_key_that_nobody_knows_is_named) {
    write_file("stage = 3\nsteps = 4\n");
    expect_wrong_at(load(ARGS(NEEDED, "--config", path), none),
                    "2: steps: there is no such option; stagewired --help lists them");
}

Test(config, a_file_that_is_not_there_is_named) {
    expect_wrong(load(ARGS(NEEDED, "--config", "/none/such"), none),
                 "--config /none/such: No such file or directory");
}

Test(config, an_option_that_nobody_knows_is_named) {
    expect_wrong(load(ARGS(NEEDED, "--stoer-bytes", "1"), none),
                 "--stoer-bytes: there is no such option; see --help");
    config_free(&config);
    expect_wrong(load(ARGS(NEEDED, "extra"), none), "extra: no option begins like this; see --help");
    config_free(&config);
    expect_wrong(load(ARGS("--run-id"), none), "--run-id: its value is missing; see --help");
}

Test(config, without_a_run_or_a_listener_it_says_what_to_give) {
    cr_assert_eq(load(ARGS("--listen", "127.0.0.1:0"), none), SW_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.message, "--run-id is missing"));
    config_free(&config);
    cr_assert_eq(load(ARGS("--run-id", "r"), none), SW_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.message, "--listen is missing"));
}

Test(config, a_switch_may_be_turned_off_again) {
    char *environment[] = {"STAGEWIRE_PUBLISH_ON_LOOPBACK=true", NULL};
    cr_assert_eq(load(ARGS(NEEDED), environment), SW_OK);
    cr_assert(config.endpoint.publish_on_loopback);
    config_free(&config);
    cr_assert_eq(load(ARGS(NEEDED, "--publish-on-loopback=false"), environment), SW_OK);
    cr_assert(!config.endpoint.publish_on_loopback);
    config_free(&config);
    cr_assert_eq(load(ARGS(NEEDED, "--publish-on-loopback=maybe"), environment), SW_INVALID_ARGUMENT);
}

static char *printed(void) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    config_print(&config, out);
    fclose(out);
    return text;
}

Test(config, what_is_printed_is_a_file_that_says_the_same) {
    char *environment[] = {"STAGEWIRE_STORE_BYTES=3g", NULL};
    cr_assert_eq(load(ARGS(NEEDED, "--stage", "3", "--listen", "unix:/b", "--print-config"), environment),
                 SW_OK);
    char *first = printed();
    cr_assert_not_null(strstr(first, "# STAGEWIRE_STORE_BYTES\nstore-bytes = 3g\n"));
    cr_assert_not_null(strstr(first, "# --listen\nlisten = 127.0.0.1:0\nlisten = unix:/b\n"));
    cr_assert_not_null(strstr(first, "# default\nkeep-steps = 1024\n"));
    write_file(first);
    config_free(&config);
    cr_assert_eq(load(ARGS("--config", path), none), SW_OK, "%s", error.message);
    cr_assert_eq(config.endpoint.store_bytes, 3ull << 30);
    cr_assert_eq(config.endpoint.stage, 3);
    cr_assert_eq(config.endpoint.listen_count, 2);
    free(first);
}

Test(config, no_option_is_there_twice) {
    for (size_t row = 0; row < option_count; row++)
        cr_assert_eq(option_find(option_table[row].name, strlen(option_table[row].name)), (int)row, "%s",
                     option_table[row].name);
}

Test(config, help_names_every_flag_and_variable) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    config_help(out);
    fclose(out);
    const char *const wanted[] = {"--listen ADDRESS",
                                  "STAGEWIRE_LISTEN",
                                  "--store-bytes SIZE",
                                  "(2g)",
                                  "STAGEWIRE_KEEP_TENSOR_STEPS",
                                  "--publish-on-loopback",
                                  "--config FILE",
                                  "--print-config"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        cr_assert_not_null(strstr(text, wanted[i]), "%s", wanted[i]);
    cr_assert_null(strstr(text, "STAGEWIRE_PRINT_CONFIG"));
    free(text);
}
