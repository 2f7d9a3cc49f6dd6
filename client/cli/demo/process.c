#include "client/cli/demo/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/cli/demo/report.h"
#include "proto/base/error.h"

#define PROGRAM      "/proc/self/exe"
#define NOT_EXECUTED 127

/* In the child: only calls that are safe there. SIGINT is the launcher's, who then ends the stages. */
static void become_stage(int control, int report, pid_t launcher, char *const arguments[]) {
    sigset_t none;
    sigemptyset(&none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) _exit(NOT_EXECUTED);
    signal(SIGINT, SIG_IGN);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(control, STDIN_FILENO) < 0 || dup2(report, REPORT_DESCRIPTOR) < 0) _exit(NOT_EXECUTED);
    if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0) _exit(NOT_EXECUTED);
    execv(PROGRAM, arguments);
    _exit(NOT_EXECUTED);
}

static sw_status refused(const char *what, sw_error *error) {
    return error_set_code(error, SW_UNAVAILABLE, SW_REASON_NONE, "cannot start a stage: %s: %s", what,
                          strerror(errno));
}

/* Both ends are closed in whatever is executed, and none is a descriptor that a stage is given. */
static bool make_pipe(int ends[2]) {
    int low[2];
    if (pipe2(low, O_CLOEXEC) != 0) return false;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, REPORT_DESCRIPTOR + 1);
        close(low[i]);
    }
    return ends[0] >= 0 && ends[1] >= 0;
}

static void close_pipe(int ends[2]) {
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0) close(ends[i]);
}

sw_status process_start(struct process *process, char *const arguments[], sw_error *error) {
    int control[2] = {-1, -1}, report[2] = {-1, -1};
    sw_status status;
    if (!make_pipe(control) || !make_pipe(report)) {
        status = refused("pipe", error);
        goto close_pipes;
    }
    pid_t launcher = getpid();
    pid_t pid = fork();
    if (pid < 0) {
        status = refused("fork", error);
        goto close_pipes;
    }
    if (pid == 0) become_stage(control[0], report[1], launcher, arguments);
    close(control[0]);
    close(report[1]);
    fcntl(report[0], F_SETFL, O_NONBLOCK);
    *process = (struct process){.pid = pid, .control = control[1], .report = report[0], .started = true};
    return SW_OK;

close_pipes:
    close_pipe(control);
    close_pipe(report);
    return status;
}

bool process_over(struct process *process) {
    if (process->pid > 0 && waitpid(process->pid, &process->ended_as, WNOHANG) == process->pid)
        process->pid = 0;
    return process->started && process->pid == 0;
}

bool process_succeeded(const struct process *process) {
    return process->started && process->pid == 0 && WIFEXITED(process->ended_as) &&
           WEXITSTATUS(process->ended_as) == 0;
}

void process_signal(const struct process *process, int signal) {
    if (process->pid > 0) kill(process->pid, signal);
}

void process_close(struct process *process) {
    if (process->control >= 0) close(process->control);
    if (process->report >= 0) close(process->report);
    process->control = process->report = -1;
}
