#include "service/store/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define DETAIL_MAX 512

static void put_subject(char *text, size_t size, const struct subject *s) {
    const sw_address *a = &s->address;
    const char *kind = item_kind_name(s->kind);
    switch (s->about) {
    case ABOUT_STEP:
        address_in_words(text, size, a, s->kind);
        break;
    case ABOUT_LATEST:
        snprintf(text, size, "stage %" PRIu32 ", group %" PRIu32 ", %s \"%s\", the latest", a->stage,
                 a->group, kind, a->channel);
        break;
    case ABOUT_CHANNEL:
        snprintf(text, size, "stage %" PRIu32 ", group %" PRIu32 ", %s \"%s\"", a->stage, a->group, kind,
                 a->channel);
        break;
    case ABOUT_STAGE:
        snprintf(text, size, "stage %" PRIu32 ", group %" PRIu32, a->stage, a->group);
        break;
    }
}

static sw_status say(sw_error *error, sw_status code, sw_reason reason, const struct subject *s,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));

static sw_status say(sw_error *error, sw_status code, sw_reason reason, const struct subject *s,
                     const char *format, ...) {
    if (!error) return code;
    char subject[ADDRESS_WORDS_MAX], detail[DETAIL_MAX];
    put_subject(subject, sizeof subject, s);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    return error_set_code(error, code, reason, "%s: %s", subject, detail);
}

#define SAY(error, reason, subject, ...)                                                                     \
    say(error, sw_reason_status(SW_REASON_##reason), SW_REASON_##reason, subject, __VA_ARGS__)

struct position_words {
    char text[48];
};

static struct position_words position(struct at at) {
    struct position_words words;
    snprintf(words.text, sizeof words.text, "%" PRIu64 "/%" PRIu32, at.step, at.call);
    return words;
}

static void add_at(sw_error *error, const char *key, struct at at) {
    error_add_position(error, key, at.step, at.call);
}

/* ---- any request ---- */

sw_status say_other_run(const struct store *store, const struct subject *s, sw_error *error) {
    return SAY(error, RUN_MISMATCH, s,
               "this endpoint of stage %" PRIu32 " serves the run \"%.128s\", not \"%.128s\"; "
               "check which endpoint was dialled, and the run's name",
               store->options.stage, store->options.run_id, s->address.run_id);
}

sw_status say_limit(const struct store *store, const struct subject *s, const char *limit, uint64_t most,
                    sw_error *error) {
    SAY(error, LIMIT, s,
        "the endpoint of stage %" PRIu32 " allows %" PRIu64 " %s and has as many; "
        "end some, or raise the limit there",
        store->options.stage, most, limit);
    error_add(error, "limit", limit);
    return SW_RESOURCE_EXHAUSTED;
}

sw_status say_no_memory(const struct store *store, const struct subject *s, sw_error *error) {
    SAY(error, LIMIT, s,
        "the endpoint of stage %" PRIu32 " has no memory left; "
        "lower --store-bytes there, or give it more memory, and try again",
        store->options.stage);
    error_add(error, "limit", "memory");
    return SW_RESOURCE_EXHAUSTED;
}

sw_status say_shutting_down(const struct subject *s, sw_error *error) {
    return SAY(error, SHUTTING_DOWN, s,
               "the endpoint is going down, and gives only what is already certain; "
               "try again once it is back");
}

/* ---- publishing, leases ---- */

sw_status say_stale(const struct store *store, const struct subject *s, sw_error *error) {
    SAY(error, STALE_GENERATION, s,
        "generation %" PRIu64 " of the job has begun; a trainer of an older one can only end",
        store->generation);
    error_add_number(error, "generation", store->generation);
    return SW_FAILED_PRECONDITION;
}

sw_status say_not_attached(const struct store *store, const struct subject *s, sw_error *error) {
    if (store->generation > 0)
        SAY(error, NOT_ATTACHED, s,
            "the current generation is %" PRIu64 "; attach with the newer one first, which begins it",
            store->generation);
    else
        SAY(error, NOT_ATTACHED, s, "%s",
            "no generation has begun here yet; attach first, which begins it, again if the endpoint was "
            "restarted");
    error_add_number(error, "generation", store->generation ? store->generation : 1);
    return SW_FAILED_PRECONDITION;
}

sw_status say_conflict(const struct subject *s, bool failed, sw_error *error) {
    return SAY(error, CONFLICT, s,
               "%s was published there already, and items never change; "
               "publish at another step or call",
               failed ? "a failure with another message, or in place of an item," : "something else");
}

sw_status say_went_back(const struct subject *s, const struct store_channel *channel, sw_error *error) {
    if (channel->history.count == 0) {
        return SAY(error, STEP_WENT_BACK, s,
                   "its policy says that steps below %" PRIu64
                   " were published before; publish from there on",
                   channel->next_step);
    }
    struct at latest = history_latest(&channel->history);
    SAY(error, STEP_WENT_BACK, s,
        "steps grow within a channel: the latest is %s, and steps below %" PRIu64 " are over; "
        "publish above them, or begin a new generation after a resume",
        position(latest).text, channel->next_step);
    add_at(error, "latest", latest);
    return SW_FAILED_PRECONDITION;
}

sw_status say_closed(const struct subject *s, const struct closing *closed, sw_error *error) {
    SAY(error, CHANNEL_CLOSED, s, "the channel was %s%s%.200s; only a new generation reopens it",
        closed->reason == SW_CLOSE_FINISHED ? "finished" : "aborted", closed->message[0] ? ": " : "",
        closed->message);
    return SW_FAILED_PRECONDITION;
}

sw_status say_in_progress(const struct subject *s, const struct store_publish *open, sw_error *error) {
    return SAY(error, PUBLISH_IN_PROGRESS, s,
               "another tensor publish of the channel, at %s, is open; try again when it has ended",
               position((struct at){open->step, open->call}).text);
}

sw_status say_larger_than_budget(const struct subject *s, const struct budget *budget, uint64_t size,
                                 sw_error *error) {
    SAY(error, TOO_LARGE, s,
        "it has %" PRIu64 " bytes, and the endpoint may hold %" PRIu64 " in all; "
        "raise %s there, or publish it in parts",
        size, budget->capacity, budget->option);
    return SW_INVALID_ARGUMENT;
}

sw_status say_larger_than_message(const struct subject *s, uint64_t size, sw_error *error) {
    SAY(error, TOO_LARGE, s,
        "it has %" PRIu64 " bytes encoded, and a message may have %u; publish it in parts, or as tensors",
        size, SW_MESSAGE_MAX);
    return SW_INVALID_ARGUMENT;
}

sw_status say_manifest_too_large(const struct subject *s, sw_error *error) {
    SAY(error, TOO_LARGE, s,
        "its manifest does not fit a message of %u bytes; publish fewer tensors an item, or shorter names",
        SW_MESSAGE_MAX);
    return SW_INVALID_ARGUMENT;
}

sw_status say_store_full(const struct subject *s, const struct budget *budget, uint64_t size,
                         const char *const *consumers, size_t count, sw_error *error) {
    SAY(error, STORE_FULL, s,
        "%" PRIu64 " bytes are needed, %" PRIu64 " of %" PRIu64 " are taken, and %s; "
        "try again when that has changed, or raise %s",
        size, budget->used, budget->capacity,
        count > 0 ? "expected consumers have yet to release what is held (\"consumers\" names them)"
                  : "what holds them may not go",
        budget->option);
    if (count > 0) error_add_strings(error, "consumers", consumers, count);
    return SW_RESOURCE_EXHAUSTED;
}

sw_status say_closed_otherwise(const struct subject *s, const struct closing *closed, sw_error *error) {
    SAY(error, CONFLICT, s,
        "the channel was closed already, as %s%s%.200s; that stands until a new generation",
        closed->reason == SW_CLOSE_FINISHED ? "finished" : "aborted", closed->message[0] ? ": " : "",
        closed->message);
    return SW_ALREADY_EXISTS;
}

sw_status say_policy_conflict(const struct subject *s, uint32_t policy, sw_error *error) {
    SAY(error, POLICY_CONFLICT, s,
        "the channel was declared otherwise in this generation, and the first declaration stands; "
        "declare the same keep_steps, consumers and max_lag_steps");
    char path[32];
    snprintf(path, sizeof path, "policies[%" PRIu32 "]", policy);
    error_add(error, "path", path);
    return SW_FAILED_PRECONDITION;
}

sw_status say_may_not_declare(const struct subject *s, sw_error *error) {
    return say(
        error, SW_PERMISSION_DENIED, SW_REASON_NONE, s,
        "only who may publish here declares policies; attach without them, or at the stage's own endpoint");
}

/* ---- pulling ---- */

sw_status say_ambiguous(const struct subject *s, const uint32_t *stages, size_t count, sw_error *error) {
    SAY(error, AMBIGUOUS_STAGE, s,
        "%zu stages have that channel here, stage %" PRIu32 " and stage %" PRIu32 " among them; name the one",
        count, stages[0], stages[1]);
    error_add_numbers(error, "stages", stages, count);
    return SW_INVALID_ARGUMENT;
}

sw_status say_superseded(const struct store *store, const struct subject *s, sw_error *error) {
    SAY(error, SUPERSEDED, s,
        "generation %" PRIu64
        " of the job has begun and what older ones published has gone; pull from that one",
        store->generation);
    error_add_number(error, "generation", store->generation);
    return SW_ABORTED;
}

sw_status say_no_such_tensor(const struct subject *s, const char *name, const struct tensor_set *tensors,
                             sw_error *error) {
    SAY(error, NO_SUCH_TENSOR, s,
        "it has no tensor \"%.200s\"; \"tensors\" lists the %" PRIu32 " that it has", name, tensors->count);
    if (!error) return SW_NOT_FOUND;
    const char *names[256];
    uint32_t some = tensors->count < 256 ? tensors->count : 256;
    for (uint32_t i = 0; i < some; i++) names[i] = tensors->tensors[i].info.name;
    error_add_strings(error, "tensors", names, some);
    const char *omitted = sw_error_metadata(error, "omitted");
    uint64_t cut = omitted ? strtoull(omitted, NULL, 10) : 0;
    if (some < tensors->count) error_add_number(error, "omitted", cut + tensors->count - some);
    return SW_NOT_FOUND;
}

sw_status say_bad_range(const struct subject *s, const struct tensor_range *range, uint64_t blocks,
                        sw_error *error) {
    return SAY(error, BAD_RANGE, s,
               "tensor \"%.200s\" has %" PRIu64 " blocks; %" PRIu64 " from block %" PRIu64
               " on lie outside it",
               range->name, blocks, range->block_count, range->first_block);
}

sw_status say_failed(const struct subject *s, const char *message, sw_error *error) {
    SAY(error, STEP_FAILED, s, "there will be no such item; its publisher says: %.300s", message);
    error_add(error, "message", message);
    return SW_ABORTED;
}

static void add_oldest(sw_error *error, const struct store_channel *channel) {
    const struct history *h = &channel->history;
    if (history_holds(h)) add_at(error, "oldest", history_publication(h, h->first_held).at);
}

sw_status say_evicted(const struct subject *s, const struct store_channel *channel, sw_error *error) {
    const struct history *h = &channel->history;
    if (history_holds(h)) {
        SAY(error, EVICTED, s,
            "it is no longer held; the oldest that is held is %s. Pull that or a newer one; "
            "a consumer that is declared holds steps until it releases them",
            position(history_publication(h, h->first_held).at).text);
    } else {
        SAY(error, EVICTED, s,
            "it is no longer held, and nothing else of the channel is. Pull a newer one; "
            "a consumer that is declared holds steps until it releases them");
    }
    add_oldest(error, channel);
    return SW_OUT_OF_RANGE;
}

sw_status say_skipped(const struct subject *s, const struct store_channel *channel, sw_error *error) {
    if (channel->history.count == 0)
        return SAY(error, SKIPPED, s, "it was never published; pull a newer one");
    struct at latest = history_latest(&channel->history);
    SAY(error, SKIPPED, s, "it was never published, and the channel is at %s already; pull a step that was",
        position(latest).text);
    add_at(error, "latest", latest);
    return SW_NOT_FOUND;
}

sw_status say_finished(const struct subject *s, const struct store_channel *channel, sw_error *error) {
    if (!channel || channel->history.count == 0)
        return SAY(error, FINISHED, s,
                   "its publisher finished without publishing there; there is nothing to pull");
    struct at last = history_latest(&channel->history);
    SAY(error, FINISHED, s,
        "its publisher finished the channel, and the last is %s; there will be nothing after it",
        position(last).text);
    add_at(error, "last", last);
    return SW_OUT_OF_RANGE;
}

sw_status say_aborted(const struct subject *s, const char *message, sw_error *error) {
    SAY(error, PUBLISHER_ABORTED, s, "its publisher aborted: %.300s", message);
    error_add(error, "message", message);
    return SW_ABORTED;
}

sw_status say_lost(const struct subject *s, sw_error *error) {
    return SAY(error, PUBLISHER_LOST, s,
               "the trainer of stage %" PRIu32 ", group %" PRIu32 " broke off and did not come back in time; "
               "restart it, or pull again once it is attached",
               s->address.stage, s->address.group);
}

sw_status say_not_yet(const struct subject *s, const struct store_channel *channel, sw_status code,
                      sw_error *error) {
    if (!channel || channel->history.count == 0) {
        return say(error, code, SW_REASON_NOT_YET, s,
                   "not published yet, and nothing else of the channel was; check that its trainer is "
                   "running, or wait longer");
    }
    struct at latest = history_latest(&channel->history);
    say(error, code, SW_REASON_NOT_YET, s, "not published yet; the latest is %s. Wait longer, or pull that",
        position(latest).text);
    add_at(error, "latest", latest);
    return code;
}

/* ---- exchanging an object ---- */

sw_status say_another_word(const struct subject *s, sw_error *error) {
    return SAY(error, CONFLICT, s,
               "stage %" PRIu32 " has said something else in this exchange already; "
               "exchange again at another step or call",
               s->address.stage);
}

sw_status say_another_count(const struct subject *s, uint32_t asked, uint32_t stands, sw_error *error) {
    return SAY(error, CONFLICT, s,
               "this exchange is one of %" PRIu32 " stages, not of %" PRIu32 "; "
               "all stages must say the same stage_count",
               stands, asked);
}

sw_status say_no_room_for_object(const struct subject *s, const struct budget *budget, uint64_t size,
                                 sw_error *error) {
    SAY(error, LIMIT, s,
        "its object has %" PRIu64 " bytes, %" PRIu64 " of %" PRIu64
        " are taken, and what holds them may not go; "
        "exchange again when that has changed, or raise %s",
        size, budget->used, budget->capacity, budget->option);
    error_add(error, "limit", "metrics_bytes");
    return SW_RESOURCE_EXHAUSTED;
}

sw_status say_meeting_gone(const struct subject *s, sw_error *error) {
    return SAY(error, EVICTED, s,
               "that exchange is over and no longer kept; exchange again at a newer step or call");
}

static void add_stages(sw_error *error, const uint32_t *stages, size_t count, size_t omitted) {
    if (!error) return;
    error_add_numbers(error, "stages", stages, count);
    const char *cut = sw_error_metadata(error, "omitted");
    if (omitted > 0) error_add_number(error, "omitted", omitted + (cut ? strtoull(cut, NULL, 10) : 0));
}

sw_status say_silent(const struct subject *s, const uint32_t *stages, size_t count, size_t omitted,
                     sw_status code, sw_error *error) {
    say(error, code, SW_REASON_NOT_YET, s,
        "%zu stages of the exchange have not spoken yet, stage %" PRIu32 " among them; "
        "check that they take part, or wait longer",
        count + omitted, count > 0 ? stages[0] : 0);
    add_stages(error, stages, count, omitted);
    return code;
}

static const char *became_of(sw_reason reason) {
    switch (reason) {
    case SW_REASON_STEP_FAILED:
        return "failed in this step";
    case SW_REASON_FINISHED:
        return "has finished";
    case SW_REASON_PUBLISHER_ABORTED:
        return "has aborted";
    default:
        return "is lost: its trainer broke off and did not come back in time";
    }
}

sw_status say_cannot_speak(const struct subject *s, sw_reason reason, const uint32_t *stages, size_t count,
                           const char *message, sw_error *error) {
    sw_status code = sw_reason_status(reason);
    say(error, code, reason, s,
        "stage %" PRIu32
        " has not spoken in this exchange and %s%s%.200s; restart the job, or exchange without it",
        stages[0], became_of(reason), message && message[0] ? ": " : "", message ? message : "");
    add_stages(error, stages, count, 0);
    if (message) error_add(error, "message", message);
    return code;
}
