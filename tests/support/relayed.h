/* A client that reaches a daemon through a relay, and tensors that are known to the bit: "big", between
 * "small" and "last". */
#ifndef STAGEWIRE_TESTS_RELAYED_H
#define STAGEWIRE_TESTS_RELAYED_H

#include "tests/support/client.h"
#include "tests/support/relay.h"

enum { RELAYED_SMALL = 1000 };

struct relayed {
    struct bench bench;
    struct relay *relay;
    sw_client *client; /* through the relay */
    uint8_t *big;
    size_t size; /* of `big` */
};

/* After bench_open of `bench`: a relay to one of its listeners. */
void relayed_open(struct relayed *r, const char *endpoint, size_t size);
void relayed_close(struct relayed *r);

/* Each way. The relay holds a quarter of a MiB a connection: so with 10 ms each connection brings some 12
 * MB/s, and more bring more. */
void relayed_delay(struct relayed *r, int64_t delay_ms);
uint64_t relayed_arrived(const struct relayed *r);
/* So that what is counted from now on is not the connection's beginning. */
void relayed_round_trip(struct relayed *r);
/* That are open at the endpoint. */
uint64_t relayed_streams(struct relayed *r);

sw_status relayed_publish_by(struct relayed *r, sw_publisher *publisher, uint64_t step, bool *ret_duplicate);
void relayed_publish(struct relayed *r, uint64_t step);

sw_call *relayed_start(struct relayed *r, uint64_t step, int64_t timeout_ms);
/* Until so many bytes more have come. */
sw_call *relayed_start_and_wait_for(struct relayed *r, uint64_t step, uint64_t bytes);
/* Destroys the call. */
sw_status relayed_finish(struct relayed *r, sw_call *call, sw_tensors **ret_tensors);
void relayed_finish_and_check(struct relayed *r, sw_call *call);
void relayed_pull_and_check(struct relayed *r, uint64_t step);

#endif
