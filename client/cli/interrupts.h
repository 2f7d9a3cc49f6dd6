/* Ctrl-C, SIGTERM and SIGHUP as something to wait for. */
#ifndef STAGEWIRE_CLIENT_CLI_INTERRUPTS_H
#define STAGEWIRE_CLIENT_CLI_INTERRUPTS_H

/* A descriptor that is readable from the first of them on; a second one ends the program at once. What was
 * ignored when the program began (nohup) stays ignored. Once a process; -1, with errno, without a
 * descriptor. */
int interrupts_open(void);

#endif
