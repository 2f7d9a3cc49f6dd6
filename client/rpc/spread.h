/* A pull of more than a few MiB, over several connections where the link is long: the call's own stream
 * brings the manifest and the first MiB; the rest is asked for share by share, by two workers a connection,
 * so that one's question is under way while the other's answer comes. What was not asked for can't come: gRPC
 * reads whatever there is before a block is taken from it, which costs memory, and what was read long ago has
 * left the processor's caches. A worker whose stream breaks gives back what has not come, and takes no part
 * any more; when none is left, the call's own stream goes on, and what becomes of that is the call's end.
 * When nothing is left to ask for, what a connection brings slowly, or not at all, is asked for once more
 * over another one.
 *
 * On the loop's thread. What is under way counts in the call's `more`. */
#ifndef STAGEWIRE_CLIENT_RPC_SPREAD_H
#define STAGEWIRE_CLIENT_RPC_SPREAD_H

#include "client/core/link.h"
#include "client/core/reassembly.h"
#include "client/core/runs.h"
#include "client/rpc/call.h"
#include "client/rpc/pull.h"

#define SPREAD_WORKERS_EACH 2u

struct spread;

/* Who brings a share, over one stream after the other. */
struct worker {
    struct spread *spread;
    struct attempt attempt, *stream; /* stream: the call's own attempt, or this one */
    struct runs share;
    unsigned connection;
    int64_t asked_ms, came_ms; /* came: the last block, or before it asked */
    bool has_answered, has_failed;
    bool is_doubled; /* others bring what is missing of its share, too */
};

#define SPREAD_WORKERS (LINK_CONNECTIONS_MAX * SPREAD_WORKERS_EACH)

/* Zeroed, then spread_init. */
struct spread {
    struct sw_call *call;
    const struct pull *pull;
    struct reassembly *assembly;

    /* private */
    struct runs left;
    struct worker workers[SPREAD_WORKERS + 1]; /* the last one is the call's own stream, which begins */
    struct worker scout;                       /* asks a second connection how long an answer takes */
    struct loop_timer look_again;              /* while some have nothing to do */
    uint64_t limit;                            /* of the call's own stream; 0: none */
    uint64_t limit_blocks;                     /* that reach it */
    bool is_on, is_of_no_use;
    bool is_doubled;       /* some blocks are asked for twice */
    bool has_ended_it;     /* the call's own stream */
    unsigned connections;  /* that are measured */
    int64_t measured_ms;   /* since when */
    uint64_t bytes_before; /* that had arrived then */
    uint64_t blocks_before;
};

void spread_init(struct spread *spread, struct sw_call *call, const struct pull *pull,
                 struct reassembly *assembly);
void spread_fini(struct spread *spread);

/* The call's own stream begins, and nothing else is under way: the byte_limit to ask it for, or 0. Memory
 * that is handed over is not read, and comes as a whole. */
uint64_t spread_limit(struct spread *spread, bool may_bring_memory);
/* Its manifest came. RESOURCE_EXHAUSTED without memory. */
sw_status spread_manifest_came(struct spread *spread, sw_error *error);
/* A block came, whoever brought it; and before that, where it was the call's own stream. */
void spread_block_came(struct spread *spread);
void spread_own_block_came(struct spread *spread);
/* It ended. What it did not bring is left for the others. */
void spread_stream_ended(struct spread *spread);
/* ... because others bring what it still would have. */
bool spread_has_ended_it(const struct spread *spread);

/* For the workers: what the rate is measured from, now. */
void spread_start_measuring(struct spread *spread);

static inline struct link *spread_link(const struct spread *spread) {
    return &spread->call->client->link;
}
static inline const struct parts *spread_parts(const struct spread *spread) {
    return reassembly_parts(spread->assembly);
}
static inline struct worker *spread_own(struct spread *spread) {
    return &spread->workers[SPREAD_WORKERS];
}

/* Ends what is under way, soon. */
void spread_stop(struct spread *spread);
/* The call is over. */
void spread_done(struct spread *spread);

#endif
