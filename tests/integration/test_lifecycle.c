/* How a daemon comes up, where it may be reached and for what, and how it goes down. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/scene.h"
#include "tests/support/test.h"

static char folder[] = "/tmp/stagewire-sockets-XXXXXX";
static char path[64], name[72], lock[72];

static void setup(void) {
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s", folder);
    snprintf(name, sizeof name, "unix:%s", path);
    snprintf(lock, sizeof lock, "%s.lock", path);
}
static void teardown(void) {
    unlink(path);
    unlink(lock);
    rmdir(folder);
}
TestSuite(lifecycle, .init = setup, .fini = teardown, .timeout = 60);

#define START(...) daemon_start((const char *[]){"--run-id", "r", ##__VA_ARGS__, NULL})
#define SPAWN(...) daemon_spawn((const char *[]){__VA_ARGS__, NULL})

static bool is_there(const char *file) {
    struct stat status;
    return lstat(file, &status) == 0;
}

/* ---- signals ---- */

Test(lifecycle, sigterm_ends_an_idle_daemon_with_0) {
    struct daemon *daemon = START("--listen", "127.0.0.1:0");
    cr_assert_eq(daemon_stop(daemon), 0, "%s", daemon_log(daemon));
    daemon_destroy(daemon);
}

Test(lifecycle, sigint_does_the_same) {
    struct daemon *daemon = START("--listen", "127.0.0.1:0");
    daemon_signal(daemon, SIGINT);
    cr_assert_eq(daemon_wait(daemon, -1), 0, "%s", daemon_log(daemon));
    daemon_destroy(daemon);
}

/* The signal stays blocked through exec, so that it is there from the first instruction on. */
Test(lifecycle, sigterm_while_it_still_starts_ends_it_with_0_too) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    struct daemon *daemon = SPAWN("--run-id", "r", "--listen", "127.0.0.1:0", "--listen", name);
    daemon_signal(daemon, SIGTERM);
    cr_assert_eq(daemon_wait(daemon, -1), 0, "%s", daemon_log(daemon));
    cr_assert(!is_there(path) && !is_there(lock));
    daemon_destroy(daemon);
}

static void hold_a_step_for_c0(struct scene *scene) {
    sw_channel_policy policy = scene_policy("train", SW_METRICS, 1);
    cr_assert_not_null(scene_attach(scene, 1, &policy, 1));
    scene_publish(scene, AT("train", 0), 1);
    expect_ok(scene);
}

Test(lifecycle, a_second_signal_ends_a_drain_at_once) {
    struct scene scene;
    scene_open(&scene, NULL);
    hold_a_step_for_c0(&scene);
    scene_drain(&scene);
    cr_assert_eq(daemon_wait(scene.daemon, 0), -1, "it drains for c0");
    daemon_signal(scene.daemon, SIGTERM);
    cr_assert_eq(daemon_wait(scene.daemon, 10000), 128 + SIGTERM);
    scene_close(&scene);
}

Test(lifecycle, a_drain_ends_when_the_expected_consumer_has_what_is_held) {
    struct scene scene;
    scene_open(&scene, NULL);
    hold_a_step_for_c0(&scene);
    scene_drain(&scene);
    int64_t value;
    scene_get(&scene, AT("train", 0), &value);
    expect_ok(&scene);
    scene_release(&scene, AT("train", 0), SW_METRICS, "c0", 1);
    expect_ok(&scene);
    cr_assert_eq(daemon_wait(scene.daemon, 10000), 0, "%s", daemon_log(scene.daemon));
    scene_close(&scene);
}

Test(lifecycle, a_drain_ends_with_its_grace) {
    struct scene scene;
    scene_open(&scene, "--drain-grace", "700ms", NULL);
    hold_a_step_for_c0(&scene);
    scene_drain(&scene);
    cr_assert_eq(daemon_wait(scene.daemon, 10000), 0, "%s", daemon_log(scene.daemon));
    scene_close(&scene);
}

Test(lifecycle, at_the_end_leases_and_watches_are_told_shutting_down) {
    struct scene scene;
    sw_buffer *watch;
    sw_error error;
    scene_open(&scene, NULL);
    struct raw_call *lease = scene_attach(&scene, 1, NULL, 0);
    cr_assert_eq(watch_request_encode(&(struct watch_request){.start = WATCH_NEW}, &watch, NULL), SW_OK);
    struct raw_call *watching = raw_start(scene.raw, RAW_STAGE("WatchLossMetrics"), watch, true, 60000);
    cr_assert(raw_headers(watching));
    daemon_signal(scene.daemon, SIGTERM);
    raw_finish(lease, &error);
    cr_assert_eq(error.reason, SW_REASON_SHUTTING_DOWN, "%s", error.message);
    raw_finish(watching, &error);
    cr_assert_eq(error.reason, SW_REASON_SHUTTING_DOWN, "%s", error.message);
    cr_assert_eq(daemon_wait(scene.daemon, 10000), 0, "%s", daemon_log(scene.daemon));
    scene_close(&scene);
}

/* ---- where it listens ---- */

Test(lifecycle, the_port_file_has_a_line_each_in_the_order_given_and_goes_with_the_daemon) {
    struct daemon *daemon = START("--listen", name, "--listen", "127.0.0.1:0", "--listen", "localhost:0");
    cr_assert_str_eq(daemon_target(daemon, 0), name);
    cr_assert_eq(strncmp(daemon_target(daemon, 1), "127.0.0.1:", 10), 0);
    cr_assert_neq(atoi(daemon_target(daemon, 1) + 10), 0);
    cr_assert_eq(strncmp(daemon_target(daemon, 2), "localhost:", 10), 0);
    cr_assert_null(daemon_target(daemon, 3));
    cr_assert_eq(daemon_stop(daemon), 0);
    daemon_destroy(daemon);
}

Test(lifecycle, a_unix_socket_is_for_owner_and_group_and_goes_with_the_daemon) {
    struct stat status;
    umask(0);
    struct daemon *daemon = START("--listen", name);
    cr_assert_eq(stat(path, &status), 0);
    cr_assert_eq(status.st_mode & 0777, 0660);
    cr_assert_eq(daemon_stop(daemon), 0);
    cr_assert(!is_there(path) && !is_there(lock));
    daemon_destroy(daemon);
}

static void expect_end(struct daemon *daemon, int status, const char *words) {
    cr_assert_eq(daemon_wait(daemon, 20000), status, "%s", daemon_log(daemon));
    cr_assert_not_null(strstr(daemon_log(daemon), words), "%s", daemon_log(daemon));
    daemon_destroy(daemon);
}

Test(lifecycle, a_unix_socket_in_use_is_not_taken_over) {
    struct daemon *first = START("--listen", name);
    expect_end(SPAWN("--run-id", "r", "--listen", name), 1, "another endpoint serves there");
    struct raw *raw = raw_open(name);
    sw_buffer *request;
    sw_error error;
    cr_assert_eq(stage_info_request_encode("", &request, NULL), SW_OK);
    cr_assert_eq(raw_unary(raw, RAW_STAGE("GetStageInfo"), request, 5000, NULL, &error), SW_OK, "%s",
                 error.message);
    raw_close(raw);
    cr_assert_eq(daemon_stop(first), 0);
    daemon_destroy(first);
}

Test(lifecycle, the_unix_socket_of_a_killed_daemon_is_replaced) {
    struct daemon *first = START("--listen", name);
    daemon_kill(first);
    cr_assert(is_there(path));
    struct daemon *second = START("--listen", name);
    cr_assert_not_null(second);
    cr_assert_eq(daemon_stop(second), 0);
    daemon_destroy(first);
    daemon_destroy(second);
}

Test(lifecycle, somebody_elses_socket_or_file_is_left_alone) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert(bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 1) == 0);
    expect_end(SPAWN("--run-id", "r", "--listen", name), 1, "another process serves there");
    close(fd);
    unlink(path);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    expect_end(SPAWN("--run-id", "r", "--listen", name), 1, "a file that is no socket");
    cr_assert(is_there(path));
}

Test(lifecycle, a_taken_port_is_an_error_that_says_so) {
    struct daemon *first = START("--listen", "127.0.0.1:0");
    expect_end(SPAWN("--run-id", "r", "--listen", daemon_target(first, 0)), 1, "Address already in use");
    daemon_destroy(first);
}

Test(lifecycle, what_it_was_told_wrong_is_named_and_the_status_is_2) {
    expect_end(SPAWN("--listen", "127.0.0.1:0"), 2, "--run-id is missing");
    expect_end(SPAWN("--run-id", "r", "--listen", "nowhere"), 2, "listen 'nowhere'");
    expect_end(SPAWN("--run-id", "r", "--listen", "0.0.0.0:0"), 2, "--insecure-plaintext");
    expect_end(SPAWN("--run-id", "r", "--listen", name, "--stage", "4", "--stages", "4"), 2, "of 4 stages");
}

Test(lifecycle, plaintext_beyond_this_machine_is_served_where_it_is_allowed_and_warned_of) {
    struct daemon *daemon = START("--listen", "0.0.0.0:0", "--insecure-plaintext", "--log-format", "json");
    cr_assert_not_null(strstr(daemon_log(daemon), "\"warn\""), "%s", daemon_log(daemon));
    daemon_destroy(daemon);
}

/* ---- for what ---- */

static sw_status publish_at(const char *target, sw_error *error) {
    struct raw *raw = raw_open(target);
    sw_buffer *request;
    const struct publish_failure_request failure = {
        .address = {.channel = "train"}, .kind = SW_METRICS, .message = "no"};
    cr_assert_eq(publish_failure_request_encode(&failure, &request, NULL), SW_OK);
    sw_status status = raw_unary(raw, RAW_PUBLISHER("PublishFailure"), request, 5000, NULL, error);
    raw_close(raw);
    return status;
}

Test(lifecycle, publishing_is_served_on_unix_sockets_only) {
    struct daemon *daemon = START("--listen", name, "--listen", "127.0.0.1:0");
    sw_error error;
    cr_assert_eq(publish_at(daemon_target(daemon, 1), &error), SW_PERMISSION_DENIED);
    cr_assert_not_null(strstr(error.message, "--publish-on-loopback"), "%s", error.message);
    cr_assert_eq(publish_at(daemon_target(daemon, 0), &error), SW_OK, "%s", error.message);
    daemon_destroy(daemon);
}

Test(lifecycle, publishing_on_loopback_does_not_open_it_to_others) {
    struct daemon *daemon = START("--listen", "127.0.0.1:0", "--listen", "0.0.0.0:0", "--publish-on-loopback",
                                  "--insecure-plaintext");
    sw_error error;
    cr_assert_eq(publish_at(daemon_target(daemon, 0), &error), SW_OK, "%s", error.message);
    cr_assert_eq(publish_at(daemon_target(daemon, 1), &error), SW_PERMISSION_DENIED);
    daemon_destroy(daemon);
}

Test(lifecycle, a_method_that_nobody_knows_is_unimplemented_at_once) {
    struct scene scene;
    sw_buffer *request;
    scene_open(&scene, NULL);
    cr_assert_eq(stage_info_request_encode("", &request, NULL), SW_OK);
    raw_unary(scene.raw, RAW_STAGE("GetStageInformation"), request, 30000, NULL, &scene.error);
    cr_assert_eq(scene.error.code, SW_UNIMPLEMENTED);
    expect_words(&scene, "GetStageInformation", "stagewire.v1.StageService");
    scene_close(&scene);
}
