/* A daemon of stage 3 of 4 that serves run "run-a", and clients of the library to it. */
#ifndef STAGEWIRE_TESTS_CLIENT_H
#define STAGEWIRE_TESTS_CLIENT_H

#include <stdint.h>

#include <stagewire/client.h>

#include "tests/support/daemon.h"

struct bench {
    struct daemon *daemon;
    char folder[64], socket[96]; /* socket: "unix:…", its second listener, the same after a restart */
    const char *const *more;
    sw_client *client; /* an observer, over TCP */
    sw_publisher *publisher;
    sw_error error;
};

/* `more`: further arguments of stagewired, ends with NULL; NULL for none. */
void bench_open(struct bench *bench, const char *const *more);
void bench_close(struct bench *bench);

/* The daemon ends at once and, with bench_up, comes again at its socket, knowing nothing. Then the client
 * over TCP is of no use any more. */
void bench_down(struct bench *bench);
void bench_up(struct bench *bench);

/* Another client, over TCP; a consumer with an id. */
sw_client *bench_client(struct bench *bench, const char *consumer_id);
sw_client *bench_client_of(struct bench *bench, const char *endpoint, int64_t endpoint_grace_ms);

/* Metrics {"v": value}. */
void bench_publish(struct bench *bench, const char *channel, uint64_t step, int64_t value);
sw_status bench_publish_by(sw_client *client, const char *channel, uint64_t step, int64_t value,
                           sw_error *error);

/* Asks the daemon until so many pulls and words wait there. */
void bench_wait_for_waiting(struct bench *bench, uint64_t waiting);

#define bench_ok(bench, call) cr_assert_eq((call), SW_OK, "%s", (bench)->error.message)
#define bench_fails(bench, call, expected_code, expected_reason)                                             \
    do {                                                                                                     \
        cr_assert_eq((call), (expected_code), "%s: %s", sw_status_name((bench)->error.code),                 \
                     (bench)->error.message);                                                                \
        cr_assert_eq((bench)->error.reason, (expected_reason), "%s: %s",                                     \
                     sw_reason_name((bench)->error.reason), (bench)->error.message);                         \
    } while (0)

#endif
