/* What GetStageInfo tells, a page of channels at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/store/fixture.h"

STORE_SUITE(info);

Test(info, it_tells_what_is_held) {
    publish(at("train", 1), "loss");
    publish(at("train", 2), "more loss");
    publish_tensors(at("acts", 5), "bytes", 100);
    struct stage_info page = info();
    cr_assert_str_eq(page.run_id, RUN);
    cr_assert_eq(page.generation, 1);
    cr_assert_eq(page.held_bytes, 100);
    cr_assert_eq(page.store_bytes, options.store_bytes);
    cr_assert_eq(page.load.metrics_held_bytes, 13);
    cr_assert_eq(page.load.metrics_bytes, options.metrics_bytes);
    cr_assert_eq(page.channel_count, 2);
    cr_assert_str_eq(page.next_page_token, "");
    struct channel_info train = channel_info("train", SW_METRICS);
    cr_assert(train.has_items);
    cr_assert_eq(train.oldest.step, 1);
    cr_assert_eq(train.latest.step, 2);
    cr_assert_eq(train.items, 2);
    cr_assert_eq(train.held_bytes, 13);
    cr_assert_eq(channel_info("acts", SW_TENSORS).held_bytes, 100);
}

Test(info, a_closed_channel_says_how_and_where_it_ended) {
    publish(at("train", 7), "loss");
    close_channel(at("train", 0), SW_METRICS, SW_CLOSE_ABORTED, "NaN");
    struct channel_info train = channel_info("train", SW_METRICS);
    cr_assert(train.is_closed);
    cr_assert_eq(train.closed.reason, SW_CLOSE_ABORTED);
    cr_assert_str_eq(train.closed.message, "NaN");
    cr_assert_eq(train.closed.last.step, 7);
    cr_assert_str_eq(train.closed.last.channel, "train");
    cr_assert_eq(train.closed.items, 1);
}

Test(info, it_is_empty_again_once_everybody_has_gone) {
    publish_tensors(at("acts", 1), "bytes", 100);
    struct puller *stream = pull_now(SW_TENSORS, at("acts", 1)), *waits = pull(SW_METRICS, at("train", 1));
    struct speaker *speaker = speak(0, 2, at("obj", 1), NULL);
    struct watcher *watcher = watch(WATCH_NEW);
    struct upload *upload = begin_tensors(at("acts", 2), 100);
    struct load_info load = info().load;
    cr_assert_eq(load.streams, 1);
    cr_assert_eq(load.waiting, 2);
    cr_assert_eq(load.watches, 1);
    cr_assert_eq(load.open_publishes, 1);
    end_stream(stream), cancel(waits), hush(speaker), unwatch(watcher);
    store_publish_abandon(store, &upload->publish);
    load = info().load;
    cr_assert_eq(load.streams + load.waiting + load.watches + load.open_publishes, 0);
}

Test(info, pages_go_through_all_channels_once) {
    enum { CHANNELS = 2500 };
    static bool seen[CHANNELS];
    char name[32], token[64] = "";
    for (int i = 0; i < CHANNELS; i++) {
        snprintf(name, sizeof name, "channel-%d", i);
        expect_ok(publish(at(name, 1), "x"));
    }
    int pages = 0, total = 0;
    do {
        struct arena arena;
        struct stage_info page;
        arena_init(&arena, &allocator_system, 16u << 20);
        expect_ok(store_info(store, token, &arena, &page, &refused));
        for (uint32_t i = 0; i < page.channel_count; i++) {
            int number = atoi(page.channels[i].latest.channel + strlen("channel-"));
            cr_assert_not(seen[number]);
            seen[number] = true;
            total++;
        }
        snprintf(token, sizeof token, "%s", page.next_page_token);
        arena_destroy(&arena);
        pages++;
    } while (token[0]);
    cr_assert_eq(total, CHANNELS);
    cr_assert_eq(pages, 3);
}

Test(info, a_token_of_an_older_generation_begins_anew) {
    publish(at("train", 1), "x");
    attach(2, STAGE, 0);
    publish(at("train", 1), "x");
    struct arena arena;
    struct stage_info page;
    arena_init(&arena, &allocator_system, 1u << 20);
    expect_ok(store_info(store, "1/7", &arena, &page, &refused));
    cr_assert_eq(page.channel_count, 1);
    arena_destroy(&arena);
}

Test(info, a_token_that_is_none_is_malformed) {
    static const char *const tokens[] = {"x", "1", "1/", "/1", "1/2/3", "1/2x", "-1/2", " 1/2"};
    struct arena arena;
    struct stage_info page;
    arena_init(&arena, &allocator_system, 1u << 20);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        cr_assert_eq(store_info(store, tokens[i], &arena, &page, &refused), SW_INVALID_ARGUMENT, "%s",
                     tokens[i]);
        cr_assert_eq(refused.reason, SW_REASON_MALFORMED);
        expect_metadata(&refused, "path", "page_token");
    }
    arena_destroy(&arena);
}

Test(info, a_page_is_about_half_a_message) {
    enum { CHANNELS = 30, CONSUMERS = 1000 };
    static char ids[CONSUMERS][256];
    static const char *consumers[CONSUMERS];
    for (int i = 0; i < CONSUMERS; i++) {
        memset(ids[i], 'c', 250);
        snprintf(ids[i] + 240, 16, "%d", i);
        consumers[i] = ids[i];
    }
    static char names[CHANNELS][16];
    static sw_channel_policy policies[CHANNELS];
    for (int i = 0; i < CHANNELS; i++) {
        snprintf(names[i], sizeof names[i], "c%d", i);
        policies[i] = (sw_channel_policy){
            .channel = names[i], .kind = SW_METRICS, .consumers = consumers, .consumer_count = CONSUMERS};
    }
    sw_attachment attachment = {RUN, 1, STAGE, 4, 0, policies, CHANNELS};
    struct store_lease lease = {.generation = 0};
    bool pending;
    expect_ok(store_attach(store, &lease, &attachment, true, &pending, &refused));
    struct stage_info page = info();
    cr_assert_lt(page.channel_count, 12);
    cr_assert_gt(page.channel_count, 4);
    cr_assert_neq(page.next_page_token[0], '\0');
    store_detach(store, &lease);
}
