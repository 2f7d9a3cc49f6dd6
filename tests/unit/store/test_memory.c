/* Without memory: RESOURCE_EXHAUSTED / LIMIT, and nothing has changed. Every allocation of a scene fails
 * once: the call says so, the store looks as before, and the same call works when there is memory again. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/store/fixture.h"
#include "tests/unit/wire/failing.h"

static void begin(void) {
    fixture_open();
    options = store_options_default();
    options.store_bytes = 100;
    options.metrics_bytes = 100;
    fixture_reopen();
}
TestSuite(memory, .init = begin, .fini = fixture_close);

/* All that can be seen from outside. */
struct look {
    struct stage_info page;
    struct channel_info channels[16];
    char names[16][32];
};

static void look(struct look *look) {
    memset(look, 0, sizeof *look);
    look->page = info();
    for (uint32_t i = 0; i < look->page.channel_count; i++) {
        look->channels[i] = look->page.channels[i];
        snprintf(look->names[i], sizeof look->names[i], "%s", look->page.channels[i].latest.channel);
    }
}

static void expect_same(const struct look *a, const struct look *b) {
    cr_assert_eq(a->page.generation, b->page.generation);
    cr_assert_eq(a->page.channel_count, b->page.channel_count);
    cr_assert_eq(a->page.lease_count, b->page.lease_count);
    cr_assert_eq(a->page.held_bytes, b->page.held_bytes);
    cr_assert_eq(memcmp(&a->page.load, &b->page.load, sizeof a->page.load), 0);
    for (uint32_t i = 0; i < a->page.channel_count; i++) {
        const struct channel_info *x = &a->channels[i], *y = &b->channels[i];
        cr_assert_str_eq(a->names[i], b->names[i]);
        cr_assert(x->items == y->items && x->held_bytes == y->held_bytes && x->kind == y->kind);
        cr_assert(x->latest.step == y->latest.step && x->oldest.step == y->oldest.step);
        cr_assert(x->is_closed == y->is_closed && x->consumer_count == y->consumer_count);
    }
}

static void expect_no_memory(const sw_error *error) {
    cr_assert_eq(error->code, SW_RESOURCE_EXHAUSTED);
    cr_assert_eq(error->reason, SW_REASON_LIMIT, "%s", error->message);
    expect_metadata(error, "limit", "memory");
    expect_sentence(error, "stage 3");
}

/* One call of the scene: true if it did what it should. */
typedef bool call(void);

static void sweep(call *works) {
    struct look before, after;
    for (long n = 1;; n++) {
        look(&before);
        fail_allocation(n);
        bool worked = works();
        bool failed = allocation_failed();
        fail_allocation(0);
        if (worked) {
            cr_assert(!failed || n > 1, "the first allocation cannot be done without");
            return;
        }
        cr_assert(failed, "%s", refused.message);
        expect_no_memory(&refused);
        look(&after);
        expect_same(&before, &after);
        cr_assert_lt(n, 100);
    }
}

static bool publishes(void) {
    return publish(at("train", 1), "0123456789") == SW_OK;
}
static bool publishes_another(void) {
    return publish(at_call("train", 1, 1), "0123456789") == SW_OK;
}
static bool publishes_and_evicts(void) {
    return publish_sized(at("big", 1), "x", 95) == SW_OK;
}
static bool fails(void) {
    return publish_failure(at("failed", 1), SW_METRICS, "boom") == SW_OK;
}
static bool opens(void) {
    return begin_tensors(at("acts", 1), 60) != NULL;
}
static bool closes(void) {
    return close_channel(at("closed", 1), SW_METRICS, SW_CLOSE_ABORTED, "why") == SW_OK;
}
static bool closes_all(void) {
    return close_all(of_stage(7, at("", 0)), SW_CLOSE_ABORTED, "why") == SW_OK;
}
static bool attaches(void) {
    return ATTACH_WITH(2, {.channel = "train", .kind = SW_METRICS, .consumers = {"a", "b"}, .next_step = 7},
                       {.channel = "acts", .kind = SW_TENSORS, .consumers = {"a"}}) != NULL;
}
static bool attaches_as_a_reader(void) {
    return attach_reader(9, 2, 0) != NULL;
}
static bool watches(void) {
    return watch(WATCH_OLDEST_HELD) != NULL;
}
static bool watches_from_positions(void) {
    static sw_address positions[2];
    positions[0] = of_stage(STAGE, of_generation(1, at("train", 1)));
    positions[1] = of_stage(STAGE, of_generation(1, at("failed", 1)));
    return watch_request((struct watch_request){
               .start = WATCH_POSITIONS, .positions = positions, .position_count = 2}) != NULL;
}
static bool waits(void) {
    struct puller *puller = pull(SW_METRICS, at("later", 9));
    if (puller->done) refused = puller->pull.error;
    return !puller->done;
}
static bool waits_for_tensors(void) {
    struct puller *puller = pull(SW_TENSORS, at("later", 9));
    if (puller->done) refused = puller->pull.error;
    return !puller->done;
}
static bool waits_for_the_latest(void) {
    struct puller *puller = pull_latest(SW_METRICS, "later");
    if (puller->done) refused = puller->pull.error;
    return !puller->done;
}
static bool waits_for_a_generation_to_come(void) {
    struct puller *puller = pull(SW_METRICS, of_generation(9, at("later", 9)));
    if (puller->done) refused = puller->pull.error;
    return !puller->done;
}
static bool speaks_of_nothing(void) {
    struct speaker *speaker = speak(0, 3, at("obj", 1), NULL);
    if (speaker->done) refused = speaker->word.error;
    return !speaker->done;
}
static bool speaks_of_an_object(void) {
    struct speaker *speaker = speak(1, 3, at("obj", 1), "object");
    if (speaker->done) refused = speaker->word.error;
    return !speaker->done;
}
static bool completes(void) {
    struct speaker *speaker = speak(2, 3, at("obj", 1), "another");
    if (speaker->word.status != SW_OK) refused = speaker->word.error;
    return speaker->word.status == SW_OK;
}

Test(memory, every_call_fails_cleanly_and_works_afterwards) {
    static call *const scene[] = {
        waits,
        waits_for_tensors,
        waits_for_the_latest,
        waits_for_a_generation_to_come,
        publishes,
        publishes_another,
        watches,
        watches_from_positions,
        fails,
        publishes_and_evicts,
        closes,
        closes_all,
        speaks_of_nothing,
        speaks_of_an_object,
        completes,
        opens,
        attaches,
        attaches_as_a_reader,
        publishes_and_evicts,
        opens,
        waits,
    };
    for (size_t i = 0; i < sizeof scene / sizeof *scene; i++) sweep(scene[i]);
}

static uint64_t no_random(void *context) {
    (void)context;
    return 1;
}

Test(memory, a_store_is_made_whole_or_not_at_all) {
    struct store *made = NULL;
    for (size_t n = 0; !made; n++) {
        struct failing failing;
        failing_init(&failing, n);
        struct store_world world = {&clock_system, &failing.allocator, no_random, NULL};
        made = store_create(&options, &world);
        cr_assert(made || failing.out == 0);
        cr_assert(!made || n > 0);
        store_destroy(made);
        cr_assert_eq(failing.out, 0);
    }
}

Test(memory, a_page_of_info_needs_memory_of_its_arena_alone) {
    publishes();
    attaches();
    sw_status status = SW_RESOURCE_EXHAUSTED;
    for (size_t n = 0; status != SW_OK; n++) {
        struct failing failing;
        struct arena arena;
        struct stage_info page;
        failing_init(&failing, n);
        arena_init(&arena, &failing.allocator, SIZE_MAX);
        fail_allocation(1);
        status = store_info(store, "", &arena, &page, &refused);
        cr_assert_not(allocation_failed());
        fail_allocation(0);
        if (status != SW_OK) cr_assert(status == SW_RESOURCE_EXHAUSTED && refused.reason == SW_REASON_LIMIT);
        arena_destroy(&arena);
        cr_assert_eq(failing.out, 0);
    }
}

Test(memory, a_refused_publish_has_evicted_nothing) {
    publish_sized(at("old", 1), "x", 90);
    fail_allocation(1);
    cr_assert_eq(publish_sized(at("new", 1), "x", 90), SW_RESOURCE_EXHAUSTED);
    fail_allocation(0);
    expect_answer(pull_now(SW_METRICS, at("old", 1)), "x");
}

Test(memory, the_first_generation_does_not_begin_without_memory_for_what_begins_it) {
    for (long n = 1; n < 5; n++) {
        fail_allocation(n);
        if (publish(at("train", 1), "loss") == SW_OK) return;
        cr_assert_eq(store_generation(store), 0);
        cr_assert_eq(info().channel_count, 0);
    }
}

Test(memory, a_commit_a_break_and_a_release_need_none) {
    ATTACH_WITH(1, {.channel = "acts", .kind = SW_TENSORS, .consumers = {"a"}});
    struct holder *holder = attach(1, 1, 0);
    struct upload *one = begin_tensors(at("acts", 1), 10), *two = begin_tensors(at("other", 1), 10);
    struct puller *waiting = pull(SW_TENSORS, at("acts", 1));
    fail_allocation(1);
    expect_ok(end_tensors(one, "bytes"));
    store_publish_abandon(store, &two->publish);
    expect_answer(waiting, "bytes");
    expect_answer(pull_now(SW_TENSORS, at("acts", 1)), "bytes");
    end_stream(waiting);
    expect_ok(release(SW_TENSORS, at("acts", 0), "a", 2));
    detach(holder);
    advance(options.publisher_grace_ms + options.pin_ms);
    store_drain(store);
    cr_assert_not(allocation_failed());
}

Test(memory, words_that_cannot_come_together_are_told) {
    for (long n = 1; n < 20; n++) {
        fixture_reopen();
        struct speaker *zero = speak(0, 3, at("obj", 7), "object");
        speak(1, 3, of_generation(5, at("obj", 7)), NULL);
        fail_allocation(n);
        struct holder *holder = attach(5, STAGE, 0);
        fail_allocation(0);
        if (!holder) continue;
        cr_assert(zero->done, "no allocation of them failed");
        expect_no_memory(&zero->word.error);
        return;
    }
}
