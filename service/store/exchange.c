/* Exchanging an object: each stage says whether it has it, and all are answered when all have spoken. */
#include <stdlib.h>

#include "service/store/meeting.h"
#include "service/store/words.h"

#define NAMED 256 /* stages that an error names */

static struct subject subject_of(const struct store_word *word) {
    return (struct subject){word->address, SW_OBJECT, ABOUT_STEP};
}

static bool refuse(struct store_word *word, sw_status code) {
    word->status = code;
    return true;
}

static struct at at_of(const struct store_word *word) {
    return (struct at){word->address.step, word->address.call};
}

/* ---- who has yet to speak, and whether they still can ---- */

static void name_silent(const struct store_meeting *meeting, struct store_word *word, sw_status code) {
    uint32_t stages[NAMED];
    size_t silent = meeting->stage_count - meeting->spoken.count, named = 0;
    for (uint32_t i = 0; i < meeting->stage_count && named < silent && named < NAMED; i++) {
        if (!meeting_word(meeting, i)) stages[named++] = i;
    }
    struct subject subject = subject_of(word);
    word->status = say_silent(&subject, stages, named, silent - named, code, &word->error);
}

/* What is certain of a meeting. */
struct verdict {
    enum { OPEN, COMPLETE, IMPOSSIBLE, REFUSED } is;
    sw_reason reason; /* of IMPOSSIBLE, a stage that can no longer speak; of REFUSED */
    const char *message;
    uint32_t first;         /* the lowest stage that can no longer speak: the message is its */
    uint32_t stages[NAMED]; /* all of them */
    size_t count;
};

/* The order of a pull's table. */
static int rank(sw_reason reason) {
    switch (reason) {
    case SW_REASON_STEP_FAILED:
        return 4;
    case SW_REASON_FINISHED:
        return 3;
    case SW_REASON_PUBLISHER_ABORTED:
        return 2;
    case SW_REASON_PUBLISHER_LOST:
        return 1;
    default:
        return 0;
    }
}

static void consider(struct verdict *verdict, sw_reason reason, const char *message, uint32_t stage) {
    if (rank(reason) < rank(verdict->reason)) return;
    if (rank(reason) > rank(verdict->reason)) {
        verdict->reason = reason;
        verdict->first = UINT32_MAX;
        verdict->count = 0;
    }
    if (stage < verdict->first) {
        verdict->first = stage;
        verdict->message = message;
    }
    verdict->is = IMPOSSIBLE;
    for (size_t i = 0; i < verdict->count; i++) {
        if (verdict->stages[i] == stage) return;
    }
    if (verdict->count < NAMED) verdict->stages[verdict->count++] = stage;
}

static void consider_closing(struct verdict *verdict, const struct closing *closed, uint32_t stage) {
    if (!closed) return;
    if (closed->reason == SW_CLOSE_FINISHED)
        consider(verdict, SW_REASON_FINISHED, NULL, stage);
    else
        consider(verdict, SW_REASON_PUBLISHER_ABORTED, closed->message, stage);
}

static bool is_silent(const struct store_meeting *meeting, uint32_t stage) {
    return stage < meeting->stage_count && !meeting_word(meeting, stage);
}

static void consider_channel(struct verdict *verdict, const struct store_meeting *meeting,
                             const struct store_channel *channel) {
    uint32_t stage = channel->stage->number;
    uint64_t index;
    if (!is_silent(meeting, stage)) return;
    if (history_find(&channel->history, meeting->at, &index)) {
        const struct item *failure = history_item(&channel->history, index);
        consider(verdict, SW_REASON_STEP_FAILED, failure ? failure->shown.message : "", stage);
    }
    consider_closing(verdict, channel->closed, stage);
}

/* A channel that there is has its own closing, which stands whatever became of its stage later. */
static void consider_stage(const struct store *store, struct verdict *verdict,
                           const struct store_meeting *meeting, const struct store_stage *stage) {
    if (stage->group != meeting->of->group || !is_silent(meeting, stage->number)) return;
    struct channel_key key = {stage->number, stage->group, SW_OBJECT, meeting->of->name};
    if (!channel_find(store, &key)) consider_closing(verdict, stage->closed, stage->number);
    if (stage->lost) consider(verdict, SW_REASON_PUBLISHER_LOST, NULL, stage->number);
}

static int compare_numbers(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* A generation to come knows no closings and no losses. */
static void judge(const struct store *store, const struct store_meeting *meeting, struct verdict *verdict) {
    const struct meetings *of = meeting->of;
    verdict->is = meeting_is_complete(meeting) ? COMPLETE : OPEN;
    verdict->reason = SW_REASON_NONE;
    verdict->count = 0;
    if (verdict->is == COMPLETE) return;
    if (of->generation != 0 && of->generation == store->generation) {
        struct channel_key key = {0, of->group, SW_OBJECT, of->name};
        for (struct store_channel *c = NULL; (c = channel_of_any_stage(store, &key, c));)
            consider_channel(verdict, meeting, c);
        list_each(node, &store->mute) {
            consider_stage(store, verdict, meeting, container_of(node, struct store_stage, mute));
        }
        qsort(verdict->stages, verdict->count, sizeof *verdict->stages, compare_numbers);
    }
    if (verdict->is == OPEN && store->draining) {
        verdict->is = REFUSED;
        verdict->reason = SW_REASON_SHUTTING_DOWN;
    }
}

/* ---- answers ---- */

static void answer_complete(struct store_meeting *meeting, struct store_word *word) {
    meeting->references++;
    word->meeting = meeting;
    word->owners = meeting->owners;
    word->owner_count = meeting->owner_count;
    word->value = meeting->value ? sw_buffer_ref(meeting->value) : NULL;
    word->status = SW_OK;
}

static sw_status refuse_for(const struct store *store, sw_reason reason, const struct subject *subject,
                            sw_error *error) {
    switch (reason) {
    case SW_REASON_SUPERSEDED:
        return say_superseded(store, subject, error);
    case SW_REASON_EVICTED:
        return say_meeting_gone(subject, error);
    case SW_REASON_CONFLICT:
        return say_another_word(subject, error);
    case SW_REASON_LIMIT:
        return say_no_memory(store, subject, error);
    default:
        return say_shutting_down(subject, error);
    }
}

static void answer(const struct store *store, struct store_meeting *meeting, struct store_word *word,
                   const struct verdict *verdict) {
    struct subject subject = subject_of(word);
    if (verdict->is == IMPOSSIBLE)
        word->status = say_cannot_speak(&subject, verdict->reason, verdict->stages, verdict->count,
                                        verdict->message, &word->error);
    else if (verdict->is == REFUSED)
        word->status = refuse_for(store, verdict->reason, &subject, &word->error);
    else if (meeting->value_gone)
        word->status = say_meeting_gone(&subject, &word->error);
    else
        answer_complete(meeting, word);
}

/* ---- waiting ---- */

static void leave(struct store *store, struct store_word *word) {
    struct store_meeting *meeting = word->meeting;
    list_remove(&word->link);
    queue_remove(&store->timers, &word->timer);
    store->waiters--;
    if (list_empty(&meeting->waiting)) list_remove(&meeting->in_waiting);
    word->meeting = NULL;
}

static void enter(struct store *store, struct store_meeting *meeting, struct store_word *word) {
    if (list_empty(&meeting->waiting)) list_append(&store->waiting_meetings, &meeting->in_waiting);
    word->meeting = meeting;
    list_append(&meeting->waiting, &word->link);
    queue_put(&store->timers, &word->timer, (uint64_t)wait_until(store, word->until_ms), TIMER_WORD);
    store->waiters++;
}

static void answer_all(struct store *store, struct store_meeting *meeting, const struct verdict *verdict) {
    while (!list_empty(&meeting->waiting)) {
        struct store_word *word = container_of(meeting->waiting.next, struct store_word, link);
        leave(store, word);
        answer(store, meeting, word, verdict);
        word->answered(word);
    }
}

void meeting_settle(struct store *store, struct store_meeting *meeting) {
    if (list_empty(&meeting->waiting)) return;
    struct verdict verdict;
    judge(store, meeting, &verdict);
    if (verdict.is != OPEN) answer_all(store, meeting, &verdict);
}

void meeting_let_go(struct store *store, struct store_meeting *meeting, sw_reason reason) {
    answer_all(store, meeting, &(struct verdict){.is = REFUSED, .reason = reason});
    meeting_drop(store, meeting);
}

void word_end_wait(struct store *store, struct store_word *word) {
    struct store_meeting *meeting = word->meeting;
    leave(store, word);
    name_silent(meeting, word, SW_DEADLINE_EXCEEDED);
    word->answered(word);
}

void store_word_cancel(struct store *store, struct store_word *word) {
    if (list_linked(&word->link)) leave(store, word);
}

void store_word_finish(struct store *store, struct store_word *word) {
    if (list_linked(&word->link)) return;
    if (word->meeting) meeting_unref(store, word->meeting);
    word->meeting = NULL;
    word->owners = NULL;
    word->owner_count = 0;
}

/* ---- speaking ---- */

static void set_floor(struct meetings *meetings) {
    meetings->has_floor = true;
    meetings->floor = meetings->kept[0]->at;
}

void meetings_trim(struct store *store, struct meetings *meetings) {
    while (meetings->count > store->options.keep_steps) {
        meeting_let_go(store, meetings->kept[0], SW_REASON_EVICTED);
        set_floor(meetings);
    }
}

static bool is_gone(const struct meetings *meetings, struct at at) {
    return meetings && meetings->has_floor && at_below(at, meetings->floor);
}

/* It would be the first to go. */
static bool is_below_the_newest(const struct store *store, const struct meetings *meetings, struct at at) {
    return meetings && meetings->count >= store->options.keep_steps && at_below(at, meetings->kept[0]->at);
}

static sw_status check(const struct store *store, const struct store_word *word,
                       const struct meetings *meetings, const struct store_meeting *meeting,
                       sw_error *error) {
    const struct exchange_request *request = word->request;
    struct subject subject = subject_of(word);
    if (!meeting && is_gone(meetings, at_of(word))) return say_meeting_gone(&subject, error);
    uint64_t size = request->value_bytes ? sw_buffer_size(request->value_bytes) : 0;
    if (size > SW_MESSAGE_MAX) return say_larger_than_message(&subject, size, error);
    if (size > store->rest.capacity) return say_larger_than_budget(&subject, &store->rest, size, error);
    if (!meeting) return store->draining ? say_shutting_down(&subject, error) : SW_OK;
    if (meeting->stage_count != request->stage_count)
        return say_another_count(&subject, request->stage_count, meeting->stage_count, error);
    const struct spoken *old = meeting_word(meeting, word->address.stage);
    if (!old) return store->draining ? say_shutting_down(&subject, error) : SW_OK;
    bool same = old->present == request->present &&
                (!old->present || digest_equal(old->digest, request->value_digest));
    return same ? SW_OK : say_another_word(&subject, error);
}

/* Where there is one owner already, nobody will get this value. */
static bool value_counts(const struct store_meeting *meeting, const struct exchange_request *request) {
    return request->present && meeting->owner_count == 0;
}

static sw_status speak(struct store *store, struct store_word *word, struct store_meeting *meeting,
                       sw_error *error) {
    const struct exchange_request *request = word->request;
    struct subject subject = subject_of(word);
    if (meeting_word(meeting, word->address.stage)) return SW_OK;
    struct spoken *spoken = store_get(store, sizeof *spoken);
    if (!spoken || (request->present && !meeting_reserve_owners(store, meeting, 1))) {
        store_put(store, spoken);
        return say_no_memory(store, &subject, error);
    }
    sw_buffer *value = NULL;
    if (value_counts(meeting, request)) {
        uint64_t size = sw_buffer_size(request->value_bytes);
        if (!budget_make_room(store, &store->rest, size)) {
            store_put(store, spoken);
            return say_no_room_for_object(&subject, &store->rest, size, error);
        }
        store->rest.used += size;
        value = sw_buffer_ref(request->value_bytes);
    }
    *spoken = (struct spoken){
        .stage = word->address.stage,
        .present = request->present,
        .digest = request->value_digest,
    };
    meeting_speak(store, meeting, spoken, value);
    return SW_OK;
}

/* Finds or makes the meeting and speaks in it. */
static sw_status join(struct store *store, struct store_word *word, struct store_meeting **ret,
                      sw_error *error) {
    const sw_address *a = &word->address;
    struct subject subject = subject_of(word);
    struct meetings *meetings = meetings_find(store, a->generation, a->group, a->channel);
    struct store_meeting *meeting = meetings ? meeting_find(meetings, at_of(word)) : NULL;
    sw_status status = check(store, word, meetings, meeting, error);
    if (status != SW_OK) return status;
    if (!meeting && is_below_the_newest(store, meetings, at_of(word))) {
        set_floor(meetings);
        return say_meeting_gone(&subject, error);
    }
    if (!meetings && store->meetings.count >= store->options.max_channels)
        return say_limit(store, &subject, "channels", store->options.max_channels, error);
    if (!meetings) meetings = meetings_create(store, a->generation, a->group, a->channel);
    if (!meetings) return say_no_memory(store, &subject, error);
    bool fresh = !meeting;
    if (fresh) meeting = meeting_create(store, meetings, at_of(word), word->request->stage_count);
    status = meeting ? speak(store, word, meeting, error) : say_no_memory(store, &subject, error);
    if (status != SW_OK) {
        if (fresh && meeting) meeting_drop(store, meeting);
        meetings_free_if_empty(store, meetings);
        return status;
    }
    meetings_trim(store, meetings);
    *ret = meeting;
    return SW_OK;
}

static sw_status check_generation(const struct store *store, struct store_word *word, sw_error *error) {
    struct subject subject = subject_of(word);
    if (store_is_other_run(store, word->address.run_id)) return say_other_run(store, &subject, error);
    word->address.run_id = store->options.run_id;
    if (word->address.generation == 0) word->address.generation = store->generation;
    subject = subject_of(word);
    if (word->address.generation < store->generation) return say_superseded(store, &subject, error);
    return SW_OK;
}

/* Nothing is certain: it waits, unless it does not want to or may not. */
static bool wait_or_refuse(struct store *store, struct store_meeting *meeting, struct store_word *word) {
    struct subject subject = subject_of(word);
    bool no_wait = word->request->wait.no_wait;
    if (!no_wait && store->waiters >= store->options.max_waiters)
        return refuse(word, say_limit(store, &subject, "waiters", store->options.max_waiters, &word->error));
    if (no_wait || wait_until(store, word->until_ms) <= store_now(store)) {
        name_silent(meeting, word, no_wait ? SW_NOT_FOUND : SW_DEADLINE_EXCEEDED);
        return true;
    }
    enter(store, meeting, word);
    return false;
}

bool store_word_start(struct store *store, struct store_word *word) {
    struct store_meeting *meeting = NULL;
    word->address = word->request->address;
    word->owners = NULL;
    word->owner_count = 0;
    word->value = NULL;
    word->meeting = NULL;
    word->link = (struct list){NULL, NULL};
    word->timer = (struct queue_node){.queued = false};
    word->status = check_generation(store, word, &word->error);
    if (word->status == SW_OK) word->status = join(store, word, &meeting, &word->error);
    if (word->status != SW_OK) return true;

    struct verdict verdict;
    judge(store, meeting, &verdict);
    if (verdict.is == OPEN) return wait_or_refuse(store, meeting, word);
    if (verdict.is == COMPLETE) answer_all(store, meeting, &verdict);
    answer(store, meeting, word, &verdict);
    return true;
}

/* ---- what happens meanwhile ---- */

void meetings_failed(struct store *store, const struct store_channel *channel, struct at at) {
    struct meetings *meetings = meetings_find(store, store->generation, channel->stage->group, channel->name);
    struct store_meeting *meeting = meetings ? meeting_find(meetings, at) : NULL;
    if (meeting) meeting_settle(store, meeting);
}

void meetings_settle_group(struct store *store, uint32_t group) {
    list_each_safe(node, &store->waiting_meetings) {
        struct store_meeting *meeting = container_of(node, struct store_meeting, in_waiting);
        if (meeting->of->group == group) meeting_settle(store, meeting);
    }
}

void meetings_settle_all(struct store *store) {
    list_each_safe(node, &store->waiting_meetings) {
        meeting_settle(store, container_of(node, struct store_meeting, in_waiting));
    }
}
