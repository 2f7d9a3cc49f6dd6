/* Random sequences: likely enough to meet every row of the tables, and their order where several fit. */
#include <string.h>

#include "tests/model/operation.h"

enum { RECENT_MAX = 64, MANY = 1000 };

struct handles {
    int count;
    int list[RECENT_MAX];
};

struct generator {
    struct sequence *sequence;
    uint64_t random;
    const uint8_t *dice, *dice_end; /* both NULL: the random number alone decides */
    int length, next_handle;
    bool calm;           /* policies from the start, and little noise: what consumers hold and release */
    uint64_t generation; /* what the trainers believe */
    uint64_t top[SW_OBJECT + 1][CHANNEL_NAMES];
    int weights[OPERATION_TYPES];
    struct handles publishes, leases, watches, waits, tensor_pulls, streams;
    /* What each (stage, group, name, kind) was declared as first in this generation. */
    struct declared {
        bool is;
        struct policy policy;
    } declared[2][2][2][SW_TENSORS + 1];
};

static uint64_t draw(struct generator *g) {
    if (g->dice) return g->dice < g->dice_end ? *g->dice++ : UINT8_MAX;
    uint64_t z = g->random += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static int below(struct generator *g, int bound) {
    return (int)(draw(g) % (uint64_t)bound);
}

static bool chance(struct generator *g, int percent) {
    return below(g, 100) < percent;
}

#define ONE_OF(g, ...)                                                                                       \
    (((const int[]){__VA_ARGS__})[below(g, (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)))])

static int weighted(struct generator *g, const int *weights, int count) {
    int sum = 0, i = 0;
    for (i = 0; i < count; i++) sum += weights[i];
    int at = below(g, sum);
    for (i = 0; at >= weights[i]; i++) at -= weights[i];
    return i;
}

#define WEIGHTED(g, ...)                                                                                     \
    weighted(g, (const int[]){__VA_ARGS__}, (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)))

static void remember(struct handles *handles, int handle) {
    if (handles->count == RECENT_MAX) {
        memmove(handles->list, handles->list + 1, sizeof handles->list - sizeof handles->list[0]);
        handles->count--;
    }
    handles->list[handles->count++] = handle;
}

static int take(struct generator *g, struct handles *handles) {
    int at = below(g, handles->count), handle = handles->list[at];
    handles->list[at] = handles->list[--handles->count];
    return handle;
}

static int recent(struct generator *g, const struct handles *handles, int last) {
    int from = handles->count > last ? handles->count - last : 0;
    return handles->list[from + below(g, handles->count - from)];
}

static uint64_t back(uint64_t from, int by) {
    return by > 0 && from < (uint64_t)by ? 0 : from - (uint64_t)by;
}

static struct operation *add(struct generator *g, enum operation_type type) {
    struct operation *o = &g->sequence->operations[g->sequence->count++];
    *o = (struct operation){.type = type, .of = NO_HANDLE, .consumer = NOBODY, .kind = SW_METRICS};
    o->handle = g->next_handle++;
    o->name = chance(g, 75) ? TRAIN : AUX;
    if (chance(g, 35)) o->kind = SW_TENSORS;
    return o;
}

static void place(struct generator *g, struct operation *o, int percent_old) {
    if (chance(g, 50)) {
        o->has_stage = true;
        o->stage = g->calm || chance(g, 92) ? OWN_STAGE : 2;
    }
    o->group = !g->calm && chance(g, 3);
    if (chance(g, 30)) o->generation = g->generation;
    if (chance(g, percent_old)) o->generation = g->generation + (uint64_t)ONE_OF(g, -1, 1);
    o->other_run = chance(g, 1);
}

static void address_next(struct generator *g, struct operation *o) {
    uint64_t *top = &g->top[o->kind][o->name];
    if (chance(g, 70))
        *top += (uint64_t)ONE_OF(g, 1, 1, 1, 2, 4);
    else if (chance(g, 50))
        o->call = (uint32_t)ONE_OF(g, 1, 2);
    o->step = chance(g, 15) ? back(*top, below(g, 7)) : *top;
    o->value =
        (uint32_t)(o->step * 7 + o->call * 3 + g->generation * 31 + (chance(g, 12) ? 100 : 0)) % 250 + 1;
}

static void add_publish(struct generator *g) {
    struct operation *o = add(g, OP_PUBLISH);
    o->kind = SW_METRICS;
    address_next(g, o);
    place(g, o, 4);
    o->size = chance(g, 1) ? 7 * UNIT : (uint64_t)ONE_OF(g, 1, UNIT, 2 * UNIT);
}

/* Failures and closings of objects: by a stage that takes part in exchanges. */
static void make_object(struct generator *g, struct operation *o) {
    o->kind = SW_OBJECT;
    o->name = OBJ;
    o->step = back(g->top[SW_OBJECT][OBJ], below(g, 4) - 1);
    o->call = chance(g, 8);
    o->has_stage = true;
    o->stage = (uint32_t)below(g, 3);
}

static void add_fail(struct generator *g) {
    struct operation *o = add(g, OP_FAIL);
    address_next(g, o);
    place(g, o, 4);
    if (chance(g, 15)) make_object(g, o);
    o->message = below(g, 2);
}

static void add_end(struct generator *g, int percent_broken) {
    struct operation *o = add(g, chance(g, percent_broken) ? OP_BREAK : OP_COMMIT);
    o->of = take(g, &g->publishes);
}

static void add_open(struct generator *g) {
    struct operation *o = add(g, OP_OPEN);
    o->kind = SW_TENSORS;
    address_next(g, o);
    place(g, o, 4);
    o->size = (uint64_t)(chance(g, 30) ? ONE_OF(g, 1, 1, 2, 3, 4, 9) : ONE_OF(g, 1, 2, 3)) * UNIT;
    if (chance(g, 2)) o->size = 0;
    remember(&g->publishes, o->handle);
    if (chance(g, 70)) {
        struct operation *end = add(g, OP_COMMIT);
        end->of = o->handle;
        g->publishes.count--;
    }
}

static void add_close(struct generator *g) {
    struct operation *o = add(g, OP_CLOSE);
    place(g, o, 4);
    o->reason = chance(g, 50) ? SW_CLOSE_FINISHED : SW_CLOSE_ABORTED;
    o->message = chance(g, 85) ? 2 : 0;
    o->all = chance(g, 20);
    if (chance(g, 60)) o->group = 1;
    if (!chance(g, 15)) return;
    make_object(g, o);
    o->group = 0;
}

static struct policy draw_policy(struct generator *g, int name, sw_item_kind kind) {
    struct policy p = {.name = name, .kind = kind};
    p.keep = (uint32_t)below(g, 4);
    p.lag = (uint32_t)ONE_OF(g, 0, 0, 1, 2, 4);
    p.next = (uint64_t)ONE_OF(g, 0, 0, 0, 0, 3);
    int consumers = below(g, 3);
    for (int i = 0; i < consumers; i++) p.consumers[i] = true;
    return p;
}

static void add_policy(struct generator *g, struct operation *o, int name, sw_item_kind kind) {
    struct declared *d = &g->declared[o->stage == OWN_STAGE][o->group][name][kind];
    if (!d->is) *d = (struct declared){true, draw_policy(g, name, kind)};
    o->policies[o->policy_count++] = chance(g, 90) ? d->policy : draw_policy(g, name, kind);
}

static void add_attach(struct generator *g) {
    struct operation *o = add(g, OP_ATTACH);
    int which = g->calm ? WEIGHTED(g, 10, 3, 0, 1, 0) : WEIGHTED(g, 10, 3, 2, 2, 1);
    const uint64_t older = g->generation > 1 ? g->generation - 1 : 1;
    o->generation = (const uint64_t[]){g->generation, 0, g->generation + 1, older, g->generation + 2}[which];
    int where = WEIGHTED(g, 8, 1, 1);
    o->stage = where == 1 ? 2 : OWN_STAGE;
    o->group = where == 2;
    o->stage_count = (uint32_t)ONE_OF(g, 4, 4, 5);
    o->guest = chance(g, 12);
    o->other_run = chance(g, 2);
    if (o->generation > g->generation && !o->guest && !o->other_run) {
        g->generation = o->generation;
        memset(g->declared, 0, sizeof g->declared);
        memset(g->top, 0, sizeof g->top);
    }
    for (int name = TRAIN; name <= AUX; name++)
        for (sw_item_kind kind = SW_METRICS; kind <= SW_TENSORS; kind++)
            if (chance(g, o->guest ? 3 : 45)) add_policy(g, o, name, kind);
    remember(&g->leases, o->handle);
}

static void add_release(struct generator *g) {
    struct operation *o = add(g, OP_RELEASE);
    place(g, o, 4);
    o->consumer = ONE_OF(g, 0, 1, 1, 2);
    o->both = o->consumer && chance(g, 25);
    o->below = back(g->top[o->kind][o->name], below(g, 7) - 1);
    o->ends_pins = chance(g, 70);
}

static void draw_wait(struct generator *g, struct operation *o) {
    int how = below(g, 5);
    o->no_wait = how < 3;
    if (!o->no_wait && chance(g, 2))
        o->wait_ms = -1;
    else
        o->wait_ms = how == 3 || (o->no_wait && chance(g, 20)) ? 1350 : 0;
}

static void add_pull(struct generator *g) {
    struct operation *o = add(g, OP_PULL);
    if (chance(g, 5)) o->name = NEVER;
    place(g, o, 10);
    o->step = back(g->top[o->kind][o->name], below(g, 11) - 1);
    o->call = (uint32_t)ONE_OF(g, 0, 0, 0, 0, 1);
    draw_wait(g, o);
    o->latest = chance(g, 15);
    if (chance(g, g->calm ? 60 : 15)) {
        o->consumer = below(g, 2);
        o->below = chance(g, 80) ? o->step : 0;
        o->ends_pins = chance(g, 70);
    }
    o->keep_open = chance(g, 25);
    if (o->keep_open) remember(&g->streams, o->handle);
    if (o->kind == SW_TENSORS) {
        o->want = (enum want)WEIGHTED(g, 8, 1, 1);
        if (chance(g, 30) && g->tensor_pulls.count)
            o->of = chance(g, 95) ? recent(g, &g->tensor_pulls, 6) : UNKNOWN_PIN;
        remember(&g->tensor_pulls, o->handle);
    }
    remember(&g->waits, o->handle);
}

static void add_exchange(struct generator *g) {
    struct operation *o = add(g, OP_EXCHANGE);
    uint64_t *top = &g->top[SW_OBJECT][OBJ];
    *top += chance(g, 40);
    o->kind = SW_OBJECT;
    o->name = OBJ;
    o->step = chance(g, 20) ? back(*top, below(g, 6)) : *top;
    o->call = chance(g, 8);
    o->has_stage = true;
    o->stage_count = chance(g, 96) ? 2 : 3;
    o->stage = (uint32_t)below(g, 2);
    if (chance(g, 10)) o->stage = o->stage_count - 1;
    o->present = chance(g, 40);
    o->value = o->present ? (uint32_t)ONE_OF(g, 0, 0, 5) : 0;
    o->size = chance(g, 1) ? 7 * UNIT : (uint64_t)ONE_OF(g, 1, 8, UNIT);
    draw_wait(g, o);
    if (chance(g, 50)) o->generation = g->generation;
    if (chance(g, 5)) o->generation = g->generation + (uint64_t)ONE_OF(g, -1, 1);
    o->group = !g->calm && chance(g, 3);
    o->other_run = chance(g, 1);
    remember(&g->waits, o->handle);
}

static void add_watch(struct generator *g) {
    struct operation *o = add(g, OP_WATCH);
    o->start = (enum watch_start)ONE_OF(g, WATCH_NEW, WATCH_OLDEST_HELD, WATCH_POSITIONS, WATCH_POSITIONS);
    o->filter = below(g, FILTERS);
    o->lags = chance(g, 30);
    o->other_run = chance(g, 1);
    for (int name = TRAIN; o->start == WATCH_POSITIONS && name <= AUX; name++) {
        if (!chance(g, 70)) continue;
        struct operation_position *p = &o->positions[o->position_count++];
        p->name = name;
        p->generation = g->generation > 1 && chance(g, 20) ? g->generation - 1 : g->generation;
        p->step = back(g->top[SW_METRICS][name], below(g, 13) - 1);
        p->call = (uint32_t)ONE_OF(g, 0, 0, 1);
    }
    remember(&g->watches, o->handle);
}

static void add_of(struct generator *g, enum operation_type type, int of) {
    add(g, type)->of = of;
}

static void add_advance(struct generator *g) {
    add(g, OP_ADVANCE)->advance_ms = ONE_OF(g, 1000, 1000, 2000, 2000, 40000);
}

/* More items than a channel compares once they have gone. */
static void add_run(struct generator *g) {
    int name = chance(g, 75) ? TRAIN : AUX;
    for (int n = 60 + below(g, 20); n > 0 && g->sequence->count < OPERATIONS_MAX - 64; n--) {
        struct operation *o = add(g, OP_PUBLISH);
        o->kind = SW_METRICS;
        o->name = name;
        o->step = g->top[SW_METRICS][name] += (uint64_t)ONE_OF(g, 1, 1, 1, 1, 2);
        o->value = (uint32_t)(o->step * 7 + g->generation * 31) % 250 + 1;
        o->size = 1;
    }
}

static void add_one(struct generator *g) {
    enum operation_type type = (enum operation_type)weighted(g, g->weights, OPERATION_TYPES);
    switch (type) {
    case OP_PUBLISH:
        add_publish(g);
        break;
    case OP_FAIL:
        add_fail(g);
        break;
    case OP_OPEN:
        add_open(g);
        break;
    case OP_CLOSE:
        add_close(g);
        break;
    case OP_ATTACH:
        add_attach(g);
        break;
    case OP_RELEASE:
        add_release(g);
        break;
    case OP_PULL:
        add_pull(g);
        break;
    case OP_EXCHANGE:
        add_exchange(g);
        break;
    case OP_WATCH:
        add_watch(g);
        break;
    case OP_ADVANCE:
        add_advance(g);
        break;
    case OP_INFO:
        add(g, OP_INFO);
        break;
    case OP_COMMIT:
        if (g->publishes.count) add_end(g, 25);
        break;
    case OP_DETACH:
        if (g->leases.count) add_of(g, type, take(g, &g->leases));
        break;
    case OP_FINISH:
        if (g->streams.count) add_of(g, type, take(g, &g->streams));
        break;
    case OP_CANCEL:
        if (g->waits.count) add_of(g, type, recent(g, &g->waits, 6));
        break;
    case OP_READ:
        if (g->watches.count) add_of(g, type, recent(g, &g->watches, RECENT_MAX));
        break;
    case OP_UNWATCH:
        if (g->watches.count) add_of(g, type, take(g, &g->watches));
        break;
    default:
        break;
    }
}

static void draw_setting(struct generator *g) {
    g->sequence->setting = (struct setting){
        .generation = chance(g, 8) ? (uint64_t)ONE_OF(g, 1, 2) : 0,
        .keep = (uint32_t)ONE_OF(g, 2, 2, 3, 5, 1000),
        .keep_tensors = (uint32_t)ONE_OF(g, 1, 1, 1, 2),
        .lag = !g->calm && chance(g, 50) ? 3 : 0,
        .store_bytes = (uint64_t)ONE_OF(g, 450, 850, 850),
        .metrics_bytes = chance(g, 50) ? 650 : 1000000000,
        .pinned_bytes = (uint64_t)ONE_OF(g, 250, 850, 1000000),
        .grace_ms = 1500,
        .drain_grace_ms = 20100,
        .max_wait_ms = chance(g, 50) ? 50700 : 600000,
        .pin_ms = ONE_OF(g, 2400, 29900),
        .max_waiters = chance(g, 15) ? 2 : MANY,
        .max_watches = chance(g, 15) ? 2 : MANY,
        .max_publishes = chance(g, 15) ? 2 : MANY,
        .max_leases = chance(g, 15) ? 2 : MANY,
        .memory_fails = chance(g, 25),
    };
}

static void draw_weights(struct generator *g) {
    static const int usual[OPERATION_TYPES] = {
        [OP_PUBLISH] = 24, [OP_PULL] = 30,  [OP_OPEN] = 12,   [OP_COMMIT] = 9,   [OP_FAIL] = 4,
        [OP_CLOSE] = 2,    [OP_ATTACH] = 5, [OP_DETACH] = 3,  [OP_RELEASE] = 10, [OP_EXCHANGE] = 8,
        [OP_WATCH] = 2,    [OP_READ] = 3,   [OP_UNWATCH] = 1, [OP_ADVANCE] = 3,  [OP_INFO] = 3,
        [OP_FINISH] = 5,   [OP_CANCEL] = 1,
    };
    memcpy(g->weights, usual, sizeof usual);
    if (chance(g, 20)) g->weights[OP_PULL] = g->weights[OP_PUBLISH] = 60;
    if (!g->calm) return;
    g->weights[OP_CLOSE] = 0;
    g->weights[OP_ATTACH] = 2;
    g->weights[OP_RELEASE] = 24;
    g->weights[OP_WATCH] = g->weights[OP_READ] = 1;
}

static void add_calm_start(struct generator *g) {
    struct operation *o = add(g, OP_ATTACH);
    o->generation = g->generation;
    o->stage = OWN_STAGE;
    o->stage_count = 4;
    for (int name = TRAIN; name <= AUX; name++)
        for (sw_item_kind kind = SW_METRICS; kind <= SW_TENSORS; kind++) {
            struct declared *d = &g->declared[1][0][name][kind];
            *d = (struct declared){true, draw_policy(g, name, kind)};
            o->policies[o->policy_count++] = d->policy;
        }
    remember(&g->leases, o->handle);
}

static bool has_dice(const struct generator *g) {
    return !g->dice || g->dice < g->dice_end;
}

static void generate(struct generator *g, int length) {
    struct sequence *sequence = g->sequence;
    if (length > OPERATIONS_MAX - 64) length = OPERATIONS_MAX - 64;
    g->calm = chance(g, 45);
    draw_setting(g);
    draw_weights(g);
    if (sequence->setting.generation) g->generation = sequence->setting.generation;
    if (g->calm) add_calm_start(g);
    int drain_at = chance(g, 35) ? g->calm ? length * 3 / 4 : length / 2 + below(g, length / 2 + 1) : -1;
    int run_at = chance(g, 6) ? below(g, length) : -1;
    while (sequence->count < length && has_dice(g)) {
        if (run_at >= 0 && sequence->count >= run_at) {
            add_run(g);
            length += 40;
            run_at = -1;
        }
        if (drain_at >= 0 && sequence->count >= drain_at) {
            add(g, OP_DRAIN);
            drain_at = -1;
        }
        add_one(g);
    }
    for (int i = 0; i < g->watches.count && sequence->count < OPERATIONS_MAX - 1; i++)
        add_of(g, OP_READ, g->watches.list[i]);
    add(g, OP_INFO);
}

void sequence_generate(struct sequence *sequence, uint64_t seed, int length) {
    struct generator g = {.sequence = sequence, .random = seed, .generation = 1};
    *sequence = (struct sequence){.seed = seed};
    generate(&g, length);
}

void sequence_decode(struct sequence *sequence, const uint8_t *dice, size_t count, int length) {
    struct generator g = {.sequence = sequence, .dice = dice, .dice_end = dice + count, .generation = 1};
    *sequence = (struct sequence){.seed = count};
    if (count > 0) generate(&g, length);
}
