#include "tests/unit/store/fixture.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct store *store;
struct store_options options;
sw_error refused;

static bool options_changed;
static int64_t clock_ms;
static long alive, until_failure, failures;
static bool duplicate;
static struct arena arena;

/* ---- the world ---- */

static int64_t fake_now(void *context) {
    (void)context;
    return clock_ms;
}
static int64_t fake_unix(void *context) {
    (void)context;
    return clock_ms * 1000000;
}
static const struct clock fake_clock = {fake_now, fake_unix, NULL};

static bool fails(void) {
    if (until_failure == 0) return false;
    if (until_failure > 1) {
        until_failure--;
        return false;
    }
    failures++;
    return true;
}
static void *counted_get(void *context, size_t size) {
    (void)context;
    if (fails()) return NULL;
    alive++;
    return malloc(size);
}
static void *counted_resize(void *context, void *memory, size_t size) {
    (void)context;
    if (fails()) return NULL;
    alive += !memory;
    return realloc(memory, size);
}
static void counted_put(void *context, void *memory) {
    (void)context;
    alive -= memory != NULL;
    free(memory);
}
static const struct allocator counted = {counted_get, counted_resize, counted_put, NULL};

/* Not random, and so the same each time. */
static uint64_t next_random(void *context) {
    (void)context;
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 31;
}

void fail_allocation(long n) {
    until_failure = n;
    failures = 0;
}
bool allocation_failed(void) {
    return failures > 0;
}
long allocations(void) {
    return alive;
}

void advance(int64_t ms) {
    int64_t end = clock_ms + ms;
    for (int64_t due; (due = store_due_ms(store)) <= end;) {
        if (due > clock_ms) clock_ms = due;
        store_tick(store);
    }
    clock_ms = end;
}
int64_t now(void) {
    return clock_ms;
}

/* ---- what is open, so that it can be ended ---- */

struct open_thing {
    struct open_thing *next;
    void (*end)(void *thing);
    void *thing;
};
static struct open_thing *open_things;

static void *keep(void *thing, void (*end)(void *)) {
    struct open_thing *open = malloc(sizeof *open);
    *open = (struct open_thing){open_things, end, thing};
    open_things = open;
    return thing;
}
static void end_things(void) {
    for (struct open_thing *next; open_things; open_things = next) {
        next = open_things->next;
        open_things->end(open_things->thing);
        free(open_things->thing);
        free(open_things);
    }
}

void fixture_open(void) {
    if (!options_changed) options = store_options_default();
    options.run_id = RUN;
    options.stage = STAGE;
    static const struct store_world world = {&fake_clock, &counted, next_random, NULL};
    store = store_create(&options, &world);
    cr_assert_not_null(store);
    arena_init(&arena, &allocator_system, 64u << 20);
}
void fixture_close(void) {
    fail_allocation(0);
    end_things();
    arena_destroy(&arena);
    store_destroy(store);
    cr_assert_eq(alive, 0, "%ld allocations are left", alive);
}
void fixture_reopen(void) {
    fixture_close();
    options_changed = true;
    fixture_open();
}

/* ---- addresses ---- */

sw_address at(const char *channel, uint64_t step) {
    return (sw_address){.channel = channel, .step = step};
}
sw_address at_call(const char *channel, uint64_t step, uint32_t call) {
    return (sw_address){.channel = channel, .step = step, .call = call};
}
sw_address of_generation(uint64_t generation, sw_address address) {
    address.generation = generation;
    return address;
}
sw_address of_stage(uint32_t stage, sw_address address) {
    address.has_stage = true;
    address.stage = stage;
    return address;
}
sw_address of_group(uint32_t group, sw_address address) {
    address.group = group;
    return address;
}

/* ---- publishing ---- */

static struct digest digest_of(const char *content) {
    size_t size = strlen(content);
    return (struct digest){block_hash(content, size), size}; /* as that of a failure with this message */
}

static sw_buffer *buffer_of(const char *content, size_t size) {
    sw_buffer *buffer;
    void *data;
    cr_assert_eq(sw_buffer_create(size, &buffer, &data, NULL), SW_OK);
    memset(data, 0, size);
    memcpy(data, content, strlen(content) < size ? strlen(content) : size);
    return buffer;
}

sw_status publish_sized(sw_address address, const char *content, size_t size) {
    sw_buffer *bytes = buffer_of(content, size);
    sw_status status =
        store_publish_metrics(store, &address, bytes, digest_of(content), &duplicate, &refused);
    sw_buffer_unref(bytes);
    return status;
}
sw_status publish(sw_address address, const char *content) {
    return publish_sized(address, content, strlen(content));
}
sw_status publish_failure(sw_address address, sw_item_kind kind, const char *message) {
    return store_publish_failure(store, &address, kind, message, &duplicate, &refused);
}
bool was_duplicate(void) {
    return duplicate;
}
sw_status close_channel(sw_address address, sw_item_kind kind, sw_close_reason reason, const char *message) {
    return store_close(store, &address, kind, false, reason, message, &refused);
}
sw_status close_all(sw_address address, sw_close_reason reason, const char *message) {
    return store_close(store, &address, 0, true, reason, message, &refused);
}

static void upload_ended(struct store_publish *publish, const sw_error *why) {
    struct upload *upload = container_of(publish, struct upload, publish);
    upload->ended = true;
    upload->why = *why;
}
static void end_upload(void *thing) {
    store_publish_abandon(store, &((struct upload *)thing)->publish);
}
struct upload *begin_tensors(sw_address address, uint64_t size) {
    struct upload *upload = calloc(1, sizeof *upload);
    upload->publish.ended = upload_ended;
    upload->size = size;
    if (store_publish_open(store, &upload->publish, &address, size, true, &refused) == SW_OK)
        return keep(upload, end_upload);
    free(upload);
    return NULL;
}

static struct tensor_set *set_of(const char *content, uint64_t size) {
    int64_t shape[] = {(int64_t)size};
    struct tensor_info info = {.name = "t", .dtype = SW_U8, .rank = 1, .shape = shape, .byte_length = size};
    struct tensor_set *set = tensor_set_create(&info, 1, LIMIT_BLOCK_BYTES_MIN, &allocator_system);
    set->tensors[0].bytes = buffer_of(content, size);
    return set;
}

sw_status end_tensors(struct upload *upload, const char *content) {
    struct tensor_set *set = upload->publish.known ? NULL : set_of(content, upload->size);
    sw_status status =
        store_publish_commit(store, &upload->publish, set, digest_of(content), &duplicate, &refused);
    tensor_set_unref(set);
    return status;
}
sw_status publish_tensors(sw_address address, const char *content, uint64_t size) {
    struct upload *upload = begin_tensors(address, size);
    return upload ? end_tensors(upload, content) : refused.code;
}

/* ---- pulling ---- */

static void pull_answered(struct store_pull *pull) {
    struct puller *puller = container_of(pull, struct puller, pull);
    puller->done = true;
    puller->answers++;
}
void end_stream(struct puller *puller) {
    if (puller->done && puller->pull.status == SW_OK && !puller->released)
        store_item_release(store, puller->pull.item);
    puller->released = true;
}
void cancel(struct puller *puller) {
    store_pull_cancel(store, &puller->pull);
}
static void end_puller(void *thing) {
    cancel(thing);
    end_stream(thing);
}
struct puller *pull_request(sw_item_kind kind, struct pull_request request, int64_t wait_ms) {
    struct puller *puller = calloc(1, sizeof *puller);
    puller->request = request;
    puller->pull = (struct store_pull){
        .request = &puller->request,
        .kind = kind,
        .until_ms = wait_ms == CLOCK_NEVER ? CLOCK_NEVER : clock_ms + wait_ms,
        .answered = pull_answered,
    };
    puller->done = store_pull_start(store, &puller->pull);
    return keep(puller, end_puller);
}
struct puller *pull(sw_item_kind kind, sw_address address) {
    return pull_request(kind, (struct pull_request){.address = address}, CLOCK_NEVER);
}
struct puller *pull_now(sw_item_kind kind, sw_address address) {
    return pull_request(kind, (struct pull_request){.address = address, .wait.no_wait = true}, CLOCK_NEVER);
}
struct puller *pull_latest(sw_item_kind kind, const char *channel) {
    return pull_request(kind, (struct pull_request){.address = at(channel, 0), .latest = true}, CLOCK_NEVER);
}
struct puller *pull_latest_now(sw_item_kind kind, const char *channel) {
    struct pull_request request = {.address = at(channel, 0), .latest = true, .wait.no_wait = true};
    return pull_request(kind, request, CLOCK_NEVER);
}
struct puller *pull_pinned(sw_address address, uint64_t pin) {
    struct pull_request request = {.address = address, .pin = pin, .wait.no_wait = true};
    return pull_request(SW_TENSORS, request, CLOCK_NEVER);
}

/* ---- leases and policies ---- */

static void lease_granted(struct store_lease *lease) {
    container_of(lease, struct holder, lease)->granted = true;
}
static void lease_ended(struct store_lease *lease, const sw_error *why) {
    struct holder *holder = container_of(lease, struct holder, lease);
    holder->ended = true;
    holder->why = *why;
}
void detach(struct holder *holder) {
    store_detach(store, &holder->lease);
}
static void end_holder(void *thing) {
    detach(thing);
}

struct holder *attach_as(uint64_t generation, uint32_t stage, uint32_t group, uint32_t count,
                         const struct declared *policies, bool may_publish) {
    static sw_channel_policy list[64];
    for (uint32_t i = 0; i < count; i++) {
        const struct declared *p = &policies[i];
        uint32_t consumers = 0;
        while (consumers < 4 && p->consumers[consumers]) consumers++;
        list[i] =
            (sw_channel_policy){p->channel, p->kind, p->keep, p->consumers, consumers, p->lag, p->next_step};
    }
    struct holder *holder = calloc(1, sizeof *holder);
    holder->attachment = (sw_attachment){RUN, generation, stage, 4, group, list, count};
    holder->lease.granted = lease_granted;
    holder->lease.ended = lease_ended;
    bool pending = false;
    if (store_attach(store, &holder->lease, &holder->attachment, may_publish, &pending, &refused) != SW_OK) {
        free(holder);
        return NULL;
    }
    holder->granted = !pending;
    return keep(holder, end_holder);
}
struct holder *attach(uint64_t generation, uint32_t stage, uint32_t group) {
    return attach_as(generation, stage, group, 0, NULL, true);
}
struct holder *attach_reader(uint64_t generation, uint32_t stage, uint32_t group) {
    return attach_as(generation, stage, group, 0, NULL, false);
}
struct holder *attach_with(uint64_t generation, uint32_t count, const struct declared *policies) {
    return attach_as(generation, STAGE, 0, count, policies, true);
}
sw_status release(sw_item_kind kind, sw_address address, const char *consumer, uint64_t below) {
    struct consumer_request who = {.id = consumer, .release_below = below};
    struct release_request request = {address, kind, &who, 1};
    return store_release(store, &request, &refused);
}

/* ---- exchanging ---- */

static void word_answered(struct store_word *word) {
    struct speaker *speaker = container_of(word, struct speaker, word);
    speaker->done = true;
    speaker->answers++;
}
void hush(struct speaker *speaker) {
    store_word_cancel(store, &speaker->word);
}
static void end_speaker(void *thing) {
    struct speaker *speaker = thing;
    hush(speaker);
    store_word_finish(store, &speaker->word);
    sw_buffer_unref(speaker->word.value);
    sw_buffer_unref(speaker->request.value_bytes);
}
static struct speaker *say_word(uint32_t stage, uint32_t count, sw_address address, const char *object,
                                bool no_wait) {
    struct speaker *speaker = calloc(1, sizeof *speaker);
    speaker->request = (struct exchange_request){
        .address = of_stage(stage, address),
        .stage_count = count,
        .present = object != NULL,
        .value_bytes = object ? buffer_of(object, strlen(object)) : NULL,
        .value_digest = object ? digest_of(object) : (struct digest){0, 0},
        .wait.no_wait = no_wait,
    };
    speaker->word =
        (struct store_word){.request = &speaker->request, .until_ms = CLOCK_NEVER, .answered = word_answered};
    speaker->done = store_word_start(store, &speaker->word);
    return keep(speaker, end_speaker);
}
struct speaker *speak(uint32_t stage, uint32_t count, sw_address address, const char *object) {
    return say_word(stage, count, address, object, false);
}
struct speaker *speak_now(uint32_t stage, uint32_t count, sw_address address, const char *object) {
    return say_word(stage, count, address, object, true);
}

/* ---- watching ---- */

static void watch_ready(struct store_watch *watch) {
    container_of(watch, struct watcher, watch)->ready++;
}
void unwatch(struct watcher *watcher) {
    store_watch_stop(store, &watcher->watch);
}
static void end_watcher(void *thing) {
    unwatch(thing);
}
struct watcher *watch_request(struct watch_request request) {
    struct watcher *watcher = calloc(1, sizeof *watcher);
    watcher->request = request;
    watcher->watch.ready = watch_ready;
    if (store_watch_start(store, &watcher->watch, &watcher->request, &refused) == SW_OK)
        return keep(watcher, end_watcher);
    free(watcher);
    return NULL;
}
struct watcher *watch(enum watch_start start) {
    return watch_request((struct watch_request){.start = start});
}

static char told[1u << 16];

static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *format, ...) {
    size_t used = strlen(told);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(told + used, sizeof told - used, format, arguments);
    va_end(arguments);
}
static void tell_where(const char *what, const sw_address *a) {
    tell("%s ", what);
    if (a->stage != STAGE) tell("stage %" PRIu32 " ", a->stage);
    if (a->group != 0) tell("group %" PRIu32 " ", a->group);
    tell("%s", a->channel);
}
static void tell_item(const struct store_item *item) {
    tell_where("item", &item->address);
    tell(" %" PRIu64 "/%" PRIu32 " %.*s\n", item->address.step, item->address.call,
         (int)sw_buffer_size(item->metrics), (const char *)sw_buffer_data(item->metrics));
    store_item_release(store, item);
}
static void tell_gap(const struct watch_event *event) {
    const sw_address *first = &event->gap.first_missing, *next = &event->gap.next_held;
    tell_where("gap", first);
    tell(" %" PRIu64 "/%" PRIu32, first->step, first->call);
    if (event->gap.has_next) tell(" %" PRIu64 "/%" PRIu32, next->step, next->call);
    tell("\n");
}
static void tell_closed(const struct channel_closed *closed) {
    static const char *const names[] = {"", "FINISHED", "ABORTED", "PUBLISHER_LOST"};
    tell_where("closed", &closed->last);
    tell(" %s", names[closed->reason]);
    if (closed->items > 0) tell(" %" PRIu64 "/%" PRIu32, closed->last.step, closed->last.call);
    tell("%s%s\n", closed->message[0] ? " " : "", closed->message);
}
const char *events(struct watcher *watcher) {
    struct watch_event event;
    const struct store_item *item;
    told[0] = '\0';
    while (store_watch_next(store, &watcher->watch, &event, &item)) {
        if (event.type == WATCH_PUBLISHED) tell_item(item);
        if (event.type == WATCH_GAP) tell_gap(&event);
        if (event.type == WATCH_CLOSED) tell_closed(&event.closed);
        if (event.type == WATCH_GENERATION) tell("generation %" PRIu64 "\n", event.generation);
        if (event.type != WATCH_FAILED) continue;
        tell_where("failed", &event.failed.address);
        tell(" %" PRIu64 "/%" PRIu32 " %s\n", event.failed.address.step, event.failed.address.call,
             event.failed.message);
    }
    return told;
}

/* ---- what is expected ---- */

struct stage_info info(void) {
    struct stage_info page;
    arena_destroy(&arena);
    arena_init(&arena, &allocator_system, 64u << 20);
    expect_ok(store_info(store, "", &arena, &page, &refused));
    return page;
}
struct channel_info channel_info(const char *channel, sw_item_kind kind) {
    struct stage_info page = info();
    for (uint32_t i = 0; i < page.channel_count; i++) {
        if (strcmp(page.channels[i].latest.channel, channel) == 0 && page.channels[i].kind == kind)
            return page.channels[i];
    }
    cr_assert(false, "there is no channel \"%s\"", channel);
    return (struct channel_info){.has_items = false};
}

/* Each refusal is a sentence that names the stage. */
static void expect_error(const sw_error *error, sw_status status, sw_status code, sw_reason reason) {
    cr_assert_eq(status, code, "%s instead of %s: %s", sw_status_name(status), sw_status_name(code),
                 error->message);
    cr_assert_eq(error->code, code);
    cr_assert_eq(error->reason, reason, "%s instead of %s: %s", sw_reason_name(error->reason),
                 sw_reason_name(reason), error->message);
    cr_assert_not_null(strstr(error->message, "stage "), "%s", error->message);
    cr_assert_gt(strlen(error->message), 40, "%s", error->message);
}
void expect_refused(sw_status status, sw_status code, sw_reason reason) {
    expect_error(&refused, status, code, reason);
}
void expect_refusal(const struct puller *puller, sw_status code, sw_reason reason) {
    cr_assert(puller->done);
    expect_error(&puller->pull.error, puller->pull.status, code, reason);
}
void expect_answer(const struct puller *puller, const char *content) {
    cr_assert(puller->done);
    cr_assert_eq(puller->pull.status, SW_OK, "%s", puller->pull.error.message);
    const struct store_item *item = puller->pull.item;
    const sw_buffer *bytes = item->metrics ? item->metrics : item->tensors->tensors[0].bytes;
    size_t size = sw_buffer_size(bytes) < strlen(content) ? sw_buffer_size(bytes) : strlen(content);
    cr_assert_eq(memcmp(sw_buffer_data(bytes), content, size), 0);
    cr_assert_str_eq(item->address.run_id, RUN);
}
void expect_waiting(const struct puller *puller) {
    cr_assert_not(puller->done, "%s", puller->pull.error.message);
}
void expect_metadata(const sw_error *error, const char *key, const char *value) {
    const char *found = sw_error_metadata(error, key);
    if (!value) {
        cr_assert_null(found, "%s=%s", key, found);
        return;
    }
    cr_assert_not_null(found, "there is no %s: %s", key, error->message);
    cr_assert_str_eq(found, value);
}
void expect_sentence(const sw_error *error, const char *part) {
    cr_assert_not_null(strstr(error->message, part), "%s", error->message);
}
