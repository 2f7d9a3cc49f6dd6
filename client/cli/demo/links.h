/* A stage's connections: its own endpoint, where it publishes; its neighbours, from whom it pulls activations
 * and gradients; the last stage, whose end it notices whatever it is waiting for. */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_LINKS_H
#define STAGEWIRE_CLIENT_CLI_DEMO_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/client.h>
#include <stagewire/endpoint.h>

#include "client/cli/demo/report.h"
#include "client/cli/latency.h"

#define LINKS_RUN_ID     "demo"
#define LINKS_GENERATION 1
#define LINKS_GRACE_MS   2000  /* after which a stage that is gone counts as lost */
#define LINKS_TIMEOUT_MS 60000 /* of every pull */
#define LINKS_LINGER_MS  5000  /* for neighbours who have yet to pull the end */

struct links {
    unsigned stage, stages;
    sw_endpoint *endpoint;
    sw_lease *lease;
    sw_client *before, *after; /* NULL where there is none */
    sw_client *last;           /* NULL on the last stage itself */
    sw_call *end; /* a pull that is answered when the last stage is done, or lost; NULL once it was */
    struct latency latency;
    struct report_traffic traffic; /* but for the percentiles */
};

/* Serves at `listen`, with the consumers of what this stage publishes declared. On failure links_close is due
 * too. */
sw_status links_serve(struct links *links, unsigned stage, unsigned stages, const char *listen,
                      sw_error *error);
/* `endpoints` of all stages. */
sw_status links_connect(struct links *links, char (*endpoints)[REPORT_ENDPOINT_MAX], sw_error *error);

/* Publishes [rows, columns] of float32 as the tensor of (channel, step, call). */
sw_status links_publish(struct links *links, const char *channel, uint64_t step, unsigned call,
                        const float *values, size_t rows, size_t columns, sw_error *error);
/* Pulls it from a neighbour, `before` or `after`. The last stage's loss ends the wait, too. */
enum links_side { LINKS_BEFORE, LINKS_AFTER };
sw_status links_pull(struct links *links, enum links_side side, const char *channel, uint64_t step,
                     unsigned call, float *values, size_t rows, size_t columns, sw_error *error);

/* Counts a pull that began at `started_unix_ns`: from then, or from its publication if that was later. */
void links_count_pull(struct links *links, int64_t started_unix_ns, int64_t published_unix_ns, size_t bytes);
int64_t links_now_unix_ns(void);
struct report_traffic links_traffic(const struct links *links);

/* The last stage says that all is done; the others wait for that. */
sw_status links_announce_end(struct links *links, sw_error *error);
sw_status links_await_end(struct links *links, sw_error *error);

/* Tells the neighbours why this stage ends early. */
void links_abort(struct links *links, const sw_error *failure);

/* Where all is `done`, releases what was pulled and lets the neighbours pull the rest. Takes zeroed links,
 * too. */
void links_close(struct links *links, bool done);

#endif
