/* A stage's process: this program again, with descriptors to talk to it. gRPC and fork do not mix, so it is
 * executed anew. It never outlives the launcher. */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_PROCESS_H
#define STAGEWIRE_CLIENT_CLI_DEMO_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include <stagewire/status.h>

struct process {
    pid_t pid;    /* 0: not started, or over */
    int control;  /* its standard input; -1: closed */
    int report;   /* what it writes on REPORT_DESCRIPTOR; -1: at its end */
    bool started; /* once */
    int ended_as; /* of waitpid, once it is over */
};

/* `arguments` begins with the program's name and ends with NULL. UNAVAILABLE says what the system refused. */
sw_status process_start(struct process *process, char *const arguments[], sw_error *error);

/* Whether it is over; never blocks. */
bool process_over(struct process *process);
bool process_succeeded(const struct process *process); /* over, with exit status 0 */

void process_signal(const struct process *process, int signal); /* fine if it is over */
void process_close(struct process *process);                    /* the descriptors */

#endif
