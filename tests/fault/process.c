#include "tests/fault/process.h"

#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fault/campaign.h"

extern char **environ;

static struct control *map(int fd) {
    struct control *control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (control == MAP_FAILED) abort();
    return control;
}

struct control *process_control_create(int *ret_fd) {
    *ret_fd = memfd_create("campaign", MFD_CLOEXEC);
    if (*ret_fd < 0 || ftruncate(*ret_fd, sizeof(struct control)) != 0) abort();
    return map(*ret_fd);
}

enum { SEED, GENERATION, STEP, MEETING, STAGE, EVENTS, TICKS, CONTROL, NUMBERS };

pid_t process_start(const struct part *part, int control_fd) {
    const uint64_t numbers[NUMBERS] = {part->seed,
                                       part->generation,
                                       part->step,
                                       part->meeting,
                                       part->stage,
                                       (uint64_t)part->events,
                                       (uint64_t)part->ticks,
                                       (uint64_t)control_fd};
    char texts[NUMBERS][24];
    char *argv[NUMBERS + 4] = {"fault_campaign", STAGE_ARGUMENT, (char *)part->target};
    for (unsigned i = 0; i < NUMBERS; i++) {
        snprintf(texts[i], sizeof texts[i], "%" PRIu64, numbers[i]);
        argv[3 + i] = texts[i];
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    /* Onto itself: so it is not closed. */
    posix_spawn_file_actions_adddup2(&actions, part->events, part->events);
    posix_spawn_file_actions_adddup2(&actions, part->ticks, part->ticks);
    posix_spawn_file_actions_adddup2(&actions, control_fd, control_fd);
    pid_t pid;
    if (posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ) != 0) abort();
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

int process_end(pid_t pid) {
    int status;
    if (waitpid(pid, &status, 0) != pid) abort();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int campaign_play_stage(char **arguments) {
    uint64_t numbers[NUMBERS];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned i = 0; i < NUMBERS; i++) {
        if (!arguments[1 + i]) return 2;
        numbers[i] = strtoull(arguments[1 + i], NULL, 10);
    }
    struct part part = {.seed = numbers[SEED],
                        .control = map((int)numbers[CONTROL]),
                        .events = (int)numbers[EVENTS],
                        .ticks = (int)numbers[TICKS],
                        .target = arguments[0],
                        .stage = (unsigned)numbers[STAGE],
                        .generation = numbers[GENERATION],
                        .step = numbers[STEP],
                        .meeting = numbers[MEETING]};
    stage_play(&part);
    return 0;
}
