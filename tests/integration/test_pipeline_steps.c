/* Stages that fail, leave each other behind, or are not in step. */
#include <string.h>

#include "tests/support/cast.h"
#include "tests/support/test.h"

static const sw_value dict = {.kind = SW_VALUE_DICT};

static void pull(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    outcome->status = sw_pipeline_broadcast_loss_metrics_from_last_stage(cast->pipeline[stage], &dict,
                                                                         &outcome->metrics, &outcome->error);
}

static void pull_again(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    sw_metrics_destroy(outcome->metrics);
    outcome->metrics = NULL;
    pull(cast, stage, outcome);
}

static void tensor(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    static const char bytes[1 << 16];
    static const int64_t shape[] = {sizeof bytes};
    const sw_named_tensor own = {.name = "t", .view = {SW_U8, 1, shape, bytes, sizeof bytes}};
    const sw_tensor_request wanted = {.name = "t"};
    sw_tensors_destroy(outcome->tensors);
    outcome->tensors = NULL;
    outcome->status = sw_pipeline_broadcast_tensors_from_last_stage(cast->pipeline[stage], &own, &wanted, 1,
                                                                    &outcome->tensors, &outcome->error);
}

static void begin(struct cast *cast, uint32_t stage, uint64_t step) {
    sw_pipeline_step_begin(cast->pipeline[stage], step, NULL, NULL);
}

static void end(struct cast *cast, uint32_t stage, const char *failure, struct cast_outcome *outcome) {
    outcome->status = sw_pipeline_step_end(cast->pipeline[stage], failure, &outcome->error);
}

/* ---- out of step ---- */

/* Stage 0 makes one call of two. */
static void call_too_little(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    begin(cast, stage, 5);
    pull(cast, stage, outcome);
    if (stage > 0) pull_again(cast, stage, outcome);
    end(cast, stage, NULL, outcome);
}

Test(pipeline_steps, a_rank_with_fewer_calls_is_told_both_numbers_at_the_end, .timeout = 60) {
    struct cast cast;
    cast_init(&cast, 3, false);
    cast_open(&cast);
    cast_play(&cast, call_too_little);
    expect_outcome(&cast.outcome[0], FAILED_PRECONDITION, OUT_OF_STEP);
    expect_message(&cast.outcome[0], "step 5 of \"train\"");
    expect_message(&cast.outcome[0], "stage 0");
    expect_message(&cast.outcome[0], "metrics 1 against 2");
    expect_outcome(&cast.outcome[1], OK, NONE);
    expect_outcome(&cast.outcome[2], OK, NONE);
    cast_close(&cast);
}

static void two_steps_of_one_call(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    for (uint64_t step = 0; step < 2; step++) {
        begin(cast, stage, step);
        pull_again(cast, stage, outcome);
        end(cast, stage, NULL, outcome);
    }
}

static void step_of_two_calls(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    begin(cast, stage, 0);
    pull(cast, stage, outcome);
    pull_again(cast, stage, outcome);
}

Test(pipeline_steps, a_call_that_the_last_stage_went_past_is_out_of_step_with_both_numbers, .timeout = 60) {
    struct cast cast;
    cast_init(&cast, 2, false);
    cast_open(&cast);
    expect_outcome(cast_solo(&cast, 1, two_steps_of_one_call), OK, NONE);
    struct cast_outcome *outcome = cast_solo(&cast, 0, step_of_two_calls);
    expect_outcome(outcome, FAILED_PRECONDITION, OUT_OF_STEP);
    expect_message(outcome, "metrics 2 against 1");
    cast_close(&cast);
}

static void steps_0_and_2(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    for (uint64_t step = 0; step < 4; step += 2) {
        begin(cast, stage, step);
        end(cast, stage, NULL, outcome);
    }
}

static void step_1(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    begin(cast, stage, 1);
    end(cast, stage, NULL, outcome);
}

Test(pipeline_steps, a_step_that_the_last_stage_left_out_is_out_of_step, .timeout = 60) {
    struct cast cast;
    cast_init(&cast, 2, false);
    cast_open(&cast);
    expect_outcome(cast_solo(&cast, 1, steps_0_and_2), OK, NONE);
    struct cast_outcome *outcome = cast_solo(&cast, 0, step_1);
    expect_outcome(outcome, FAILED_PRECONDITION, OUT_OF_STEP);
    expect_message(outcome, "left this step out");
    cast_close(&cast);
}

/* ---- a step that fails ---- */

static void object(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    outcome->status = sw_pipeline_broadcast_obj_from_pp_rank(cast->pipeline[stage], NULL, &outcome->object,
                                                             &outcome->error);
}

/* The last stage fails after its first call; the others want a second one. */
static void fail_in_step(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    begin(cast, stage, 3);
    pull(cast, stage, outcome);
    if (stage == cast_last(cast)) {
        end(cast, stage, "CUDA out of memory", outcome);
        return;
    }
    if (stage == 0) pull_again(cast, stage, outcome);
    if (stage == 1) tensor(cast, stage, outcome);
    if (stage == 2) object(cast, stage, outcome);
    if (stage == 3) end(cast, stage, NULL, outcome);
    if (stage < 3) sw_pipeline_step_end(cast->pipeline[stage], "not mine", NULL);
}

static void a_good_step(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    begin(cast, stage, 4);
    pull(cast, stage, outcome);
    if (outcome->status == SW_OK) end(cast, stage, NULL, outcome);
}

static void expect_failed_step(bool sidecar) {
    struct cast cast;
    cast_init(&cast, 5, sidecar);
    cast_open(&cast);
    cast_play(&cast, fail_in_step);
    expect_outcome(&cast.outcome[4], OK, NONE);
    for (uint32_t i = 0; i < 4; i++) {
        expect_outcome(&cast.outcome[i], ABORTED, STEP_FAILED);
        cr_assert_str_eq(sw_error_metadata(&cast.outcome[i].error, "message"), "CUDA out of memory");
    }
    cast_play(&cast, a_good_step);
    for (uint32_t i = 0; i < 5; i++) expect_outcome(&cast.outcome[i], OK, NONE);
    cast_close(&cast);
}

Test(pipeline_steps, a_step_that_fails_ends_what_others_wait_for_in_it, .timeout = 60) {
    expect_failed_step(false);
}

Test(pipeline_steps, a_step_that_fails_ends_what_others_wait_for_in_it_by_way_of_a_sidecar, .timeout = 60) {
    expect_failed_step(true);
}

/* ---- too far behind ---- */

static void six_tensors(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    for (int i = 0; i < 6 && outcome->status == SW_OK; i++) tensor(cast, stage, outcome);
}

Test(pipeline_steps, a_stage_too_far_behind_is_dropped_and_its_next_pull_says_so, .timeout = 60) {
    struct cast cast;
    cast_init(&cast, 2, false);
    cast.options.max_lag_steps = 2;
    cast_open(&cast);
    expect_outcome(cast_solo(&cast, 1, six_tensors), OK, NONE);
    struct cast_outcome *outcome = cast_solo(&cast, 0, tensor);
    expect_outcome(outcome, OUT_OF_RANGE, EVICTED);
    expect_message(outcome, "stage 0 fell too far behind the last stage, 1, which waits 2 steps for it");
    cast_close(&cast);
}

Test(pipeline_steps, within_the_lag_every_step_is_there_for_it, .timeout = 60) {
    struct cast cast;
    cast_init(&cast, 2, false);
    cast_open(&cast);
    expect_outcome(cast_solo(&cast, 1, six_tensors), OK, NONE);
    expect_outcome(cast_solo(&cast, 0, six_tensors), OK, NONE);
    cast_close(&cast);
}

static void expect_store_full(bool sidecar) {
    struct cast cast;
    cast_init(&cast, 2, sidecar);
    cast.store_bytes = 4 << 16;
    cast.options.timeout_ms = 2000;
    cast_open(&cast);
    struct cast_outcome *outcome = cast_solo(&cast, 1, six_tensors);
    expect_outcome(outcome, RESOURCE_EXHAUSTED, STORE_FULL);
    expect_message(outcome, "stage-0");
    cr_assert_str_eq(sw_error_metadata(&outcome->error, "consumers"), "[\"stage-0\"]");
    for (int i = 0; i < 4; i++) expect_outcome(cast_solo(&cast, 0, tensor), OK, NONE);
    expect_outcome(cast_solo(&cast, 0, tensor), ABORTED, STEP_FAILED);
    cast_close(&cast);
}

Test(pipeline_steps, a_full_store_is_retried_and_then_names_the_stage_that_lags, .timeout = 60) {
    expect_store_full(false);
}

Test(pipeline_steps, a_full_sidecar_is_retried_and_then_names_the_stage_that_lags, .timeout = 60) {
    expect_store_full(true);
}

/* ---- the end of a trainer ---- */

static void leave_or_wait(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    if (stage == cast_last(cast))
        cast_leave(cast, stage);
    else
        pull(cast, stage, outcome);
}

Test(pipeline_steps, a_last_stage_that_is_gone_ends_what_others_wait_for, .timeout = 60) {
    struct cast cast;
    cast_init(&cast, 3, false);
    cast.publisher_grace_ms = 200;
    cast_open(&cast);
    cast_play(&cast, leave_or_wait);
    expect_outcome(&cast.outcome[0], ABORTED, PUBLISHER_LOST);
    expect_outcome(&cast.outcome[1], ABORTED, PUBLISHER_LOST);
    cast_close(&cast);
}

static void leave_or_meet(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    const sw_value value = sw_integer(1);
    if (stage == 0)
        cast_leave(cast, stage);
    else
        outcome->status = sw_pipeline_broadcast_obj_from_pp_rank(cast->pipeline[stage], &value,
                                                                 &outcome->object, &outcome->error);
}

Test(pipeline_steps, a_silent_stage_that_is_gone_ends_the_meeting, .timeout = 60) {
    struct cast cast;
    cast_init(&cast, 3, false);
    cast.publisher_grace_ms = 200;
    cast_open(&cast);
    cast_play(&cast, leave_or_meet);
    expect_outcome(&cast.outcome[1], ABORTED, PUBLISHER_LOST);
    expect_outcome(&cast.outcome[2], ABORTED, PUBLISHER_LOST);
    cast_close(&cast);
}

static void resume_or_wait(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    if (stage < cast_last(cast)) {
        pull(cast, stage, outcome);
        return;
    }
    cast_leave(cast, stage);
    outcome->status = cast_enter(cast, stage, 2, &outcome->error);
}

Test(pipeline_steps, a_new_generation_tells_those_who_wait_for_the_old_one, .timeout = 60) {
    struct cast cast;
    cast_init(&cast, 2, false);
    cast_open(&cast);
    cast_play(&cast, resume_or_wait);
    expect_outcome(&cast.outcome[1], OK, NONE);
    cr_assert_eq(sw_pipeline_generation(cast.pipeline[1]), 2);
    expect_outcome(&cast.outcome[0], ABORTED, SUPERSEDED);
    cast_leave(&cast, 0);
    cr_assert_eq(cast_enter(&cast, 0, 2, NULL), SW_OK);
    cast_play(&cast, pull);
    expect_outcome(&cast.outcome[0], OK, NONE);
    cast_close(&cast);
}
