/* What is compared on one machine: an endpoint of ours, and plain sockets. */
#ifndef STAGEWIRE_TESTS_SIDES_H
#define STAGEWIRE_TESTS_SIDES_H

#include "tests/support/baseline.h"
#include "tests/support/endpoint.h"

struct sides {
    struct endpoint ours;
    struct baseline tcp_server, unix_server;
    struct baseline_client *tcp, *local; /* plain, over TCP and over a Unix socket */
};

/* `more` as in struct endpoint. Open them before any thread. */
void sides_open(struct sides *sides, size_t largest_answer, const char *const *more);
void sides_close(struct sides *sides);

#endif
