#include "client/rpc/workers.h"

#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/base/list.h"
#include "proto/transport/slices.h"

#define LAST_SHARES (UINT64_C(2) << 20) /* a connection has about as much under way */

/* Each stream begins with the whole manifest, some 50 bytes a tensor: so shares are the larger, the more
 * tensors there are. */
#define SHARE_A_TENSOR (UINT64_C(1) << 10)

/* Of what is left, for each worker: so the shares become smaller, and all end at about the same time. */
#define SHARES_EACH 2

static unsigned workers_of(const struct spread *spread) {
    return spread_link(spread)->connections * SPREAD_WORKERS_EACH;
}

static void fail_without_memory(struct spread *spread) {
    sw_error error;
    error_no_memory(&error);
    client_call_fail(spread->call, &error);
}

/* ---- asking ---- */

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
    sw_status status = runs_ranges(&worker->share, spread_parts(spread), manifest, &arena, &request.ranges,
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
    worker->asked_ms = worker->came_ms = loop_now_ms(start.loop);
    worker->has_answered = worker->is_doubled = false;
    call->more++;
    attempt_start(&worker->attempt, ops, &start);
    sw_buffer_unref(request);
}

static void answered(struct worker *worker) {
    if (!worker->has_answered)
        link_answered(spread_link(worker->spread), loop_now_ms(worker->attempt.loop) - worker->asked_ms);
    worker->has_answered = true;
}

void workers_give_back(struct spread *spread, struct runs *share) {
    if (!runs_give_back(spread_parts(spread), &spread->left, share)) fail_without_memory(spread);
}

static uint64_t next_share(const struct spread *spread, unsigned connection) {
    uint64_t share = link_share(spread_link(spread), connection);
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
    if (runs_take(spread_parts(spread), &spread->left, next_share(spread, connection), &worker->share))
        start(worker, &workers, false);
    else
        fail_without_memory(spread);
}

/* Until it has brought what is missing of its share, as it goes. */
static int64_t needs_ms(const struct worker *worker, uint64_t missing, int64_t now_ms) {
    uint64_t brought = worker->share.bytes - missing;
    return brought > 0 ? (int64_t)((double)missing / (double)brought * (double)(now_ms - worker->asked_ms))
                       : 0;
}

/* By how much it is slower than patience allows: with all that it still has to bring, or with the next block.
 */
static int64_t too_slow_ms(const struct worker *worker, int64_t now_ms) {
    const struct spread *spread = worker->spread;
    const struct link *link = spread_link(spread);
    uint64_t missing = runs_missing_bytes(spread_parts(spread), &worker->share);
    uint32_t block = reassembly_manifest(spread->assembly)->block_bytes;
    if (missing == 0) return 0;
    int64_t with_all_ms = needs_ms(worker, missing, now_ms) - link_patience_ms(link, missing);
    int64_t with_block_ms = now_ms - worker->came_ms - link_patience_ms(link, block);
    return with_all_ms > with_block_ms ? with_all_ms : with_block_ms;
}

/* When nothing is left, what the slowest connection still has to bring is left once more, where it comes
 * sooner over this other one. */
static void double_the_slowest(struct spread *spread, unsigned connection) {
    struct worker *slowest = NULL;
    int64_t slowest_ms = 0, now_ms = loop_now_ms(spread->call->client->loop);
    for (unsigned i = 0; i <= SPREAD_WORKERS; i++) {
        struct worker *worker = &spread->workers[i];
        if (!attempt_under_way(worker->stream) || worker->is_doubled || worker->connection == connection)
            continue;
        int64_t ms = too_slow_ms(worker, now_ms);
        if (ms > slowest_ms) slowest = worker;
        if (ms > slowest_ms) slowest_ms = ms;
    }
    if (!slowest) return;
    slowest->is_doubled = spread->is_doubled = true;
    if (!runs_double(spread_parts(spread), &spread->left, &slowest->share)) fail_without_memory(spread);
}

/* Who came last to a connection waits for who came first, so the connections take turns. */
void workers_ask(struct spread *spread) {
    struct loop *loop = spread->call->client->loop;
    unsigned connections = spread_link(spread)->connections;
    bool has_idle = false;
    for (unsigned i = 0; i < workers_of(spread) && !call_is_ending(spread->call); i++) {
        struct worker *worker = &spread->workers[i];
        if (attempt_under_way(&worker->attempt) || worker->has_failed) continue;
        if (i == connections && attempt_under_way(&spread->call->attempt)) continue; /* which stands for it */
        if (spread->left.count == 0) double_the_slowest(spread, i % connections);
        if (spread->left.count > 0)
            ask(worker, i % connections);
        else
            has_idle = true;
    }
    bool looks_again = connections > 1 && (has_idle || reassembly_whole(spread->assembly));
    loop_timer_set(loop, &spread->look_again,
                   looks_again ? loop_now_ms(loop) + link_patience_ms(spread_link(spread), 0) : CLOCK_NEVER);
}

/* Where all has come, a stream of which nothing but its end is missing has had its time. */
static void look_again(struct loop_timer *timer) {
    struct spread *spread = container_of(timer, struct spread, look_again);
    if (reassembly_whole(spread->assembly))
        workers_end_those_with_nothing_to_bring(spread);
    else
        workers_ask(spread);
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
        worker->came_ms = loop_now_ms(attempt->loop);
        spread->call->bytes_arrived = reassembly_bytes_arrived(spread->assembly);
        spread_block_came(spread);
    }
}

/* Its answer is of use to nobody when the others have ended. */
void workers_end_the_scout_if_alone(struct spread *spread) {
    if (attempt_under_way(&spread->call->attempt)) return;
    for (unsigned i = 0; i < SPREAD_WORKERS; i++)
        if (attempt_under_way(&spread->workers[i].attempt)) return;
    attempt_cancel(&spread->scout.attempt);
}

static void worker_ended(struct attempt *attempt, const sw_error *error) {
    (void)error; /* what it did not bring tells as much */
    struct worker *worker = container_of(attempt, struct worker, attempt);
    struct spread *spread = worker->spread;
    struct link *link = spread_link(spread);
    uint64_t left = spread->left.bytes, asked = worker->share.bytes;
    workers_give_back(spread, &worker->share);
    if (spread->left.bytes > left) worker->has_failed = true;
    if (worker->has_failed || worker->is_doubled)
        link_stream_broke(link, worker->connection);
    else
        link_stream_brought(link, worker->connection, asked, loop_now_ms(attempt->loop) - worker->asked_ms);
    workers_ask(spread);
    workers_end_the_scout_if_alone(spread);
    call_more_ended(spread->call);
}

static const struct attempt_ops workers = {.message = worker_message, .ended = worker_ended};

/* Others have brought what they would bring next. */
void workers_end_those_with_nothing_to_bring(struct spread *spread) {
    for (unsigned i = 0; i <= SPREAD_WORKERS; i++) {
        struct worker *worker = &spread->workers[i];
        bool has_all =
            worker->share.bytes > 0 && runs_missing_bytes(spread_parts(spread), &worker->share) == 0;
        if (!has_all || !attempt_under_way(worker->stream)) continue;
        if (worker == spread_own(spread)) spread->has_ended_it = true;
        attempt_cancel(worker->stream);
    }
}

void workers_begin(struct spread *spread) {
    spread->look_again.run = look_again;
    for (unsigned i = 0; i < SPREAD_WORKERS; i++) spread->workers[i].has_failed = false;
    workers_ask(spread);
}

void workers_stop(struct spread *spread) {
    attempt_cancel(&spread->scout.attempt);
    for (unsigned i = 0; i < SPREAD_WORKERS; i++) attempt_cancel(&spread->workers[i].attempt);
}

/* ---- is it a long link? ---- */

static void scout_message(struct attempt *attempt, grpc_byte_buffer *message) {
    struct worker *scout = container_of(attempt, struct worker, attempt);
    struct spread *spread = scout->spread;
    sw_error error;
    if (call_is_ending(spread->call) || take(scout, message, &error) != SW_OK) return;
    answered(scout);
    if (!link_may_be_long(spread_link(spread))) return;
    link_is_long(spread_link(spread));
    spread_start_measuring(spread);
    workers_ask(spread);
}

static void scout_ended(struct attempt *attempt, const sw_error *error) {
    (void)error;
    call_more_ended(container_of(attempt, struct worker, attempt)->spread->call);
}

static const struct attempt_ops scouts = {.message = scout_message, .ended = scout_ended};

void workers_send_scout(struct spread *spread) {
    spread->scout.connection = 1;
    start(&spread->scout, &scouts, true);
}
