#include "client/rpc/spread.h"

#include "client/rpc/workers.h"
#include "proto/base/error.h"

#define MIB (UINT64_C(1) << 20)

#define SCOUT_FROM (8 * MIB) /* what takes no longer than further connections need to begin */
/* Comes while the workers' questions are on their way; on a long link no more than others bring meanwhile. */
#define FIRST_SHARE      (4 * MIB)
#define FIRST_SHARE_LONG (2 * MIB)
/* On average: each stream begins with the whole manifest, so small ones are not shared out where nothing but
 * memory is gained by it, ... */
#define SHARED_TENSOR_MIN (UINT64_C(64) << 10)
/* ... and nowhere where what a request can name is not the first share, or not twenty times the manifest. */
#define SHARED_TENSOR_LONG_MIN (UINT64_C(4) << 10)

void spread_init(struct spread *spread, struct sw_call *call, const struct pull *pull,
                 struct reassembly *assembly) {
    spread->call = call;
    spread->pull = pull;
    spread->assembly = assembly;
    for (unsigned i = 0; i <= SPREAD_WORKERS; i++) {
        spread->workers[i].spread = spread;
        spread->workers[i].stream = &spread->workers[i].attempt;
    }
    spread_own(spread)->stream = &call->attempt;
    spread->scout.spread = spread;
}

void spread_fini(struct spread *spread) {
    for (unsigned i = 0; i <= SPREAD_WORKERS; i++) runs_destroy(&spread->workers[i].share);
    runs_destroy(&spread->left);
}

/* ---- the call's own stream ---- */

uint64_t spread_limit(struct spread *spread, bool may_bring_memory) {
    bool brought_nothing =
        spread->is_on && reassembly_blocks_arrived(spread->assembly) == spread->blocks_before;
    if (brought_nothing) spread->is_of_no_use = true;
    spread->is_on = spread->is_doubled = spread->has_ended_it = spread_own(spread)->is_doubled = false;
    spread->left.count = 0;
    spread->left.bytes = 0;
    spread->limit = spread_link(spread)->connections > 1 ? FIRST_SHARE_LONG : FIRST_SHARE;
    if (may_bring_memory || spread->is_of_no_use) spread->limit = 0;
    return spread->limit;
}

void spread_start_measuring(struct spread *spread) {
    spread->connections = spread_link(spread)->connections;
    spread->measured_ms = loop_now_ms(spread->call->client->loop);
    spread->bytes_before = reassembly_bytes_arrived(spread->assembly);
}

static sw_status share_out(struct spread *spread, sw_error *error) {
    const struct parts *parts = spread_parts(spread);
    if (!runs_missing(parts, &spread->left) ||
        !runs_take(parts, &spread->left, spread->limit, &spread_own(spread)->share))
        return error_no_memory(error);
    /* It may have waited before. */
    spread_own(spread)->asked_ms = spread_own(spread)->came_ms = loop_now_ms(spread->call->client->loop);
    spread->is_on = true;
    spread->limit_blocks = runs_blocks(&spread_own(spread)->share);
    spread->blocks_before = reassembly_blocks_arrived(spread->assembly);
    spread_start_measuring(spread);
    workers_begin(spread);
    return SW_OK;
}

static bool is_worth_sharing(const struct spread *spread) {
    uint64_t count = reassembly_manifest(spread->assembly)->tensor_count;
    uint64_t least = count > SHARED_TENSOR_LONG_MIN ? count : SHARED_TENSOR_LONG_MIN;
    if (link_is_short(spread_link(spread))) least = SHARED_TENSOR_MIN;
    return reassembly_bytes_in_all(spread->assembly) >= count * least;
}

sw_status spread_manifest_came(struct spread *spread, sw_error *error) {
    uint64_t missing = reassembly_bytes_in_all(spread->assembly) - reassembly_bytes_arrived(spread->assembly);
    if (!is_worth_sharing(spread)) spread->is_of_no_use = true;
    if (spread->limit == 0 || spread->is_of_no_use) return SW_OK;
    if (missing >= SCOUT_FROM && link_may_be_long(spread_link(spread))) workers_send_scout(spread);
    return share_out(spread, error);
}

void spread_stream_ended(struct spread *spread) {
    workers_give_back(spread, &spread_own(spread)->share);
    if (spread->is_on && !call_is_ending(spread->call)) workers_ask(spread);
    workers_end_the_scout_if_alone(spread);
}

/* ---- how fast it goes ---- */

static void measure(struct spread *spread) {
    struct link *link = spread_link(spread);
    int64_t now_ms = loop_now_ms(spread->call->client->loop), took_ms = now_ms - spread->measured_ms;
    bool is_whole = reassembly_whole(spread->assembly);
    uint64_t bytes = reassembly_bytes_arrived(spread->assembly) - spread->bytes_before;
    if (took_ms == 0) return;
    if (took_ms < link_measures_ms(link) && !(is_whole && bytes >= SCOUT_FROM)) return;
    link_measured(link, spread->connections, (double)bytes / (double)took_ms, now_ms);
    spread_start_measuring(spread);
    workers_ask(spread);
}

void spread_block_came(struct spread *spread) {
    if (!spread->is_on) return;
    measure(spread);
    if (spread->is_doubled) workers_end_those_with_nothing_to_bring(spread);
    if (reassembly_whole(spread->assembly))
        workers_ask(spread); /* which looks again, should an end be missing */
}

/* An endpoint that knows of no byte_limit goes on beyond it: then all would come twice. */
void spread_own_block_came(struct spread *spread) {
    spread_own(spread)->came_ms = loop_now_ms(spread->call->client->loop);
    unsigned blocks = spread->call->answers - 1;
    if (!spread->is_on || spread->has_ended_it || blocks <= spread->limit_blocks) return;
    spread->has_ended_it = true;
    attempt_cancel(&spread->call->attempt);
}

bool spread_has_ended_it(const struct spread *spread) {
    return spread->has_ended_it;
}

/* ---- the end ---- */

void spread_stop(struct spread *spread) {
    workers_stop(spread);
}

void spread_done(struct spread *spread) {
    loop_timer_clear(spread->call->client->loop, &spread->look_again);
}
