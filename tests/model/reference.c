#include "tests/model/reference.h"

#include <stdlib.h>
#include <string.h>

#include "tests/model/reference_state.h"

/* It is large: one that is done with is used again. */
static struct reference *spare;

struct reference *reference_create(const struct setting *setting, enum mutant mutant) {
    struct reference *r = spare ? spare : malloc(sizeof *r);
    if (!r) abort();
    spare = NULL;
    memset(r, 0, sizeof *r);
    r->setting = *setting;
    r->mutant = mutant;
    r->generation = setting->generation;
    return r;
}

void reference_destroy(struct reference *r) {
    free(spare);
    spare = r;
}

static bool needs_anything(const struct reference *r) {
    for (int i = 0; i < r->item_count; i++)
        if (r->items[i].held && ref_step_is_needed(r, r->items[i].channel, r->items[i].at.step, NULL))
            return true;
    return false;
}

static void settle_all(struct reference *r) {
    ref_settle(r);
    ref_watch_read_all(r);
    if (r->draining && (r->now >= r->drain_until || !needs_anything(r))) r->drained = true;
}

static int64_t earlier(int64_t a, int64_t b) {
    if (a == REFERENCE_NEVER) return b;
    return b == REFERENCE_NEVER || a < b ? a : b;
}

static int64_t next_due(const struct reference *r) {
    int64_t due = r->draining && !r->drained ? r->drain_until : REFERENCE_NEVER;
    for (int i = 0; i < r->wait_count; i++)
        if (r->waits[i].waiting) due = earlier(due, r->waits[i].until);
    for (int i = 0; i < r->stage_count; i++)
        if (r->stages[i].generation == r->generation) due = earlier(due, r->stages[i].lost_at);
    return due;
}

static void advance(struct reference *r, int64_t by) {
    int64_t end = r->now + by, due;
    while ((due = next_due(r)) != REFERENCE_NEVER && due <= end) {
        if (due > r->now) r->now = due;
        ref_end_graces(r);
        settle_all(r);
    }
    r->now = end;
}

static void drain(struct reference *r) {
    if (r->draining) return;
    r->draining = true;
    r->drain_until = r->now + r->setting.drain_grace_ms;
    ref_end_publishes(r, ALL_CHANNELS, SW_REASON_SHUTTING_DOWN);
    ref_end_pending_leases(r, SW_REASON_SHUTTING_DOWN);
}

static struct reply apply(struct reference *r, const struct operation *o) {
    switch (o->type) {
    case OP_PUBLISH:
        return ref_publish(r, o);
    case OP_FAIL:
        return ref_publish_failure(r, o);
    case OP_OPEN:
        return ref_publish_open(r, o);
    case OP_COMMIT:
        return ref_publish_end(r, o, true);
    case OP_BREAK:
        return ref_publish_end(r, o, false);
    case OP_CLOSE:
        return ref_close_channel(r, o);
    case OP_ATTACH:
        return ref_attach(r, o);
    case OP_RELEASE:
        return ref_release(r, o);
    case OP_PULL:
        return ref_pull(r, o);
    case OP_EXCHANGE:
        return ref_exchange(r, o);
    case OP_WATCH:
        return ref_watch(r, o);
    case OP_DETACH:
        ref_detach(r, o->of);
        break;
    case OP_FINISH:
        ref_stream_finish(r, o->of);
        break;
    case OP_CANCEL:
        ref_wait_cancel(r, o->of);
        break;
    case OP_READ:
        ref_watch_read(r, o->of);
        break;
    case OP_UNWATCH:
        ref_watch_stop(r, o->of);
        break;
    case OP_INFO:
        ref_info(r, o);
        break;
    case OP_ADVANCE:
        advance(r, o->advance_ms);
        break;
    case OP_DRAIN:
        drain(r);
        break;
    case OPERATION_TYPES:
        break;
    }
    return reply_ok("%s", "");
}

void reference_apply(struct reference *r, const struct operation *operation, struct outcome *ret) {
    outcome_clear(ret);
    r->outcome = ret;
    ret->reply = apply(r, operation);
    settle_all(r);
    ret->drained = r->drained;
    outcome_sort(ret);
}
