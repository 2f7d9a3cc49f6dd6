/* A stagewired of a test's own: started, waited for, stopped. It dies with the test. */
#ifndef STAGEWIRE_TESTS_DAEMON_H
#define STAGEWIRE_TESTS_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct daemon;

/* Starts $STAGEWIRED with `args` (ends with NULL) and a --port-file of its own, and waits until it serves.
 * NULL if it ended instead; what it said is then on stderr. */
struct daemon *daemon_start(const char *const *args);
/* The same of another program, which takes --port-file too. */
struct daemon *daemon_start_program(const char *path, const char *const *args);

/* The same without waiting: daemon_await_serving does. */
struct daemon *daemon_spawn(const char *const *args);
/* False if it ended instead. */
bool daemon_await_serving(struct daemon *daemon);

/* The index-th line of its port file, as a client names it. */
const char *daemon_target(const struct daemon *daemon, unsigned index);
pid_t daemon_pid(const struct daemon *daemon);

void daemon_signal(struct daemon *daemon, int number);
/* Waits until it has ended: its exit status, or 128 + the signal that ended it; -1 after `timeout_ms` (-1:
 * none). */
int daemon_wait(struct daemon *daemon, int timeout_ms);
int daemon_stop(struct daemon *daemon);  /* SIGTERM, then waits */
void daemon_kill(struct daemon *daemon); /* SIGKILL, then waits; fine if it has ended */

/* What it has written to stderr so far; lives until the next call. */
const char *daemon_log(struct daemon *daemon);

void daemon_destroy(struct daemon *daemon); /* kills it if it still runs; takes NULL */

#endif
