/* The stage that is a process of its own, so that it can be killed and stopped. */
#ifndef STAGEWIRE_TESTS_FAULT_PROCESS_H
#define STAGEWIRE_TESTS_FAULT_PROCESS_H

#include <sys/types.h>

#include "tests/fault/part.h"

struct control *process_control_create(int *ret_fd);
/* This program again, with what the part says and what it shares. */
pid_t process_start(const struct part *part, int control_fd);
int process_end(pid_t pid); /* waits: its exit status, or 128 + the signal */

#endif
