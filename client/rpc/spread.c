#include "client/rpc/spread.h"

#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/base/list.h"
#include "proto/transport/slices.h"

#define MIB (UINT64_C(1) << 20)

#define SCOUT_FROM (8 * MIB) /* what takes no longer than further connections need to begin */
/* Comes while the workers' questions are on their way. */
#define FIRST_SHARE      (4 * MIB)
#define FIRST_SHARE_LONG (8 * MIB)
#define LAST_SHARES      (2 * MIB) /* a connection has about as much under way */

/* Each stream begins with the whole manifest, some 50 bytes a tensor: so shares are the larger, the more
 * tensors there are, and small ones are not shared out where nothing but memory is gained by it. */
#define SHARE_A_TENSOR    (UINT64_C(1) << 10)
#define SHARED_TENSOR_MIN (UINT64_C(64) << 10) /* on average */

/* Of what is left, for each worker: so the shares become smaller, and all end at about the same time. */
#define SHARES_EACH 2

void spread_init(struct spread *spread, struct sw_call *call, const struct pull *pull,
                 struct reassembly *assembly) {
    spread->call = call;
    spread->pull = pull;
    spread->assembly = assembly;
}

void spread_fini(struct spread *spread) {
    for (size_t i = 0; i < sizeof spread->workers / sizeof *spread->workers; i++)
        runs_destroy(&spread->workers[i].share);
    runs_destroy(&spread->left);
    runs_destroy(&spread->first);
}

static struct link *link_of(const struct spread *spread) {
    return &spread->call->client->link;
}

static const struct parts *parts_of(const struct spread *spread) {
    return reassembly_parts(spread->assembly);
}

static unsigned workers_of(const struct spread *spread) {
    return link_of(spread)->connections * SPREAD_WORKERS_EACH;
}

static void fail_without_memory(struct spread *spread) {
    sw_error error;
    error_no_memory(&error);
    client_call_fail(spread->call, &error);
}

/* ---- a worker ---- */

static sw_status encode_request(const struct worker *worker, bool manifest_only, sw_buffer **ret_request,
                                sw_error *error) {
    const struct spread *spread = worker->spread;
    const struct manifest *manifest = reassembly_manifest(spread->assembly);
    struct pull_request request = pull_request_of(spread->pull, spread->call, 0);
    request.address = manifest->address;
    request.latest = false;
    request.wait.no_wait = true;
    request.pin = manifest->pin;
    request.manifest_only = manifest_only;
    struct arena arena;
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
    sw_status status = runs_ranges(&worker->share, parts_of(spread), manifest, &arena, &request.ranges,
                                   &request.range_count, error);
    if (status == SW_OK) status = stream_tensors_request_encode(&request, ret_request, error);
    arena_destroy(&arena);
    return status;
}

static void start(struct worker *worker, const struct attempt_ops *ops, bool manifest_only) {
    struct sw_call *call = worker->spread->call;
    struct channel *channel = connection_channel(&call->client->connection, worker->connection);
    sw_buffer *request;
    sw_error error;
    if (!channel || encode_request(worker, manifest_only, &request, &error) != SW_OK) {
        fail_without_memory(worker->spread);
        return;
    }
    struct attempt_start start = {
        .loop = call->client->loop,
        .channel = channel,
        .method = call->ops->method,
        .request = request,
        .reads = READS_ALL,
        .deadline_ms = call_deadline_ms(call),
    };
    worker->asked_ms = loop_now_ms(start.loop);
    worker->has_answered = false;
    call->more++;
    attempt_start(&worker->attempt, ops, &start);
    sw_buffer_unref(request);
}

static void answered(struct worker *worker) {
    if (!worker->has_answered)
        link_answered(link_of(worker->spread), loop_now_ms(worker->attempt.loop) - worker->asked_ms);
    worker->has_answered = true;
}

static void give_back(struct spread *spread, struct runs *share) {
    if (!runs_give_back(parts_of(spread), &spread->left, share)) fail_without_memory(spread);
}

static uint64_t next_share(const struct spread *spread, unsigned connection) {
    uint64_t share = link_share(link_of(spread), connection);
    uint64_t fair = spread->left.bytes / (workers_of(spread) * SHARES_EACH);
    uint64_t least = reassembly_manifest(spread->assembly)->tensor_count * SHARE_A_TENSOR;
    if (fair < LAST_SHARES) fair = LAST_SHARES;
    if (share > fair) share = fair;
    return share > least ? share : least;
}

static const struct attempt_ops workers;

static void ask(struct worker *worker, unsigned connection) {
    struct spread *spread = worker->spread;
    worker->connection = connection;
    if (runs_take(parts_of(spread), &spread->left, next_share(spread, connection), &worker->share))
        start(worker, &workers, false);
    else
        fail_without_memory(spread);
}

/* Who came last to a connection waits for who came first, so the connections take turns. */
static void ask_all(struct spread *spread) {
    unsigned connections = link_of(spread)->connections;
    for (unsigned i = 0; i < workers_of(spread) && spread->left.count > 0; i++) {
        struct worker *worker = &spread->workers[i];
        if (call_is_ending(spread->call)) return;
        worker->spread = spread;
        if (!attempt_under_way(&worker->attempt) && !worker->has_failed) ask(worker, i % connections);
    }
}

static sw_status take(struct worker *worker, grpc_byte_buffer *message, sw_error *error) {
    struct message_pieces pieces;
    sw_status status = message_pieces_of(message, &pieces, error);
    if (status != SW_OK) return status;
    status = reassembly_take_beside(worker->spread->assembly, !worker->has_answered, pieces.pieces,
                                    pieces.count, error);
    message_pieces_free(&pieces);
    return status;
}

static void worker_message(struct attempt *attempt, grpc_byte_buffer *message) {
    struct worker *worker = container_of(attempt, struct worker, attempt);
    struct spread *spread = worker->spread;
    sw_error error;
    if (call_is_ending(spread->call) || worker->has_failed) return;
    sw_status status = take(worker, message, &error);
    if (status != SW_OK && !worker->has_answered) {
        worker->has_failed = true;
        attempt_cancel(attempt);
    } else if (status != SW_OK) {
        client_call_fail(spread->call, &error);
    } else {
        answered(worker);
        spread->call->bytes_arrived = reassembly_bytes_arrived(spread->assembly);
        spread_measure(spread);
    }
}

/* Its answer is of use to nobody when the others have ended. */
static void end_scout_if_alone(struct spread *spread) {
    if (attempt_under_way(&spread->call->attempt)) return;
    for (unsigned i = 0; i < workers_of(spread); i++)
        if (attempt_under_way(&spread->workers[i].attempt)) return;
    attempt_cancel(&spread->scout.attempt);
}

static void worker_ended(struct attempt *attempt, const sw_error *error) {
    struct worker *worker = container_of(attempt, struct worker, attempt);
    struct spread *spread = worker->spread;
    uint64_t left = spread->left.bytes;
    give_back(spread, &worker->share);
    if (error->code != SW_OK || spread->left.bytes > left) worker->has_failed = true;
    link_stream_ended(link_of(spread), worker->connection, !worker->has_failed);
    ask_all(spread);
    end_scout_if_alone(spread);
    call_more_ended(spread->call);
}

static const struct attempt_ops workers = {.message = worker_message, .ended = worker_ended};

/* ---- beginning ---- */

static void start_measuring(struct spread *spread) {
    spread->connections = link_of(spread)->connections;
    spread->measured_ms = loop_now_ms(spread->call->client->loop);
    spread->bytes_before = reassembly_bytes_arrived(spread->assembly);
}

static void begin(struct spread *spread) {
    spread->is_on = true;
    spread->blocks_before = reassembly_blocks_arrived(spread->assembly);
    for (size_t i = 0; i < sizeof spread->workers / sizeof *spread->workers; i++)
        spread->workers[i].has_failed = false;
    start_measuring(spread);
    ask_all(spread);
}

/* ---- is it a long link? ---- */

static void scout_message(struct attempt *attempt, grpc_byte_buffer *message) {
    struct worker *scout = container_of(attempt, struct worker, attempt);
    struct spread *spread = scout->spread;
    sw_error error;
    if (call_is_ending(spread->call) || take(scout, message, &error) != SW_OK) return;
    answered(scout);
    if (!link_may_be_long(link_of(spread))) return;
    link_is_long(link_of(spread));
    start_measuring(spread);
    ask_all(spread);
}

static void scout_ended(struct attempt *attempt, const sw_error *error) {
    (void)error;
    call_more_ended(container_of(attempt, struct worker, attempt)->spread->call);
}

static const struct attempt_ops scouts = {.message = scout_message, .ended = scout_ended};

static void send_scout(struct spread *spread) {
    spread->scout.spread = spread;
    spread->scout.connection = 1;
    start(&spread->scout, &scouts, true);
}

/* ---- the call's own stream ---- */

uint64_t spread_limit(struct spread *spread, bool may_bring_memory) {
    bool brought_nothing =
        spread->is_on && reassembly_blocks_arrived(spread->assembly) == spread->blocks_before;
    if (brought_nothing) spread->is_of_no_use = true;
    spread->is_on = false;
    spread->left.count = 0;
    spread->left.bytes = 0;
    spread->limit = link_of(spread)->connections > 1 ? FIRST_SHARE_LONG : FIRST_SHARE;
    if (may_bring_memory || spread->is_of_no_use) spread->limit = 0;
    return spread->limit;
}

static sw_status share_out(struct spread *spread, sw_error *error) {
    const struct parts *parts = parts_of(spread);
    if (!runs_missing(parts, &spread->left) ||
        !runs_take(parts, &spread->left, spread->limit, &spread->first))
        return error_no_memory(error);
    begin(spread);
    return SW_OK;
}

static bool is_worth_sharing(const struct spread *spread) {
    const struct manifest *manifest = reassembly_manifest(spread->assembly);
    return !link_is_short(link_of(spread)) ||
           reassembly_bytes_in_all(spread->assembly) >= manifest->tensor_count * SHARED_TENSOR_MIN;
}

sw_status spread_manifest_came(struct spread *spread, sw_error *error) {
    uint64_t missing = reassembly_bytes_in_all(spread->assembly) - reassembly_bytes_arrived(spread->assembly);
    if (!is_worth_sharing(spread)) spread->is_of_no_use = true;
    if (spread->limit == 0 || spread->is_of_no_use) return SW_OK;
    if (missing >= SCOUT_FROM && link_may_be_long(link_of(spread))) send_scout(spread);
    return share_out(spread, error);
}

void spread_stream_ended(struct spread *spread) {
    give_back(spread, &spread->first);
    if (spread->is_on && !call_is_ending(spread->call)) ask_all(spread);
    end_scout_if_alone(spread);
}

/* ---- how fast it goes ---- */

void spread_measure(struct spread *spread) {
    struct link *link = link_of(spread);
    int64_t now_ms = loop_now_ms(spread->call->client->loop), took_ms = now_ms - spread->measured_ms;
    bool is_whole = reassembly_whole(spread->assembly);
    uint64_t bytes = reassembly_bytes_arrived(spread->assembly) - spread->bytes_before;
    if (!spread->is_on || took_ms == 0) return;
    if (took_ms < link_measures_ms(link) && !(is_whole && bytes >= SCOUT_FROM)) return;
    link_measured(link, spread->connections, (double)bytes / (double)took_ms, now_ms);
    start_measuring(spread);
    ask_all(spread);
}

/* ---- the end ---- */

void spread_stop(struct spread *spread) {
    attempt_cancel(&spread->scout.attempt);
    for (size_t i = 0; i < sizeof spread->workers / sizeof *spread->workers; i++)
        attempt_cancel(&spread->workers[i].attempt);
}
