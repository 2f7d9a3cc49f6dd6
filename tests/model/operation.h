/* What is asked of an endpoint, as plain data: one operation of a sequence, and how the endpoint is set up.
 */
#ifndef STAGEWIRE_TESTS_MODEL_OPERATION_H
#define STAGEWIRE_TESTS_MODEL_OPERATION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <stagewire/address.h>

#include "proto/wire/messages.h"

enum {
    OPERATIONS_MAX = 512,
    POLICIES_MAX = 5,
    POSITIONS_MAX = 2,
    CONSUMERS = 3,
    NOBODY = -1,
    NO_HANDLE = -1
};

/* Sizes are in bytes; a metrics payload is as long as its size. */
enum { UNIT = 100 };

#define MODEL_RUN "run-a"
enum { OWN_STAGE = 3, STAGES = 4, GROUPS = 2 };

extern const char *const channel_names[];
extern const char *const consumer_names[];
extern const char *const messages[];

/* What a watch wants: any of up to two of these. */
enum { ANYTHING = -1, FILTER_PARTS = 2 };
struct filter {
    struct filter_part {
        const char *channel; /* NULL: any; a trailing * matches the rest */
        int stage, group;    /* or ANYTHING */
    } parts[FILTER_PARTS];
    int count; /* 0: every channel */
    const char *text;
};
extern const struct filter filters[];

enum { TRAIN, AUX, OBJ, NEVER, CHANNEL_NAMES };
enum { MESSAGES = 3, FILTERS = 6 };

enum operation_type {
    OP_PUBLISH,
    OP_FAIL,
    OP_OPEN,
    OP_COMMIT,
    OP_BREAK,
    OP_CLOSE,
    OP_ATTACH,
    OP_DETACH,
    OP_RELEASE,
    OP_PULL,
    OP_FINISH, /* a stream that was kept open ends */
    OP_CANCEL, /* a wait is given up */
    OP_EXCHANGE,
    OP_WATCH,
    OP_READ, /* a watcher that lags looks */
    OP_UNWATCH,
    OP_INFO,
    OP_ADVANCE,
    OP_DRAIN,
    OPERATION_TYPES
};

enum want { WANT_ALL, WANT_MISSING_TENSOR, WANT_FAR_BLOCK };
enum { NO_PIN = -1, UNKNOWN_PIN = -2 };

struct policy {
    int name;
    sw_item_kind kind;
    uint32_t keep, lag;
    uint64_t next;
    bool consumers[CONSUMERS];
};

struct operation {
    enum operation_type type;
    int handle; /* names what it opens: a wait, a publish, a lease, a watch; unique in a sequence */
    int of;     /* the handle that it is about, or for a pull the one whose pin it carries */

    bool other_run, has_stage;
    uint64_t generation;
    uint32_t stage, group;
    int name; /* of the channel */
    sw_item_kind kind;
    uint64_t step;
    uint32_t call;

    uint32_t value;
    uint64_t size;
    int message;
    sw_close_reason reason;
    bool all;

    uint32_t stage_count;
    bool guest; /* an attach by somebody who may not publish */
    int policy_count;
    struct policy policies[POLICIES_MAX];

    bool latest, no_wait, keep_open, present;
    int64_t wait_ms; /* 0: max_wait; negative: the deadline has passed */
    int consumer;
    bool both; /* releases for the other consumer too */
    uint64_t below;
    bool ends_pins; /* of the steps below */
    enum want want;

    enum watch_start start;
    int filter;
    bool lags; /* reads only when it is told to */
    int position_count;
    struct operation_position {
        int name;
        uint64_t generation, step;
        uint32_t call;
    } positions[POSITIONS_MAX];

    int64_t advance_ms;
};

struct setting {
    uint64_t generation;
    uint32_t keep, keep_tensors, lag;
    uint64_t store_bytes, metrics_bytes, pinned_bytes;
    int64_t grace_ms, drain_grace_ms, max_wait_ms, pin_ms;
    uint32_t max_waiters, max_watches, max_publishes, max_leases;
    bool memory_fails; /* allocations fail now and then; what was refused for it is asked again */
};

struct sequence {
    uint64_t seed;
    struct setting setting;
    int count;
    struct operation operations[OPERATIONS_MAX];
};

/* The sequence of that seed, of about `length` operations. */
void sequence_generate(struct sequence *sequence, uint64_t seed, int length);
/* The same, with dice that fall as the bytes say: a fuzzer's way to any sequence. It ends with them. */
void sequence_decode(struct sequence *sequence, const uint8_t *dice, size_t count, int length);

const char *operation_name(enum operation_type type);
void setting_print(const struct setting *setting, FILE *out);
void operation_print(const struct operation *operation, FILE *out);

#endif
