/* What most benchmarks do with a client. Whatever fails ends the program. */
#ifndef STAGEWIRE_TESTS_MEASURE_H
#define STAGEWIRE_TESTS_MEASURE_H

#include <stdint.h>

#include <stagewire/client.h>

#include "tests/support/bench_rows.h"

sw_client *measure_open(const char *target);
/* Measures in a process of its own and waits for it: gRPC's threads stay in a process, and do not survive a
 * fork. */
void measure_apart(void (*measure)(void *context), void *context);
/* A tensor "t" of `size` bytes at step 0 of the channel. */
void measure_publish(sw_client *client, const char *channel, const void *bytes, uint64_t size);
/* Pulls it into `into`: how long that took, in us. */
double measure_pull(sw_client *client, const char *channel, void *into, uint64_t size);
/* 20 metrics of the length that trainers give them, about 1 KiB. */
void measure_publish_metrics(sw_client *client, uint64_t step);

#endif
