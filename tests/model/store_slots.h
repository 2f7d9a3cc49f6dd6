/* What the store links into its own lists for us: a slot for each handle of a sequence. */
#ifndef STAGEWIRE_TESTS_MODEL_STORE_SLOTS_H
#define STAGEWIRE_TESTS_MODEL_STORE_SLOTS_H

#include "service/store/store.h"
#include "tests/model/operation.h"
#include "tests/model/outcome.h"

struct slot {
    struct store_target *target;
    const struct operation *operation;

    struct store_pull pull;
    struct pull_request pull_request;
    struct tensor_range range;
    uint64_t pin; /* of what it got */
    const struct store_item *kept;

    struct store_word word;
    struct exchange_request exchange_request;

    bool waiting, answered;

    struct store_publish publish;
    bool publish_open;

    struct store_lease lease;
    sw_attachment attachment;
    sw_channel_policy policies[POLICIES_MAX];
    const char *consumers[POLICIES_MAX][CONSUMERS];
    bool lease_open;

    struct store_watch watch;
    struct watch_request watch_request;
    struct channel_filter filters[FILTER_PARTS];
    uint32_t filter_stages[FILTER_PARTS], filter_groups[FILTER_PARTS];
    sw_address positions[POSITIONS_MAX];
    bool watch_open, ready;
    uint64_t watch_generation; /* the newest that it knows of */
};

struct store_target {
    struct setting setting;
    struct store *store;
    struct clock clock;
    struct allocator allocator;
    int64_t now_ms;
    uint64_t seed, random;
    long long allocations;   /* that stand */
    int until_failure;       /* allocations that still succeed; below 0: all do */
    struct outcome *outcome; /* of the operation being applied */
    struct slot *slots[OPERATIONS_MAX];
    int slot_count;
};

sw_address address_of(const struct operation *operation);

/* ---- store_requests.c: each starts or asks what an operation says ---- */

struct reply ask_publish(struct store_target *t, const struct operation *o);
struct reply ask_failure(struct store_target *t, const struct operation *o);
struct reply ask_open(struct store_target *t, const struct operation *o, struct slot *slot);
struct reply ask_commit(struct store_target *t, struct slot *slot);
struct reply ask_close(struct store_target *t, const struct operation *o);
struct reply ask_release(struct store_target *t, const struct operation *o);
struct reply ask_attach(struct store_target *t, const struct operation *o, struct slot *slot);
struct reply ask_pull(struct store_target *t, const struct operation *o, struct slot *slot);
struct reply ask_exchange(struct store_target *t, const struct operation *o, struct slot *slot);
struct reply ask_watch(struct store_target *t, const struct operation *o, struct slot *slot);

/* ---- store_answers.c: what the store said, as text ---- */

struct reply reply_of_error(const sw_error *error);
uint32_t value_of_bytes(const sw_buffer *bytes);
struct reply pull_reply(struct store_target *t, struct slot *slot);
struct reply word_reply(struct store_target *t, struct slot *slot);
void read_watch(struct store_target *t, struct slot *slot);
void read_info(struct store_target *t, const struct operation *o);

#endif
