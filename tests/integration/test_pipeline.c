/* The four operations between stages, with the last stage's endpoint in its process and in a sidecar. */
#include <string.h>

#include "proto/wire/value_codec.h"
#include "tests/support/cast.h"
#include "tests/support/test.h"

/* One body, a test for each place of the endpoint. */
#define BOTH(name, stage_count)                                                                              \
    static void name(struct cast *cast);                                                                     \
    Test(pipeline_in_process, name, .timeout = 60) {                                                         \
        struct cast cast;                                                                                    \
        cast_init(&cast, stage_count, false);                                                                \
        name(&cast);                                                                                         \
        cast_close(&cast);                                                                                   \
    }                                                                                                        \
    Test(pipeline_with_sidecar, name, .timeout = 60) {                                                       \
        struct cast cast;                                                                                    \
        cast_init(&cast, stage_count, true);                                                                 \
        name(&cast);                                                                                         \
        cast_close(&cast);                                                                                   \
    }                                                                                                        \
    static void name(struct cast *cast)

static void metrics_of(struct cast *cast, uint32_t stage, const sw_value *own, struct cast_outcome *outcome) {
    outcome->status = sw_pipeline_broadcast_loss_metrics_from_last_stage(cast->pipeline[stage], own,
                                                                         &outcome->metrics, &outcome->error);
}

static void object_of(struct cast *cast, uint32_t stage, const sw_value *own, struct cast_outcome *outcome) {
    outcome->status =
        sw_pipeline_broadcast_obj_from_pp_rank(cast->pipeline[stage], own, &outcome->object, &outcome->error);
}

static const float elements[] = {1, 2, 3, 4, 5, 6};
static const int64_t shape[] = {2, 3}, flat[] = {6};

/* "a" [2, 3] and "b" [6] on the last stage; the others ask for b, then a. */
static void tensors_of(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    const sw_named_tensor own[] = {{.name = "a", .view = {SW_F32, 2, shape, elements, sizeof elements}},
                                   {.name = "b", .view = {SW_F32, 1, flat, elements, sizeof elements}}};
    const sw_tensor_request wanted[] = {{.name = "b"}, {.name = "a"}};
    outcome->status = sw_pipeline_broadcast_tensors_from_last_stage(cast->pipeline[stage], own, wanted, 2,
                                                                    &outcome->tensors, &outcome->error);
}

static void expect_all(struct cast *cast, sw_status status) {
    for (uint32_t i = 0; i < cast->stages; i++)
        cr_assert_eq(cast->outcome[i].status, status, "stage %u: %s / %s: %s", i,
                     sw_status_name(cast->outcome[i].status), sw_reason_name(cast->outcome[i].error.reason),
                     cast->outcome[i].error.message);
}

/* ---- loss metrics ---- */

static sw_entry microbatches[2][2] = {
    {{{"loss", 4}, {.kind = SW_VALUE_NUMBER, .number = 0.25}},
     {{"n", 1}, {.kind = SW_VALUE_INTEGER, .integer = 3}}},
    {{{"n", 1}, {.kind = SW_VALUE_NULL}}, {{"loss", 4}, {.kind = SW_VALUE_NUMBER, .number = -0.0}}}};
static const sw_value two_dicts[] = {{.kind = SW_VALUE_DICT, .dict = {microbatches[0], 2}},
                                     {.kind = SW_VALUE_DICT, .dict = {microbatches[1], 2}}};
static const sw_value two = {.kind = SW_VALUE_LIST, .list = {two_dicts, 2}};
static const sw_value empty_list = {.kind = SW_VALUE_LIST};

static void share_two(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    metrics_of(cast, stage, stage == cast_last(cast) ? &two : &empty_list, outcome);
}

static void share_none(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    metrics_of(cast, stage, NULL, outcome);
}

BOTH(every_stage_gets_the_last_ones_metrics_and_what_others_pass_is_ignored, 4) {
    cast_open(cast);
    cast_play(cast, share_two);
    expect_all(cast, SW_OK);
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert(value_same(sw_metrics_value(cast->outcome[i].metrics), &two), "stage %u", i);
        const sw_address *address = sw_metrics_address(cast->outcome[i].metrics);
        cr_assert_eq(address->stage, 3);
        cr_assert_str_eq(address->channel, "metrics");
    }
}

static void share_empty(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    metrics_of(cast, stage, &empty_list, outcome);
}

BOTH(an_empty_list_arrives_as_an_empty_list, 2) {
    cast_open(cast);
    cast_play(cast, share_empty);
    expect_all(cast, SW_OK);
    cr_assert(value_same(sw_metrics_value(cast->outcome[0].metrics), &empty_list));
}

BOTH(no_metrics_on_the_last_stage_reach_the_others_at_once_and_the_next_call_works, 3) {
    cast_open(cast);
    cast_play(cast, share_none);
    expect_outcome(&cast->outcome[2], INVALID_ARGUMENT, NONE);
    cr_assert_str_eq(cast->outcome[2].error.message, "Last PP stage must provide loss metrics.");
    for (uint32_t i = 0; i < 2; i++) {
        expect_outcome(&cast->outcome[i], ABORTED, STEP_FAILED);
        cr_assert_str_eq(sw_error_metadata(&cast->outcome[i].error, "message"),
                         "Last PP stage must provide loss metrics.");
    }
    cast_play(cast, share_two);
    expect_all(cast, SW_OK);
    cr_assert_eq(sw_metrics_address(cast->outcome[0].metrics)->step, 1);
}

BOTH(metrics_that_are_not_published_in_time_name_stage_and_address, 2) {
    cast->options.timeout_ms = 300;
    cast_open(cast);
    struct cast_outcome *late = cast_solo(cast, 0, share_none);
    expect_outcome(late, DEADLINE_EXCEEDED, NOT_YET);
    expect_message(late, "stage 1");
    expect_message(late, "\"metrics\"");
    expect_message(late, "step 0");
}

/* ---- objects ---- */

static const sw_value number = {.kind = SW_VALUE_INTEGER, .integer = 0};
static const sw_value null = {.kind = SW_VALUE_NULL};
static const sw_value *owned[CAST_STAGES];

static void exchange(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    object_of(cast, stage, owned[stage], outcome);
}

BOTH(the_owner_need_not_be_the_last_stage_and_gets_its_own_object_back, 3) {
    cast_open(cast);
    owned[0] = &number;
    cast_play(cast, exchange);
    expect_all(cast, SW_OK);
    cr_assert_eq(sw_object_value(cast->outcome[0].object), &number);
    for (uint32_t i = 1; i < 3; i++) {
        cr_assert(value_same(sw_object_value(cast->outcome[i].object), &number));
        cr_assert_eq(sw_object_owner(cast->outcome[i].object, 0), 0);
    }
}

BOTH(a_null_is_an_object, 2) {
    cast_open(cast);
    owned[1] = &null;
    cast_play(cast, exchange);
    expect_all(cast, SW_OK);
    cr_assert_eq(sw_object_value(cast->outcome[0].object)->kind, SW_VALUE_NULL);
}

BOTH(nobody_having_the_object_is_an_error_on_every_rank, 3) {
    cast_open(cast);
    cast_play(cast, exchange);
    expect_all(cast, SW_INVALID_ARGUMENT);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_str_eq(cast->outcome[i].error.message, "Object must exist on at least one PP rank");
}

BOTH(two_owners_are_an_error_on_every_rank_that_names_them, 3) {
    cast_open(cast);
    owned[0] = owned[2] = &number;
    cast_play(cast, exchange);
    expect_all(cast, SW_INVALID_ARGUMENT);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_str_eq(cast->outcome[i].error.message, "Object present on multiple PP ranks: [0, 2]");
    owned[0] = NULL;
    cast_play(cast, exchange);
    expect_all(cast, SW_OK);
}

BOTH(a_meeting_that_a_stage_misses_names_the_silent_one, 3) {
    cast->options.timeout_ms = 300;
    cast_open(cast);
    owned[0] = &number;
    struct cast_outcome *alone = cast_solo(cast, 0, exchange);
    expect_outcome(alone, DEADLINE_EXCEEDED, NOT_YET);
    cr_assert_str_eq(sw_error_metadata(&alone->error, "stages"), "[1,2]");
}

/* ---- tensors ---- */

BOTH(tensors_are_matched_by_name_not_by_order, 3) {
    cast_open(cast);
    cast_play(cast, tensors_of);
    expect_all(cast, SW_OK);
    cr_assert_null(cast->outcome[2].tensors);
    for (uint32_t i = 0; i < 2; i++) {
        const sw_tensor_view *a = sw_tensors_find(cast->outcome[i].tensors, "a");
        const sw_tensor_view *b = sw_tensors_find(cast->outcome[i].tensors, "b");
        cr_assert(a->rank == 2 && a->shape[1] == 3 && b->rank == 1 && b->shape[0] == 6);
        cr_assert_eq(memcmp(a->data, elements, sizeof elements), 0);
        cr_assert_eq(memcmp(b->data, elements, sizeof elements), 0);
    }
}

static float filled[2][6];

static void fill(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    const sw_named_tensor own = {.name = "a", .view = {SW_F32, 2, shape, elements, sizeof elements}};
    const sw_tensor_request wanted = {"a", stage < 2 ? filled[stage] : NULL,
                                      stage == 0 ? sizeof elements : sizeof elements - 4};
    outcome->status = sw_pipeline_broadcast_tensors_from_last_stage(cast->pipeline[stage], &own, &wanted, 1,
                                                                    &outcome->tensors, &outcome->error);
}

BOTH(a_buffer_is_filled_or_left_alone_with_words_about_how_it_does_not_fit, 3) {
    cast_open(cast);
    cast_play(cast, fill);
    expect_outcome(&cast->outcome[0], OK, NONE);
    cr_assert_eq(memcmp(filled[0], elements, sizeof elements), 0);
    cr_assert_eq(cast->outcome[1].status, SW_INVALID_ARGUMENT);
    expect_message(&cast->outcome[1], "24");
    expect_message(&cast->outcome[1], "20");
    cr_assert_eq(filled[1][0], 0);
}

static void misname(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    const sw_named_tensor own[] = {{.name = "a", .view = {SW_F32, 2, shape, elements, sizeof elements}},
                                   {.name = "b", .view = {SW_F32, 1, flat, elements, sizeof elements}}};
    const sw_tensor_request wanted[] = {{.name = "a"}, {.name = "c"}};
    outcome->status = sw_pipeline_broadcast_tensors_from_last_stage(cast->pipeline[stage], own, wanted, 2,
                                                                    &outcome->tensors, &outcome->error);
}

BOTH(a_name_that_was_not_published_lists_those_that_were, 2) {
    cast_open(cast);
    cast_play(cast, misname);
    expect_outcome(&cast->outcome[0], NOT_FOUND, NO_SUCH_TENSOR);
    cr_assert_str_eq(sw_error_metadata(&cast->outcome[0].error, "tensors"), "[\"a\",\"b\"]");
    cast_play(cast, tensors_of);
    expect_all(cast, SW_OK);
}

static void lack(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    const sw_named_tensor own[] = {{.name = "a", .view = {SW_F32, 2, shape, elements, sizeof elements}},
                                   {.name = "logits"}};
    const sw_tensor_request wanted = {.name = "a"};
    outcome->status = sw_pipeline_broadcast_tensors_from_last_stage(cast->pipeline[stage], own, &wanted,
                                                                    stage == cast_last(cast) ? 2 : 1,
                                                                    &outcome->tensors, &outcome->error);
}

BOTH(a_missing_tensor_is_told_to_the_others_at_once_and_the_next_call_works, 2) {
    cast_open(cast);
    cast_play(cast, lack);
    cr_assert_eq(cast->outcome[1].status, SW_INVALID_ARGUMENT);
    cr_assert_str_eq(cast->outcome[1].error.message,
                     "Last PP stage must provide tensor 'logits' for broadcast.");
    expect_outcome(&cast->outcome[0], ABORTED, STEP_FAILED);
    cr_assert_str_eq(sw_error_metadata(&cast->outcome[0].error, "message"),
                     "Last PP stage must provide tensor 'logits' for broadcast.");
    cast_play(cast, tensors_of);
    expect_all(cast, SW_OK);
}

/* ---- a whole run ---- */

#define RUN_STEPS 20

static void train_and_evaluate(struct cast *cast, uint32_t stage, struct cast_outcome *outcome) {
    sw_pipeline *pipeline = cast->pipeline[stage];
    for (uint64_t step = 0; step < RUN_STEPS && outcome->status == SW_OK; step++) {
        struct cast_outcome parts[4] = {0};
        sw_pipeline_step_begin(pipeline, step, step % 5 == 4 ? "eval" : "train", NULL);
        metrics_of(cast, stage, &two, &parts[0]);
        tensors_of(cast, stage, &parts[1]);
        object_of(cast, stage, stage == step % cast->stages ? &number : NULL, &parts[2]);
        parts[3].status = sw_pipeline_step_end(pipeline, NULL, &parts[3].error);
        for (int i = 0; i < 4; i++) {
            sw_metrics_destroy(parts[i].metrics);
            sw_tensors_destroy(parts[i].tensors);
            sw_object_destroy(parts[i].object);
            if (parts[i].status == SW_OK) continue;
            outcome->status = parts[i].status;
            outcome->error = parts[i].error;
        }
    }
}

static const sw_channel_info *channel_of(const sw_info *info, const char *name, sw_item_kind kind) {
    for (uint32_t i = 0; i < info->channel_count; i++)
        if (info->channels[i].kind == kind && strcmp(info->channels[i].latest.channel, name) == 0)
            return &info->channels[i];
    cr_assert(false, "no channel %s", name);
    return NULL;
}

BOTH(what_was_pulled_is_released_so_that_tensors_go, 3) {
    cast_open(cast);
    cast_play(cast, train_and_evaluate);
    expect_all(cast, SW_OK);

    sw_client *watcher;
    sw_info *info;
    cr_assert_eq(sw_client_open(cast->target, NULL, &watcher, NULL), SW_OK);
    cr_assert_eq(sw_client_info(watcher, 0, &info, NULL), SW_OK);
    const sw_channel_info *tensors = channel_of(info, "train", SW_TENSORS);
    cr_assert_eq(tensors->consumer_count, 2);
    cr_assert_leq(tensors->held_bytes, 2 * 2 * sizeof elements, "the last step, and the one before at most");
    sw_info_destroy(info);

    cast_leave(cast, 0);
    cast_leave(cast, 1);
    cr_assert_eq(sw_client_info(watcher, 0, &info, NULL), SW_OK);
    for (uint32_t i = 0; i < info->channel_count; i++)
        for (uint32_t k = 0; k < info->channels[i].consumer_count; k++)
            cr_assert_gt(info->channels[i].released_below[k], RUN_STEPS, "%s",
                         info->channels[i].latest.channel);
    sw_info_destroy(info);
    sw_client_close(watcher);
}
