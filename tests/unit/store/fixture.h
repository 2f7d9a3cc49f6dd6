/* A store with a clock moved by hand, memory that can end, and callers that note what they are told. One a
 * test: each test runs in a process of its own. Everything that a test leaves open is ended, and no memory
 * may be left, at `fixture_close`. */
#ifndef STAGEWIRE_TESTS_STORE_FIXTURE_H
#define STAGEWIRE_TESTS_STORE_FIXTURE_H

#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "service/store/store.h"
#include "tests/support/test.h"

#define RUN "run-a"
enum { STAGE = 3 }; /* the endpoint's own */

extern struct store *store;
extern struct store_options options; /* change them before fixture_open */
extern sw_error refused;             /* of the last call that answered at once with one */

void fixture_open(void); /* with the defaults, unless they were changed */
void fixture_close(void);
#define STORE_SUITE(name) TestSuite(name, .init = fixture_open, .fini = fixture_close)
/* Begins again, with other options. */
void fixture_reopen(void);

void advance(int64_t ms); /* and ticks whenever something is due */
int64_t now(void);

/* The n-th allocation from now on fails, and all after it; 0: none does. */
void fail_allocation(long n);
bool allocation_failed(void);
long allocations(void); /* alive */

/* ---- addresses: group 0, the endpoint's stage left out ---- */

sw_address at(const char *channel, uint64_t step);
sw_address at_call(const char *channel, uint64_t step, uint32_t call);
sw_address of_generation(uint64_t generation, sw_address address);
sw_address of_stage(uint32_t stage, sw_address address);
sw_address of_group(uint32_t group, sw_address address);

/* ---- publishing: content is text, and counts with its length ---- */

sw_status publish(sw_address address, const char *content);
sw_status publish_sized(sw_address address, const char *content, size_t size);
sw_status publish_failure(sw_address address, sw_item_kind kind, const char *message);
bool was_duplicate(void); /* the last publish */
sw_status close_channel(sw_address address, sw_item_kind kind, sw_close_reason reason, const char *message);
sw_status close_all(sw_address address, sw_close_reason reason, const char *message);

struct upload {
    struct store_publish publish;
    uint64_t size;
    bool ended;
    sw_error why;
};
/* NULL if it was refused. One tensor "t" of `size` bytes. */
struct upload *begin_tensors(sw_address address, uint64_t size);
sw_status end_tensors(struct upload *upload, const char *content);
sw_status publish_tensors(sw_address address, const char *content, uint64_t size);

/* ---- pulling ---- */

struct puller {
    struct pull_request request;
    struct store_pull pull;
    bool done;
    int answers;
    bool released;
};
struct puller *pull_request(sw_item_kind kind, struct pull_request request, int64_t wait_ms);
/* Waits as long as it may. */
struct puller *pull(sw_item_kind kind, sw_address address);
struct puller *pull_now(sw_item_kind kind, sw_address address);
struct puller *pull_latest(sw_item_kind kind, const char *channel);
struct puller *pull_latest_now(sw_item_kind kind, const char *channel);
struct puller *pull_pinned(sw_address address, uint64_t pin);
void cancel(struct puller *puller);
void end_stream(struct puller *puller); /* gives the item back */

/* ---- leases and policies ---- */

struct holder {
    sw_attachment attachment;
    struct store_lease lease;
    bool granted, ended;
    sw_error why;
};
struct declared {
    const char *channel;
    sw_item_kind kind;
    uint32_t keep, lag;
    uint64_t next_step;
    const char *consumers[4];
};
/* NULL if it was refused. */
struct holder *attach(uint64_t generation, uint32_t stage, uint32_t group);
struct holder *attach_reader(uint64_t generation, uint32_t stage, uint32_t group); /* may not publish */
struct holder *attach_with(uint64_t generation, uint32_t count, const struct declared *policies);
struct holder *attach_as(uint64_t generation, uint32_t stage, uint32_t group, uint32_t count,
                         const struct declared *policies, bool may_publish);
#define ATTACH_WITH(generation, ...)                                                                         \
    attach_with(generation, sizeof((struct declared[]){__VA_ARGS__}) / sizeof(struct declared),              \
                (struct declared[]){__VA_ARGS__})
void detach(struct holder *holder);
sw_status release(sw_item_kind kind, sw_address address, const char *consumer, uint64_t below);

/* ---- exchanging ---- */

struct speaker {
    struct exchange_request request;
    struct store_word word;
    bool done;
    int answers;
};
/* `object` NULL: absent. Waits as long as it may. */
struct speaker *speak(uint32_t stage, uint32_t count, sw_address address, const char *object);
struct speaker *speak_now(uint32_t stage, uint32_t count, sw_address address, const char *object);
void hush(struct speaker *speaker);

/* ---- watching ---- */

struct watcher {
    struct watch_request request;
    struct store_watch watch;
    int ready;
};
struct watcher *watch_request(struct watch_request request);
struct watcher *watch(enum watch_start start);
/* The events that are there, in words: "item train 1/0 a", "failed train 2/0 boom", "gap train 0/0 3/0",
 * "closed train FINISHED", "generation 2", one a line, of stage 3, group 0 unless said ("stage 2 "). */
const char *events(struct watcher *watcher);
void unwatch(struct watcher *watcher);

/* ---- what is expected ---- */

struct stage_info info(void); /* the first page; it lives until the next call */
struct channel_info channel_info(const char *channel, sw_item_kind kind);

void expect_refused(sw_status status, sw_status code, sw_reason reason);
void expect_answer(const struct puller *puller, const char *content);
void expect_refusal(const struct puller *puller, sw_status code, sw_reason reason);
void expect_waiting(const struct puller *puller);
void expect_metadata(const sw_error *error, const char *key, const char *value); /* NULL: absent */
void expect_sentence(const sw_error *error, const char *part);
#define expect_ok(status) cr_assert_eq((status), SW_OK, "%s", refused.message)

#endif
