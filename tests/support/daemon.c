#include "tests/support/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX    96
#define TARGETS_MAX 8
#define GENTLY_MS   5000

struct daemon {
    pid_t pid;
    int pidfd, inotify;
    bool ended;
    int status;
    char folder[64], port_file[96], log_file[96];
    char *targets[TARGETS_MAX];
    char *log;
};

static const char *program(void) {
    const char *path = getenv("STAGEWIRED");
    return path ? path : STAGEWIRED;
}

static _Noreturn void run(const struct daemon *daemon, const char **argv, pid_t parent) {
    int log = open(daemon->log_file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    execv(argv[0], (char *const *)argv);
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static void name_files(struct daemon *daemon) {
    strcpy(daemon->folder, "/tmp/stagewired-test-XXXXXX");
    if (!mkdtemp(daemon->folder)) abort();
    snprintf(daemon->port_file, sizeof daemon->port_file, "%s/ports", daemon->folder);
    snprintf(daemon->log_file, sizeof daemon->log_file, "%s/log", daemon->folder);
}

static struct daemon *spawn(const char *path, const char *const *args) {
    struct daemon *daemon = calloc(1, sizeof *daemon);
    if (!daemon) abort();
    name_files(daemon);
    const char *argv[ARGS_MAX] = {path, "--port-file", daemon->port_file};
    for (size_t i = 0; args[i]; i++) {
        if (i + 4 >= ARGS_MAX) abort();
        argv[i + 3] = args[i];
    }
    daemon->inotify = inotify_init1(IN_CLOEXEC);
    inotify_add_watch(daemon->inotify, daemon->folder, IN_MOVED_TO);
    pid_t parent = getpid();
    daemon->pid = fork();
    if (daemon->pid < 0) abort();
    if (daemon->pid == 0) run(daemon, argv, parent);
    daemon->pidfd = pidfd_open(daemon->pid, 0);
    return daemon;
}

struct daemon *daemon_spawn(const char *const *args) {
    return spawn(program(), args);
}

static void read_targets(struct daemon *daemon) {
    FILE *file = fopen(daemon->port_file, "r");
    char line[256];
    for (size_t i = 0; file && i < TARGETS_MAX && fgets(line, sizeof line, file); i++) {
        line[strcspn(line, "\n")] = 0;
        daemon->targets[i] = strdup(line);
    }
    if (file) fclose(file);
}

bool daemon_await_serving(struct daemon *daemon) {
    struct pollfd events[2] = {{.fd = daemon->inotify, .events = POLLIN},
                               {.fd = daemon->pidfd, .events = POLLIN}};
    while (access(daemon->port_file, F_OK) != 0) {
        if (events[1].revents) return false;
        if (poll(events, 2, -1) < 0 && errno != EINTR) abort();
        char moved[1024];
        if (events[0].revents && read(daemon->inotify, moved, sizeof moved) < 0) abort();
    }
    read_targets(daemon);
    return true;
}

struct daemon *daemon_start_program(const char *path, const char *const *args) {
    struct daemon *daemon = spawn(path, args);
    if (daemon_await_serving(daemon)) return daemon;
    fprintf(stderr, "%s did not come up: %s\n", path, daemon_log(daemon));
    daemon_destroy(daemon);
    return NULL;
}

struct daemon *daemon_start(const char *const *args) {
    return daemon_start_program(program(), args);
}

const char *daemon_target(const struct daemon *daemon, unsigned index) {
    return index < TARGETS_MAX ? daemon->targets[index] : NULL;
}

pid_t daemon_pid(const struct daemon *daemon) {
    return daemon->pid;
}

void daemon_signal(struct daemon *daemon, int number) {
    if (!daemon->ended) kill(daemon->pid, number);
}

int daemon_wait(struct daemon *daemon, int timeout_ms) {
    if (daemon->ended) return daemon->status;
    struct pollfd end = {.fd = daemon->pidfd, .events = POLLIN};
    int ready;
    do {
        ready = poll(&end, 1, timeout_ms);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) return -1;
    int status;
    if (waitpid(daemon->pid, &status, 0) != daemon->pid) abort();
    daemon->ended = true;
    daemon->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return daemon->status;
}

int daemon_stop(struct daemon *daemon) {
    daemon_signal(daemon, SIGTERM);
    return daemon_wait(daemon, -1);
}

void daemon_kill(struct daemon *daemon) {
    daemon_signal(daemon, SIGKILL);
    daemon_wait(daemon, -1);
}

const char *daemon_log(struct daemon *daemon) {
    FILE *file = fopen(daemon->log_file, "r");
    size_t capacity = 0;
    free(daemon->log);
    daemon->log = NULL;
    if (file && getdelim(&daemon->log, &capacity, 0, file) < 0 && daemon->log) *daemon->log = 0;
    if (file) fclose(file);
    return daemon->log ? daemon->log : "";
}

/* A killed process doesn't tell what it ran, so tests/long/coverage has each given the time to. */
static void end(struct daemon *daemon) {
    if (getenv("STAGEWIRE_GENTLY")) {
        daemon_signal(daemon, SIGTERM);
        daemon_wait(daemon, GENTLY_MS);
    }
    daemon_kill(daemon);
}

void daemon_destroy(struct daemon *daemon) {
    if (!daemon) return;
    end(daemon);
    close(daemon->pidfd);
    close(daemon->inotify);
    unlink(daemon->port_file);
    unlink(daemon->log_file);
    rmdir(daemon->folder);
    for (size_t i = 0; i < TARGETS_MAX; i++) free(daemon->targets[i]);
    free(daemon->log);
    free(daemon);
}
