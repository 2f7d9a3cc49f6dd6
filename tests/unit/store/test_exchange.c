/* contract.md, Exchanging an object. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/store/fixture.h"

STORE_SUITE(exchange);

static void expect_met(const struct speaker *speaker, const char *owners, const char *object) {
    char list[64] = "";
    cr_assert(speaker->done);
    cr_assert_eq(speaker->word.status, SW_OK, "%s", speaker->word.error.message);
    for (uint32_t i = 0; i < speaker->word.owner_count; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%u ", speaker->word.owners[i]);
    cr_assert_str_eq(list, owners);
    if (!object) {
        cr_assert_null(speaker->word.value);
        return;
    }
    cr_assert_not_null(speaker->word.value);
    cr_assert_eq(sw_buffer_size(speaker->word.value), strlen(object));
    cr_assert_eq(memcmp(sw_buffer_data(speaker->word.value), object, strlen(object)), 0);
}
static void expect_unmet(const struct speaker *speaker, sw_status code, sw_reason reason) {
    cr_assert(speaker->done);
    cr_assert_eq(speaker->word.status, code, "%s", speaker->word.error.message);
    cr_assert_eq(speaker->word.error.code, code);
    cr_assert_eq(speaker->word.error.reason, reason, "%s", speaker->word.error.message);
    expect_sentence(&speaker->word.error, "stage ");
    cr_assert_null(speaker->word.value);
}
static void expect_silence(const struct speaker *speaker) {
    cr_assert_not(speaker->done, "%s", speaker->word.error.message);
}

Test(exchange, all_are_answered_when_all_have_spoken) {
    struct speaker *zero = speak(0, 3, at("obj", 7), NULL), *one = speak(1, 3, at("obj", 7), "object");
    expect_silence(zero);
    cr_assert_eq(info().load.waiting, 2);
    struct speaker *two = speak(2, 3, at("obj", 7), NULL);
    expect_met(zero, "1 ", "object");
    expect_met(one, "1 ", "object");
    expect_met(two, "1 ", "object");
    cr_assert_eq(zero->answers, 1);
    cr_assert_eq(two->answers, 0, "it was answered at once");
    cr_assert_eq(info().load.waiting, 0);
}

Test(exchange, nobody_has_it) {
    struct speaker *zero = speak(0, 2, at("obj", 7), NULL);
    expect_met(speak(1, 2, at("obj", 7), NULL), "", NULL);
    expect_met(zero, "", NULL);
}

Test(exchange, several_have_it_and_nobody_gets_a_value) {
    struct speaker *two = speak(2, 3, at("obj", 7), "mine");
    speak(1, 3, at("obj", 7), NULL);
    expect_met(speak(0, 3, at("obj", 7), "mine"), "0 2 ", NULL);
    expect_met(two, "0 2 ", NULL);
    cr_assert_eq(info().load.metrics_held_bytes, 0);
}

Test(exchange, one_stage_alone_is_answered_at_once) {
    expect_met(speak(0, 1, at("obj", 7), "object"), "0 ", "object");
}

Test(exchange, the_answer_names_the_address) {
    struct speaker *zero = speak(0, 2, at("obj", 7), NULL);
    attach(4, STAGE, 0);
    speak(1, 2, at("obj", 7), NULL);
    expect_met(zero, "", NULL);
    cr_assert_eq(zero->word.address.generation, 4);
    cr_assert_eq(zero->word.address.stage, 0);
    cr_assert_str_eq(zero->word.address.run_id, RUN);
}

Test(exchange, the_same_word_again_is_a_retry) {
    struct speaker *first = speak(0, 2, at("obj", 7), "object");
    struct speaker *retry = speak(0, 2, at("obj", 7), "object");
    expect_silence(retry);
    speak(1, 2, at("obj", 7), NULL);
    expect_met(first, "0 ", "object");
    expect_met(retry, "0 ", "object");
    expect_met(speak(0, 2, at("obj", 7), "object"), "0 ", "object");
}

Test(exchange, another_word_or_count_is_a_conflict) {
    speak(0, 2, at("obj", 7), "object");
    expect_unmet(speak(0, 2, at("obj", 7), "other"), SW_ALREADY_EXISTS, SW_REASON_CONFLICT);
    expect_unmet(speak(0, 2, at("obj", 7), NULL), SW_ALREADY_EXISTS, SW_REASON_CONFLICT);
    expect_unmet(speak(1, 3, at("obj", 7), NULL), SW_ALREADY_EXISTS, SW_REASON_CONFLICT);
    expect_met(speak(1, 2, at("obj", 7), NULL), "0 ", "object");
}

Test(exchange, a_word_stays_when_its_wait_ends) {
    hush(speak(0, 3, at("obj", 7), "object"));
    struct speaker *no_wait = speak_now(1, 3, at("obj", 7), NULL);
    expect_unmet(no_wait, SW_NOT_FOUND, SW_REASON_NOT_YET);
    expect_metadata(&no_wait->word.error, "stages", "[2]");
    expect_met(speak(2, 3, at("obj", 7), NULL), "0 ", "object");
}

Test(exchange, a_wait_that_ends_names_the_silent_stages) {
    struct speaker *one = speak(1, 4, at("obj", 7), NULL);
    advance(options.max_wait_ms);
    expect_unmet(one, SW_DEADLINE_EXCEEDED, SW_REASON_NOT_YET);
    expect_metadata(&one->word.error, "stages", "[0,2,3]");
}

Test(exchange, many_silent_stages_are_cut_and_counted) {
    struct speaker *zero = speak_now(0, 65536, at("obj", 7), NULL);
    expect_unmet(zero, SW_NOT_FOUND, SW_REASON_NOT_YET);
    long omitted = atol(sw_error_metadata(&zero->word.error, "omitted"));
    long named = 0;
    for (const char *c = sw_error_metadata(&zero->word.error, "stages"); *c; c++) named += *c == ',';
    cr_assert_eq(omitted + named + 1, 65535);
}

Test(exchange, steps_need_not_grow) {
    speak(0, 2, at("obj", 7), NULL);
    speak(0, 2, at("obj", 3), NULL);
    expect_met(speak(1, 2, at("obj", 3), NULL), "", NULL);
    expect_met(speak(1, 2, at("obj", 7), NULL), "", NULL);
}

Test(exchange, calls_groups_and_channels_are_meetings_of_their_own) {
    speak(0, 2, at("obj", 7), NULL);
    expect_silence(speak(1, 2, at_call("obj", 7, 1), NULL));
    expect_silence(speak(1, 2, of_group(1, at("obj", 7)), NULL));
    expect_silence(speak(1, 2, at("other", 7), NULL));
    expect_met(speak(1, 2, at("obj", 7), NULL), "", NULL);
}

Test(exchange, the_newest_are_kept_for_retries) {
    options.keep_steps = 3;
    fixture_reopen();
    for (uint64_t step = 1; step <= 4; step++) {
        speak(0, 2, at("obj", step), NULL);
        speak(1, 2, at("obj", step), NULL);
    }
    expect_met(speak(0, 2, at("obj", 2), NULL), "", NULL);
    expect_unmet(speak(0, 2, at("obj", 1), NULL), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
    expect_unmet(speak(0, 2, at("obj", 0), NULL), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
}

Test(exchange, one_that_was_let_go_is_certain_while_the_endpoint_goes_down) {
    options.keep_steps = 1;
    fixture_reopen();
    speak(0, 1, at("obj", 1), NULL), speak(0, 1, at("obj", 2), NULL);
    store_drain(store);
    expect_unmet(speak(0, 1, at("obj", 1), NULL), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
}

Test(exchange, by_default_1024_are_kept) {
    for (uint64_t step = 0; step <= 1024; step++) speak(0, 1, at("obj", step), NULL);
    expect_met(speak(0, 1, at("obj", 1), NULL), "", NULL);
    expect_unmet(speak(0, 1, at("obj", 0), NULL), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
}

Test(exchange, one_that_is_let_go_answers_who_waits) {
    options.keep_steps = 1;
    fixture_reopen();
    struct speaker *waits = speak(0, 2, at("obj", 1), NULL);
    speak(0, 2, at("obj", 2), NULL);
    expect_unmet(waits, SW_OUT_OF_RANGE, SW_REASON_EVICTED);
}

/* ---- who can no longer speak ---- */

static void lose(uint32_t stage) {
    detach(attach(store_generation(store), stage, 0));
    advance(options.publisher_grace_ms);
}

Test(exchange, a_silent_stage_that_is_lost_ends_it) {
    struct speaker *zero = speak(0, 3, at("obj", 7), NULL);
    lose(2);
    expect_unmet(zero, SW_ABORTED, SW_REASON_PUBLISHER_LOST);
    expect_metadata(&zero->word.error, "stages", "[2]");
    expect_unmet(speak(1, 3, at("obj", 7), NULL), SW_ABORTED, SW_REASON_PUBLISHER_LOST);
    expect_unmet(speak_now(0, 3, at("obj", 8), NULL), SW_ABORTED, SW_REASON_PUBLISHER_LOST);
}

Test(exchange, a_stage_that_has_spoken_may_be_lost_without_harm) {
    speak(2, 3, at("obj", 7), "object");
    struct speaker *zero = speak(0, 3, at("obj", 7), NULL);
    lose(2);
    expect_silence(zero);
    expect_met(speak(1, 3, at("obj", 7), NULL), "2 ", "object");
    expect_met(zero, "2 ", "object");
}

Test(exchange, losses_of_other_groups_and_of_stages_beyond_the_count_do_no_harm) {
    struct speaker *zero = speak(0, 2, at("obj", 7), NULL);
    detach(attach(1, 1, 9));
    lose(3);
    expect_silence(zero);
}

Test(exchange, a_failure_of_a_silent_stage_ends_it) {
    struct speaker *zero = speak(0, 2, at("obj", 7), NULL), *next = speak(0, 2, at("obj", 8), NULL);
    publish_failure(of_stage(1, at("obj", 7)), SW_OBJECT, "out of memory");
    expect_unmet(zero, SW_ABORTED, SW_REASON_STEP_FAILED);
    expect_metadata(&zero->word.error, "message", "out of memory");
    expect_silence(next);
    expect_unmet(speak_now(0, 2, at("obj", 7), NULL), SW_ABORTED, SW_REASON_STEP_FAILED);
}

Test(exchange, a_closing_of_a_silent_stage_ends_it) {
    struct speaker *zero = speak(0, 2, at("obj", 7), NULL), *other = speak(0, 2, at("other", 7), NULL);
    close_channel(of_stage(1, at("obj", 0)), SW_OBJECT, SW_CLOSE_ABORTED, "NaN");
    expect_unmet(zero, SW_ABORTED, SW_REASON_PUBLISHER_ABORTED);
    expect_silence(other);
    close_all(of_stage(1, at("", 0)), SW_CLOSE_FINISHED, "");
    expect_unmet(other, SW_OUT_OF_RANGE, SW_REASON_FINISHED);
}

Test(exchange, a_channels_own_closing_stands_whatever_its_stage_does_later) {
    close_channel(of_stage(1, at("obj", 0)), SW_OBJECT, SW_CLOSE_ABORTED, "NaN");
    close_all(of_stage(1, at("", 0)), SW_CLOSE_FINISHED, "");
    expect_unmet(speak(0, 2, at("obj", 7), NULL), SW_ABORTED, SW_REASON_PUBLISHER_ABORTED);
}

Test(exchange, of_several_that_failed_the_lowest_is_quoted) {
    publish_failure(of_stage(2, at("obj", 7)), SW_OBJECT, "two");
    publish_failure(of_stage(1, at("obj", 7)), SW_OBJECT, "one");
    publish_failure(of_stage(3, at("obj", 7)), SW_OBJECT, "three");
    struct speaker *zero = speak(0, 4, at("obj", 7), NULL);
    expect_unmet(zero, SW_ABORTED, SW_REASON_STEP_FAILED);
    expect_metadata(&zero->word.error, "stages", "[1,2,3]");
    expect_metadata(&zero->word.error, "message", "one");
}

/* ---- refusals as for pulls ---- */

Test(exchange, another_run_and_an_older_generation_are_refused) {
    attach(2, STAGE, 0);
    sw_address address = at("obj", 7);
    address.run_id = "run-b";
    expect_unmet(speak(0, 2, address, NULL), SW_FAILED_PRECONDITION, SW_REASON_RUN_MISMATCH);
    struct speaker *old = speak(0, 2, of_generation(1, at("obj", 7)), NULL);
    expect_unmet(old, SW_ABORTED, SW_REASON_SUPERSEDED);
    expect_metadata(&old->word.error, "generation", "2");
}

Test(exchange, a_newer_generation_ends_what_waits_in_the_old_one) {
    attach(1, STAGE, 0);
    struct speaker *zero = speak(0, 2, at("obj", 7), NULL);
    attach(2, STAGE, 0);
    expect_unmet(zero, SW_ABORTED, SW_REASON_SUPERSEDED);
    expect_silence(speak(1, 2, at("obj", 7), NULL));
}

Test(exchange, a_generation_to_come_meets_already) {
    struct speaker *zero = speak(0, 2, of_generation(2, at("obj", 7)), NULL);
    attach(2, STAGE, 0);
    expect_silence(zero);
    expect_met(speak(1, 2, at("obj", 7), NULL), "", NULL);
    expect_met(zero, "", NULL);
}

Test(exchange, words_without_a_generation_count_in_the_first) {
    struct speaker *zero = speak(0, 3, at("obj", 7), "object");
    struct speaker *one = speak(1, 3, of_generation(5, at("obj", 7)), NULL);
    attach(5, STAGE, 0);
    expect_silence(zero);
    expect_met(speak(2, 3, at("obj", 7), NULL), "0 ", "object");
    expect_met(zero, "0 ", "object");
    expect_met(one, "0 ", "object");
}

Test(exchange, words_that_meet_in_the_first_generation_may_complete_it) {
    struct speaker *zero = speak(0, 2, at("obj", 7), NULL);
    struct speaker *one = speak(1, 2, of_generation(5, at("obj", 7)), "object");
    attach(5, STAGE, 0);
    expect_met(zero, "1 ", "object");
    expect_met(one, "1 ", "object");
}

Test(exchange, owners_that_meet_in_the_first_generation_are_several) {
    struct speaker *zero = speak(0, 3, at("obj", 7), "object");
    struct speaker *one = speak(1, 3, of_generation(5, at("obj", 7)), "another");
    attach(5, STAGE, 0);
    cr_assert_eq(info().load.metrics_held_bytes, 0);
    expect_met(speak(2, 3, at("obj", 7), NULL), "0 1 ", NULL);
    expect_met(zero, "0 1 ", NULL);
    expect_met(one, "0 1 ", NULL);
}

Test(exchange, words_that_do_not_agree_in_the_first_generation_are_conflicts) {
    struct speaker *zero = speak(0, 2, at("obj", 7), "object");
    struct speaker *other = speak(0, 2, of_generation(5, at("obj", 7)), "other");
    attach(5, STAGE, 0);
    expect_unmet(zero, SW_ALREADY_EXISTS, SW_REASON_CONFLICT);
    expect_silence(other);
    expect_met(speak(1, 2, at("obj", 7), NULL), "0 ", "other");
}

Test(exchange, it_begins_no_generation) {
    speak(0, 1, at("obj", 7), NULL);
    cr_assert_eq(store_generation(store), 0);
}

Test(exchange, going_down_refuses_new_words_and_answers_complete_meetings) {
    speak(0, 2, at("obj", 6), NULL), speak(1, 2, at("obj", 6), "object");
    struct speaker *zero = speak(0, 2, at("obj", 7), NULL);
    store_drain(store);
    expect_unmet(zero, SW_UNAVAILABLE, SW_REASON_SHUTTING_DOWN);
    expect_unmet(speak(1, 2, at("obj", 7), NULL), SW_UNAVAILABLE, SW_REASON_SHUTTING_DOWN);
    expect_unmet(speak(0, 2, at("obj", 8), NULL), SW_UNAVAILABLE, SW_REASON_SHUTTING_DOWN);
    expect_met(speak(0, 2, at("obj", 6), NULL), "1 ", "object");
}

/* ---- room ---- */

Test(exchange, objects_count_against_the_metrics_and_may_go_once_all_have_spoken) {
    options.metrics_bytes = 10;
    fixture_reopen();
    struct speaker *zero = speak(0, 2, at("obj", 7), "123456");
    cr_assert_eq(info().load.metrics_held_bytes, 6);
    expect_refused(publish(at("train", 1), "12345"), SW_RESOURCE_EXHAUSTED, SW_REASON_STORE_FULL);
    speak(1, 2, at("obj", 7), NULL);
    expect_ok(publish(at("train", 1), "12345"));
    expect_met(zero, "0 ", "123456");
    expect_unmet(speak(1, 2, at("obj", 7), NULL), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
    cr_assert_eq(info().load.metrics_held_bytes, 5);
}

Test(exchange, an_object_that_nobody_will_get_needs_no_room) {
    options.metrics_bytes = 10;
    fixture_reopen();
    struct speaker *zero = speak(0, 2, at("obj", 7), "123456");
    expect_met(speak(1, 2, at("obj", 7), "654321"), "0 1 ", NULL);
    expect_met(zero, "0 1 ", NULL);
}

Test(exchange, an_object_that_fits_nowhere_is_refused_and_its_word_is_not_spoken) {
    options.metrics_bytes = 10;
    fixture_reopen();
    expect_unmet(speak(0, 2, at("obj", 7), "12345678901"), SW_INVALID_ARGUMENT, SW_REASON_TOO_LARGE);
    speak(0, 2, at("obj", 1), "123456");
    struct speaker *no_room = speak(0, 2, at("obj", 2), "12345");
    expect_unmet(no_room, SW_RESOURCE_EXHAUSTED, SW_REASON_LIMIT);
    expect_metadata(&no_room->word.error, "limit", "metrics_bytes");
    expect_met(speak(0, 1, at("obj", 2), NULL), "", NULL);
}
