#include "tests/model/store_target.h"

#include <stdlib.h>
#include <string.h>

#include "tests/model/store_slots.h"

enum { TICKS_MAX = 10000 };

/* Of `until_failure`, when it is not counting: one allocation has failed, or none will. */
enum { FAILED = -1, ALWAYS = -2 };

static int64_t now_ms(void *context) {
    return ((struct store_target *)context)->now_ms;
}

static int64_t unix_ns(void *context) {
    return 1700000000000000000 + ((struct store_target *)context)->now_ms * 1000000;
}

static uint64_t next_random(void *context) {
    struct store_target *t = context;
    return t->random = t->random * 6364136223846793005u + 1442695040888963407u;
}

static bool fails(struct store_target *t) {
    if (t->until_failure < 0) return false;
    return t->until_failure-- == 0;
}

static void *allocate(void *context, size_t size) {
    struct store_target *t = context;
    if (fails(t)) return NULL;
    t->allocations++;
    return malloc(size ? size : 1);
}

static void *resize(void *context, void *memory, size_t size) {
    struct store_target *t = context;
    if (fails(t)) return NULL;
    t->allocations += memory == NULL;
    return realloc(memory, size ? size : 1);
}

static void release(void *context, void *memory) {
    ((struct store_target *)context)->allocations -= memory != NULL;
    free(memory);
}

static struct store_options options_of(const struct setting *s) {
    struct store_options options = store_options_default();
    options.run_id = MODEL_RUN;
    options.generation = s->generation;
    options.stage = OWN_STAGE;
    options.keep_steps = s->keep;
    options.keep_tensor_steps = s->keep_tensors;
    options.max_lag_steps = s->lag;
    options.store_bytes = s->store_bytes;
    options.metrics_bytes = s->metrics_bytes;
    options.pinned_bytes = s->pinned_bytes;
    options.publisher_grace_ms = s->grace_ms;
    options.drain_grace_ms = s->drain_grace_ms;
    options.max_wait_ms = s->max_wait_ms;
    options.pin_ms = s->pin_ms;
    options.max_waiters = s->max_waiters;
    options.max_watches = s->max_watches;
    options.max_publishes = s->max_publishes;
    options.max_leases = s->max_leases;
    return options;
}

struct store_target *store_target_create(const struct setting *setting, uint64_t seed) {
    struct store_target *t = calloc(1, sizeof *t);
    if (!t) abort();
    t->setting = *setting;
    t->seed = t->random = seed;
    t->until_failure = ALWAYS;
    t->clock = (struct clock){now_ms, unix_ns, t};
    t->allocator = (struct allocator){allocate, resize, release, t};
    struct store_options options = options_of(setting);
    struct store_world world = {&t->clock, &t->allocator, next_random, t};
    t->store = store_create(&options, &world);
    if (!t->store) abort();
    return t;
}

static void end_wait(struct store_target *t, struct slot *slot) {
    if (!slot->waiting) return;
    slot->waiting = false;
    if (slot->operation->type == OP_PULL) {
        store_pull_cancel(t->store, &slot->pull);
        return;
    }
    store_word_cancel(t->store, &slot->word);
    sw_buffer_unref(slot->exchange_request.value_bytes);
}

static void end_stream(struct store_target *t, struct slot *slot) {
    if (slot->kept) store_item_release(t->store, slot->kept);
    slot->kept = NULL;
}

static void end_publish(struct store_target *t, struct slot *slot) {
    if (slot->publish_open) store_publish_abandon(t->store, &slot->publish);
    slot->publish_open = false;
}

static void end_lease(struct store_target *t, struct slot *slot) {
    if (slot->lease_open) store_detach(t->store, &slot->lease);
    slot->lease_open = false;
}

static void end_watch(struct store_target *t, struct slot *slot) {
    if (slot->watch_open) store_watch_stop(t->store, &slot->watch);
    slot->watch_open = false;
}

void store_target_destroy(struct store_target *t) {
    t->until_failure = ALWAYS;
    for (int i = 0; i < t->slot_count; i++) {
        struct slot *slot = t->slots[i];
        if (!slot) continue;
        end_wait(t, slot);
        end_stream(t, slot);
        end_publish(t, slot);
        end_lease(t, slot);
        end_watch(t, slot);
    }
    store_destroy(t->store);
    for (int i = 0; i < t->slot_count; i++) free(t->slots[i]);
    if (t->allocations) {
        fprintf(stderr, "the store has gone and left %lld allocations behind\n", t->allocations);
        abort();
    }
    free(t);
}

static struct slot *slot_get(struct store_target *t, const struct operation *o) {
    struct slot *slot = calloc(1, sizeof *slot);
    if (!slot) abort();
    slot->target = t;
    slot->operation = o;
    t->slots[o->handle] = slot;
    if (o->handle >= t->slot_count) t->slot_count = o->handle + 1;
    return slot;
}

/* The one that the operation is about; NULL if it is about none, or that never came. */
static struct slot *slot_of(const struct store_target *t, const struct operation *o) {
    return o->of >= 0 ? t->slots[o->of] : NULL;
}

static bool opens_handle(enum operation_type type) {
    return type == OP_OPEN || type == OP_ATTACH || type == OP_PULL || type == OP_EXCHANGE || type == OP_WATCH;
}

/* What callbacks noted: they must not call the store themselves. */
static void collect(struct store_target *t) {
    for (int i = 0; i < t->slot_count; i++) {
        struct slot *slot = t->slots[i];
        if (!slot || !slot->answered) continue;
        slot->answered = slot->waiting = false;
        struct reply reply = slot->operation->type == OP_PULL ? pull_reply(t, slot) : word_reply(t, slot);
        outcome_note(t->outcome, slot->operation->handle, NOTE_WOKEN, 0, t->now_ms)->reply = reply;
    }
    for (int i = 0; i < t->slot_count; i++) {
        struct slot *slot = t->slots[i];
        if (slot && slot->watch_open && slot->ready && !slot->operation->lags) read_watch(t, slot);
    }
}

static struct reply advance(struct store_target *t, int64_t by) {
    int64_t end = t->now_ms + by, due;
    for (int ticks = 0; (due = store_due_ms(t->store)) <= end; ticks++) {
        if (ticks == TICKS_MAX) return reply_ok("the store is always due");
        if (due > t->now_ms) t->now_ms = due;
        store_tick(t->store);
        collect(t);
    }
    t->now_ms = end;
    return reply_ok("%s", "");
}

static struct reply ask(struct store_target *t, const struct operation *o, struct slot *slot) {
    switch (o->type) {
    case OP_PUBLISH:
        return ask_publish(t, o);
    case OP_FAIL:
        return ask_failure(t, o);
    case OP_OPEN:
        return ask_open(t, o, slot);
    case OP_CLOSE:
        return ask_close(t, o);
    case OP_RELEASE:
        return ask_release(t, o);
    case OP_ATTACH:
        return ask_attach(t, o, slot);
    case OP_PULL:
        return ask_pull(t, o, slot);
    case OP_EXCHANGE:
        return ask_exchange(t, o, slot);
    case OP_WATCH:
        return ask_watch(t, o, slot);
    case OP_COMMIT:
        if (!slot || !slot->publish_open) break;
        slot->publish_open = false;
        return ask_commit(t, slot);
    default:
        break;
    }
    return reply_ok("%s", "");
}

static void end(struct store_target *t, const struct operation *o, struct slot *slot) {
    if (o->type == OP_DRAIN) store_drain(t->store);
    if (o->type == OP_INFO) read_info(t, o);
    if (!slot) return;
    if (o->type == OP_BREAK) end_publish(t, slot);
    if (o->type == OP_DETACH) end_lease(t, slot);
    if (o->type == OP_FINISH) end_stream(t, slot);
    if (o->type == OP_CANCEL) end_wait(t, slot);
    if (o->type == OP_UNWATCH) end_watch(t, slot);
    if (o->type == OP_READ && slot->watch_open) read_watch(t, slot);
}

static bool is_out_of_memory(const struct reply *reply) {
    return reply->reason == SW_REASON_LIMIT && strcmp(reply->text, "limit=memory") == 0;
}

/* How many allocations of this operation succeed: the same however many operations there are before it. */
static int allocations_granted(const struct store_target *t, const struct operation *o) {
    uint64_t mixed = (t->seed * 1000003 + (uint64_t)o->handle) * 0x9E3779B97F4A7C15u;
    return (int)(mixed >> 40) % 6;
}

/* Words for the first generation are the exception: where it begins and memory fails, it is they who are
 * refused. */
static bool may_fail(const struct store_target *t) {
    if (!t->setting.memory_fails) return false;
    for (int i = 0; i < t->slot_count && store_generation(t->store) == 0; i++)
        if (t->slots[i] && t->slots[i]->operation->type == OP_EXCHANGE) return false;
    return true;
}

/* Where memory fails, an operation that is refused for it has changed nothing: asked again it gets the right
 * answer. One that is refused for another reason may lack metadata, and is asked again for it. */
static struct reply ask_until_memory_is_there(struct store_target *t, const struct operation *o) {
    bool opens = opens_handle(o->type);
    if (may_fail(t)) t->until_failure = allocations_granted(t, o);
    struct reply reply = ask(t, o, opens ? slot_get(t, o) : slot_of(t, o));
    bool failed = t->until_failure == FAILED;
    t->until_failure = ALWAYS;
    if (!failed || reply.open || reply.status == SW_OK) return reply;
    if (is_out_of_memory(&reply) && t->outcome->note_count)
        return reply_ok("refused without memory, and settled something");
    if (opens) free(t->slots[o->handle]);
    struct reply again = ask(t, o, opens ? slot_get(t, o) : slot_of(t, o));
    bool same = again.status == reply.status && again.reason == reply.reason;
    return same || is_out_of_memory(&reply) ? again : reply;
}

void store_target_apply(struct store_target *t, const struct operation *o, struct outcome *ret) {
    outcome_clear(ret);
    t->outcome = ret;
    ret->reply = ask_until_memory_is_there(t, o);
    end(t, o, slot_of(t, o));
    if (o->type == OP_ADVANCE) ret->reply = advance(t, o->advance_ms);
    collect(t);
    ret->drained = store_drained(t->store);
    outcome_sort(ret);
}
