#include "client/cli/demo/launcher.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "client/cli/demo/board.h"
#include "client/cli/demo/stages.h"
#include "client/cli/demo/workspace.h"
#include "client/cli/messages.h"
#include "proto/base/clock.h"
#include "proto/base/error.h"

#define PATIENCE_MS  10000 /* for the others to find out by themselves that a stage is gone */
#define TERMINATE_MS 2000  /* from SIGTERM to SIGKILL */

/* How far the end has come, once it has begun. */
enum ending { RUNNING, WAITING_FOR_OTHERS, TERMINATED, KILLED };

struct launcher {
    const char *who;
    const struct demo_options *options;
    struct workspace workspace;
    struct stages stages;
    struct board board;
    int signals; /* a signalfd */
    enum ending ending;
    int64_t next_ms; /* when `ending` goes on */
    bool interrupted;
    bool unwritable; /* standard output is, so all was ended */
};

static int64_t now_ms(void) {
    return clock_now_ms(&clock_system);
}

static void go_on(struct launcher *launcher, enum ending ending, int64_t after_ms) {
    launcher->ending = ending;
    launcher->next_ms = clock_after(now_ms(), after_ms);
}

static void terminate(struct launcher *launcher) {
    if (launcher->ending >= TERMINATED) return;
    stages_signal(&launcher->stages, SIGTERM);
    go_on(launcher, TERMINATED, TERMINATE_MS);
}

static void end_in_time(struct launcher *launcher) {
    if (launcher->ending == RUNNING && stages_any_failed(&launcher->stages))
        go_on(launcher, WAITING_FOR_OTHERS, PATIENCE_MS);
    if (launcher->ending == RUNNING || now_ms() < launcher->next_ms) return;
    if (launcher->ending == WAITING_FOR_OTHERS) {
        messages_say(launcher->who, EXIT_INTERNAL, "stages that have not ended after %d s are terminated",
                     PATIENCE_MS / 1000);
        terminate(launcher);
    } else {
        stages_signal(&launcher->stages, SIGKILL);
        go_on(launcher, KILLED, TERMINATE_MS);
    }
}

static sw_status open_signals(struct launcher *launcher, sw_error *error) {
    static const int watched[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
    sigset_t mask;
    sigemptyset(&mask);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) sigaddset(&mask, watched[i]);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    launcher->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (launcher->signals >= 0) return SW_OK;
    return error_set_code(error, SW_UNAVAILABLE, SW_REASON_NONE, "signalfd: %s", strerror(errno));
}

static void take_signals(struct launcher *launcher) {
    struct signalfd_siginfo info;
    while (read(launcher->signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD) continue;
        launcher->interrupted = true;
        terminate(launcher);
    }
}

static sw_status wait_for_something(struct launcher *launcher, sw_error *error) {
    struct pollfd descriptors[NETWORK_STAGES_MAX + 1] = {{.fd = launcher->signals, .events = POLLIN}};
    unsigned count = launcher->stages.count;
    for (unsigned i = 0; i < count; i++)
        descriptors[i + 1] =
            (struct pollfd){.fd = launcher->stages.stage[i].process.report, .events = POLLIN};
    int64_t left = launcher->ending == RUNNING ? -1 : launcher->next_ms - now_ms();
    if (launcher->ending != RUNNING && left < 0) left = 0;
    if (poll(descriptors, count + 1, (int)left) < 0) return SW_OK;
    if (descriptors[0].revents) take_signals(launcher);
    for (unsigned i = 0; i < count; i++) {
        if (!descriptors[i + 1].revents) continue;
        sw_status status = stages_read(&launcher->stages, i, &launcher->board, error);
        if (status != SW_OK) return status;
    }
    return SW_OK;
}

static sw_status watch_over(struct launcher *launcher, sw_error *error) {
    sw_status status = SW_OK;
    while (!stages_all_over(&launcher->stages)) {
        sw_error why;
        sw_status now = wait_for_something(launcher, &why);
        if (now != SW_OK) {
            terminate(launcher);
            if (status == SW_OK) *error = why;
            status = now;
        }
        if (launcher->ending == RUNNING && ferror(launcher->board.out)) {
            launcher->unwritable = true;
            terminate(launcher);
        }
        end_in_time(launcher);
    }
    return status;
}

static enum cli_exit judge(struct launcher *launcher) {
    struct board *board = &launcher->board;
    if (launcher->unwritable) return EXIT_OK; /* main finds out whether that is a failure */
    if (launcher->interrupted)
        return messages_say(launcher->who, EXIT_INTERRUPTED, "interrupted at step %" PRIu64, board->shown);
    if (stages_any_failed(&launcher->stages)) return stages_explain(&launcher->stages, launcher->who);
    if (!board_all_done(board))
        return messages_say(launcher->who, EXIT_INTERNAL, "a stage ended without its digest");
    if (!board_digests_equal(board))
        return messages_say(launcher->who, EXIT_DATA_LOSS,
                            "the digests differ: a stage pulled something else than was published");
    double accuracy = board_held_out_accuracy(board);
    if (launcher->options->steps >= LAUNCHER_JUDGED_STEPS && accuracy < LAUNCHER_ACCURACY_MIN)
        return messages_say(launcher->who, EXIT_INTERNAL, "held-out accuracy %.4f is below %.2f", accuracy,
                            LAUNCHER_ACCURACY_MIN);
    return EXIT_OK;
}

static sw_status run(struct launcher *launcher, sw_error *error) {
    sw_status status = SW_OK;
    if (launcher->options->transport == DEMO_UNIX) status = workspace_create(&launcher->workspace, error);
    if (status != SW_OK) return status;
    status = stages_start(&launcher->stages, launcher->options, &launcher->workspace, error);
    if (status != SW_OK) terminate(launcher);
    sw_error why;
    sw_status watched = watch_over(launcher, &why);
    if (status == SW_OK && watched != SW_OK) *error = why;
    stages_close(&launcher->stages);
    workspace_remove(&launcher->workspace);
    return status == SW_OK ? watched : status;
}

enum cli_exit launcher_run(const char *who, const struct demo_options *options) {
    struct launcher launcher = {.who = who, .options = options};
    if (!board_init(&launcher.board, options, stdout))
        return messages_say(who, EXIT_EXHAUSTED, "no memory for %" PRIu64 " steps", options->steps);
    sw_error error;
    enum cli_exit code = EXIT_OK;
    sw_status status = open_signals(&launcher, &error);
    if (status == SW_OK) status = run(&launcher, &error);
    if (status == SW_OK) board_finish(&launcher.board);
    code = status == SW_OK ? judge(&launcher) : messages_error(who, &error);
    board_destroy(&launcher.board);
    if (launcher.signals >= 0) close(launcher.signals);
    return code;
}
