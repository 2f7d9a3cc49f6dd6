/* The table of a pull: one function a row, in the contract's order. A row that answers fills the pull and
 * returns true. */
#include <string.h>

#include "service/store/internal.h"
#include "service/store/words.h"

struct question {
    struct store *store;
    struct store_pull *pull;
    const struct pull_request *request;
    struct at at;
    bool arriving; /* not one that waits already */

    /* as the pull's generation has it; NULL where it is another than the current one, or where there is none
     */
    struct store_channel *channel;
    struct store_stage *stage;
    struct item *item; /* held at the address, or the newest that is no failure where the latest is wanted */
};

static struct subject subject_of(const struct question *q) {
    return (struct subject){pull_address(q->store, q->pull), q->pull->kind,
                            q->request->latest ? ABOUT_LATEST : ABOUT_STEP};
}

/* 0: the first that begins. One that waits goes with its channel. */
static uint64_t generation_of(const struct store_pull *pull) {
    return pull->waiting ? pull->waiting->generation : pull->generation;
}

/* A row's answer: a code that was worded into the pull's error. */
static bool refuse(struct question *q, sw_status code) {
    q->pull->status = code;
    return true;
}

/* ---- the rows ---- */

static bool of_another_run(struct question *q) {
    if (!store_is_other_run(q->store, q->request->address.run_id)) return false;
    struct subject subject = {q->request->address, q->pull->kind, ABOUT_STEP};
    return refuse(q, say_other_run(q->store, &subject, &q->pull->error));
}

static bool of_several_stages(struct question *q) {
    const sw_address *address = &q->request->address;
    sw_status code = channel_settle_stage(q->store, address, q->pull->kind, &q->pull->stage, &q->pull->error);
    return code != SW_OK && refuse(q, code);
}

static bool of_a_tensor_that_the_item_lacks(struct question *q) {
    if (!q->item || !q->item->shown.tensors) return false;
    for (uint32_t i = 0; i < q->request->range_count; i++) {
        const char *name = q->request->ranges[i].name;
        if (tensor_set_find(q->item->shown.tensors, name, strlen(name)) >= 0) continue;
        struct subject subject = {q->item->shown.address, SW_TENSORS, ABOUT_STEP};
        return refuse(q, say_no_such_tensor(&subject, name, q->item->shown.tensors, &q->pull->error));
    }
    return false;
}

static bool is_outside(const struct tensor_range *range, uint64_t blocks) {
    if (range->first_block >= blocks) return range->first_block > 0 || range->block_count > 0;
    return range->block_count > blocks - range->first_block;
}

static bool of_blocks_outside(struct question *q) {
    if (!q->item || !q->item->shown.tensors) return false;
    const struct tensor_set *set = q->item->shown.tensors;
    for (uint32_t i = 0; i < q->request->range_count; i++) {
        const struct tensor_range *range = &q->request->ranges[i];
        const struct tensor *tensor = &set->tensors[tensor_set_find(set, range->name, strlen(range->name))];
        uint64_t blocks = tensor_blocks(tensor->info.byte_length, set->block_bytes);
        if (!is_outside(range, blocks)) continue;
        struct subject subject = {q->item->shown.address, SW_TENSORS, ABOUT_STEP};
        return refuse(q, say_bad_range(&subject, range, blocks, &q->pull->error));
    }
    return false;
}

static bool of_a_held_item(struct question *q) {
    if (!q->item || q->item->shown.failed) return false;
    q->item->references++;
    if (q->item->shown.tensors) pins_begin_stream(q->store, q->item, q->request->consumer.id);
    q->pull->item = &q->item->shown;
    return refuse(q, SW_OK);
}

/* Judged on arrival: a pin that has ended stays as none. */
static bool with_a_pin_that_stands(struct question *q) {
    if (!q->arriving || q->request->pin == 0 || q->pull->kind != SW_TENSORS) return false;
    struct item *pinned = pins_find(q->store, q->request->pin);
    if (!pinned) return false;
    q->item = pinned;
    return of_a_tensor_that_the_item_lacks(q) || of_blocks_outside(q) || of_a_held_item(q);
}

static bool of_an_older_generation(struct question *q) {
    uint64_t generation = generation_of(q->pull);
    if (generation == 0 || generation >= q->store->generation) return false;
    struct subject subject = subject_of(q);
    return refuse(q, say_superseded(q->store, &subject, &q->pull->error));
}

static bool of_a_failure(struct question *q) {
    if (!q->item || !q->item->shown.failed) return false;
    struct subject subject = subject_of(q);
    return refuse(q, say_failed(&subject, q->item->shown.message, &q->pull->error));
}

/* Not held, and its place is behind: below the latest, gone itself, or below what was published before. */
static bool is_behind(const struct question *q) {
    if (!q->channel || q->request->latest) return false;
    const struct history *h = &q->channel->history;
    return q->at.step < q->channel->next_step || (h->count > 0 && !at_below(history_latest(h), q->at));
}

static bool of_an_item_that_is_gone(struct question *q) {
    if (!is_behind(q) || !channel_has_forgotten(q->channel, q->at)) return false;
    struct subject subject = subject_of(q);
    return refuse(q, say_evicted(&subject, q->channel, &q->pull->error));
}

static bool of_one_that_was_skipped(struct question *q) {
    if (!is_behind(q)) return false;
    struct subject subject = subject_of(q);
    return refuse(q, say_skipped(&subject, q->channel, &q->pull->error));
}

static const struct closing *closing_of(const struct question *q) {
    if (q->channel) return q->channel->closed;
    return q->stage ? q->stage->closed : NULL;
}

static bool beyond_the_last_of_a_finished_channel(struct question *q) {
    const struct closing *closed = closing_of(q);
    if (!closed || closed->reason != SW_CLOSE_FINISHED) return false;
    struct subject subject = subject_of(q);
    return refuse(q, say_finished(&subject, q->channel, &q->pull->error));
}

static bool of_an_aborted_channel(struct question *q) {
    const struct closing *closed = closing_of(q);
    if (!closed) return false;
    struct subject subject = subject_of(q);
    return refuse(q, say_aborted(&subject, closed->message, &q->pull->error));
}

static bool of_a_lost_stage(struct question *q) {
    if (!q->stage || !q->stage->lost) return false;
    struct subject subject = subject_of(q);
    return refuse(q, say_lost(&subject, &q->pull->error));
}

static bool while_the_endpoint_goes_down(struct question *q) {
    if (!q->store->draining) return false;
    struct subject subject = subject_of(q);
    return refuse(q, say_shutting_down(&subject, &q->pull->error));
}

static bool beyond_a_limit(struct question *q) {
    if (!q->arriving || q->request->wait.no_wait) return false;
    if (q->store->waiters < q->store->options.max_waiters) return false;
    struct subject subject = subject_of(q);
    return refuse(q,
                  say_limit(q->store, &subject, "waiters", q->store->options.max_waiters, &q->pull->error));
}

static bool not_yet_published(struct question *q) {
    if (!q->arriving) return false;
    bool no_wait = q->request->wait.no_wait;
    if (!no_wait && wait_until(q->store, q->pull->until_ms) > store_now(q->store)) return false;
    struct subject subject = subject_of(q);
    sw_status code = no_wait ? SW_NOT_FOUND : SW_DEADLINE_EXCEEDED;
    return refuse(q, say_not_yet(&subject, q->channel, code, &q->pull->error));
}

/* ---- the table ---- */

/* Before anything is looked up, and before the consumer's release is applied. */
static bool (*const first_rows[])(struct question *) = {
    of_another_run,
    of_several_stages,
};

static bool (*const rows[])(struct question *) = {
    with_a_pin_that_stands,  of_an_older_generation,  of_a_tensor_that_the_item_lacks,
    of_blocks_outside,       of_a_held_item,          of_a_failure,
    of_an_item_that_is_gone, of_one_that_was_skipped, beyond_the_last_of_a_finished_channel,
    of_an_aborted_channel,   of_a_lost_stage,         while_the_endpoint_goes_down,
    beyond_a_limit,          not_yet_published,
};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static bool first_row_that_answers(struct question *q, bool (*const *table)(struct question *),
                                   size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (table[i](q)) return true;
    }
    return false;
}

static struct channel_key key_of(const struct store_pull *pull) {
    const sw_address *address = &pull->request->address;
    return (struct channel_key){pull->stage, address->group, pull->kind, address->channel};
}

/* What the pull's generation knows. One that is still to come knows nothing. */
static void look_up(struct question *q) {
    uint64_t generation = generation_of(q->pull);
    if (generation == 0 || generation != q->store->generation) return;
    struct channel_key key = key_of(q->pull);
    uint64_t index;
    q->channel = channel_find(q->store, &key);
    q->stage = q->channel ? q->channel->stage : stage_find(q->store, key.stage, key.group);
    if (!q->channel) return;
    if (q->request->latest)
        q->item = q->channel->newest_good;
    else if (history_find(&q->channel->history, q->at, &index))
        q->item = history_item(&q->channel->history, index);
}

static struct question question_of(struct store *store, struct store_pull *pull, bool arriving) {
    const sw_address *address = &pull->request->address;
    return (struct question){
        .store = store,
        .pull = pull,
        .request = pull->request,
        .at = {address->step, address->call},
        .arriving = arriving,
    };
}

int64_t wait_until(const struct store *store, int64_t until_ms) {
    int64_t longest = clock_after(store_now(store), store->options.max_wait_ms);
    return until_ms < longest ? until_ms : longest;
}

bool store_pull_start(struct store *store, struct store_pull *pull) {
    struct question q = question_of(store, pull, true);
    uint64_t asked = pull->request->address.generation;
    pull->generation = asked ? asked : store->generation;
    pull->waiting = NULL;
    pull->item = NULL;
    pull->link = (struct list){NULL, NULL};
    pull->place = pull->timer = (struct queue_node){.queued = false};
    if (first_row_that_answers(&q, first_rows, LENGTH(first_rows))) return true;

    struct channel_key key = key_of(pull);
    release_apply(store, &key, asked, &pull->request->consumer);
    look_up(&q);
    if (first_row_that_answers(&q, rows, LENGTH(rows))) return true;
    if (waiting_enter(store, pull, &key, wait_until(store, pull->until_ms))) return false;
    struct subject subject = subject_of(&q);
    return refuse(&q, say_no_memory(store, &subject, &pull->error));
}

bool pull_settle(struct store *store, struct store_pull *pull) {
    struct question q = question_of(store, pull, false);
    look_up(&q);
    if (!first_row_that_answers(&q, rows, LENGTH(rows))) return false;
    waiting_leave(store, pull);
    pull->answered(pull);
    return true;
}

void pull_end_wait(struct store *store, struct store_pull *pull) {
    struct question q = question_of(store, pull, false);
    look_up(&q);
    struct subject subject = subject_of(&q);
    pull->status = say_not_yet(&subject, q.channel, SW_DEADLINE_EXCEEDED, &pull->error);
    waiting_leave(store, pull);
    pull->answered(pull);
}

void store_pull_cancel(struct store *store, struct store_pull *pull) {
    if (pull->waiting) waiting_leave(store, pull);
}

sw_address pull_address(const struct store *store, const struct store_pull *pull) {
    sw_address address = pull->request->address;
    address.run_id = store->options.run_id;
    address.generation = generation_of(pull);
    address.has_stage = true;
    address.stage = pull->stage;
    return address;
}
