/* What the last stage, and a single one, ask of their publisher. */
#include <string.h>

#include <stagewire/pipeline.h>

#include "tests/support/test.h"
#include "tests/unit/pipeline/recorder.h"

static struct recorder recorder;
static sw_pipeline *pipeline;
static sw_error error;

/* Nobody listens there: the last stage pulls nothing. */
#define NOWHERE "unix:/nonexistent/stagewire.sock"

static void open_stage(uint32_t stage_count, bool publishes) {
    sw_pipeline_options options;
    sw_pipeline_options_init(&options);
    recorder_init(&recorder);
    options.run_id = "run";
    options.generation = 3;
    options.stage = stage_count - 1;
    options.stage_count = stage_count;
    options.publisher = publishes ? &recorder.publisher : NULL;
    options.last_stage_endpoint = NOWHERE;
    cr_assert_eq(sw_pipeline_open(&options, &pipeline, &error), SW_OK, "%s", error.message);
}

static void close_stage(void) {
    sw_pipeline_close(pipeline);
    pipeline = NULL;
    cr_assert_eq(recorder.leases, 0, "every lease has ended");
}

static sw_value loss_of(sw_entry *entry, double loss) {
    *entry = (sw_entry){sw_text_of("loss"), sw_number(loss)};
    return sw_dict(entry, 1);
}

static sw_status broadcast(const sw_value *metrics) {
    sw_metrics *result;
    sw_status status = sw_pipeline_broadcast_loss_metrics_from_last_stage(pipeline, metrics, &result, &error);
    if (status == SW_OK) sw_metrics_destroy(result);
    return status;
}

static sw_status broadcast_tensor(const char *name, const float *element) {
    sw_named_tensor tensor = {.name = name,
                              .view = {element ? SW_F32 : 0, 0, NULL, element, element ? 4 : 0}};
    sw_tensors *result = (sw_tensors *)&tensor;
    sw_status status =
        sw_pipeline_broadcast_tensors_from_last_stage(pipeline, &tensor, NULL, 1, &result, &error);
    if (status == SW_OK) cr_assert_null(result, "the last stage has its own");
    return status;
}

#define expect_noted(expected)                                                                               \
    cr_assert(recorder_has(&recorder, expected), "no '%s'; last: '%s'", expected,                            \
              recorder.line[recorder.lines - 1])

Test(publishing, the_other_stages_are_consumers_with_a_lag_of_64_steps) {
    open_stage(3, true);
    cr_assert_str_eq(recorder.line[0], "attach 2 of 3 with 0");
    sw_entry entry;
    sw_value loss = loss_of(&entry, 0.5);
    cr_assert_eq(broadcast(&loss), SW_OK, "%s", error.message);
    cr_assert_str_eq(recorder.line[1], "attach 2 of 3 with 1");
    cr_assert_str_eq(recorder.line[2], "policy metrics metrics (stage-0,stage-1) lag 64");
    cr_assert_str_eq(recorder.line[3], "metrics metrics 0/0 stage 2 kind 3");
    cr_assert_eq(recorder.leases, 1, "a lease that declares more takes the older one's place");
    unsigned lines = recorder.lines;
    cr_assert_eq(broadcast(&loss), SW_OK);
    cr_assert_eq(recorder.lines, lines + 1, "a channel is declared once");
    close_stage();
}

Test(publishing, a_later_lease_declares_what_earlier_ones_did) {
    float element = 1;
    sw_entry entry;
    sw_value loss = loss_of(&entry, 0.5);
    open_stage(2, true);
    broadcast(&loss);
    cr_assert_eq(broadcast_tensor("t", &element), SW_OK);
    cr_assert_str_eq(recorder.line[4], "attach 1 of 2 with 2");
    cr_assert_str_eq(recorder.line[5], "policy metrics metrics (stage-0) lag 64");
    cr_assert_str_eq(recorder.line[6], "policy tensors tensors (stage-0) lag 64");
    cr_assert_str_eq(recorder.line[7], "tensors tensors 0/0 count 1");
    close_stage();
}

Test(publishing, calls_outside_steps_are_steps_of_the_operations_channel) {
    sw_entry entry;
    sw_value loss = loss_of(&entry, 0.5);
    open_stage(2, true);
    for (int i = 0; i < 3; i++) broadcast(&loss);
    expect_noted("metrics metrics 0/0 stage 1 kind 3");
    expect_noted("metrics metrics 1/0 stage 1 kind 3");
    expect_noted("metrics metrics 2/0 stage 1 kind 3");
    close_stage();
}

Test(publishing, a_step_has_calls_from_0_and_ends_with_a_marker) {
    float element = 1;
    sw_entry entry;
    sw_value loss = loss_of(&entry, 0.5);
    open_stage(2, true);
    for (uint64_t step = 7; step <= 9; step += 2) {
        cr_assert_eq(sw_pipeline_step_begin(pipeline, step, NULL, &error), SW_OK, "%s", error.message);
        broadcast(&loss);
        broadcast(&loss);
        broadcast_tensor("t", &element);
        cr_assert_eq(sw_pipeline_step_end(pipeline, NULL, &error), SW_OK, "%s", error.message);
    }
    expect_noted("metrics train 7/0 stage 1 kind 3");
    expect_noted("metrics train 7/1 stage 1 kind 3");
    expect_noted("tensors train 7/0 count 1");
    expect_noted("metrics train/stagewire.calls 7/0 stage 1 kind -1");
    expect_noted("metrics train 9/1 stage 1 kind 3");
    expect_noted("metrics train/stagewire.calls 9/0 stage 1 kind -1");
    expect_noted("policy metrics train/stagewire.calls (stage-0) lag 64");
    close_stage();
}

Test(publishing, no_metrics_are_a_failure_for_the_others_and_the_next_call_works) {
    sw_entry entry;
    sw_value loss = loss_of(&entry, 0.5);
    open_stage(2, true);
    cr_assert_eq(broadcast(NULL), SW_INVALID_ARGUMENT);
    cr_assert_str_eq(error.message, "Last PP stage must provide loss metrics.");
    expect_noted("failure metrics metrics 0/0 Last PP stage must provide loss metrics.");
    cr_assert_eq(broadcast(&loss), SW_OK);
    expect_noted("metrics metrics 1/0 stage 1 kind 3");
    close_stage();
}

Test(publishing, a_missing_tensor_is_a_failure_that_names_it) {
    float element = 1;
    open_stage(2, true);
    cr_assert_eq(broadcast_tensor("logits", NULL), SW_INVALID_ARGUMENT);
    cr_assert_str_eq(error.message, "Last PP stage must provide tensor 'logits' for broadcast.");
    expect_noted("failure tensors tensors 0/0 Last PP stage must provide tensor 'logits' for broadcast.");
    cr_assert_eq(broadcast_tensor("logits", &element), SW_OK);
    close_stage();
}

Test(publishing, a_tensor_without_elements_needs_no_bytes) {
    const int64_t empty[] = {0, 3};
    sw_named_tensor tensor = {.name = "t", .view = {SW_F32, 2, empty, NULL, 0}};
    sw_tensors *result;
    open_stage(2, true);
    cr_assert_eq(sw_pipeline_broadcast_tensors_from_last_stage(pipeline, &tensor, NULL, 1, &result, &error),
                 SW_OK);
    close_stage();
}

Test(publishing, what_cannot_be_published_is_a_failure_in_its_place) {
    sw_entry entry;
    sw_value loss = loss_of(&entry, 0.5), number = sw_integer(1);
    open_stage(2, true);
    cr_assert_eq(broadcast(&number), SW_INVALID_ARGUMENT);
    cr_assert_eq(error.reason, SW_REASON_MALFORMED);
    recorder.refuses = SW_REASON_STORE_FULL;
    cr_assert_eq(broadcast(&loss), SW_RESOURCE_EXHAUSTED);
    expect_noted("failure metrics metrics 1/0 refused for the test");
    recorder.refuses = SW_REASON_NONE;
    cr_assert_eq(broadcast(&loss), SW_OK);
    expect_noted("metrics metrics 2/0 stage 1 kind 3");
    close_stage();
}

Test(publishing, a_call_that_could_not_be_made_counts_and_is_a_failure_for_the_others) {
    sw_entry entry;
    sw_value loss = loss_of(&entry, 0.5);
    open_stage(2, true);
    cr_assert_eq(sw_pipeline_call_failed(pipeline, SW_METRICS, "metrics[0] is a function", &error), SW_OK);
    expect_noted("failure metrics metrics 0/0 metrics[0] is a function");
    cr_assert_eq(sw_pipeline_call_failed(pipeline, SW_OBJECT, "the object is a function", &error), SW_OK);
    expect_noted("failure object objects 0/0 the object is a function");
    cr_assert_eq(broadcast(&loss), SW_OK);
    expect_noted("metrics metrics 1/0 stage 1 kind 3");
    close_stage();
}

Test(publishing, a_step_that_fails_is_published_as_what_the_others_still_wait_for) {
    sw_entry entry;
    sw_value loss = loss_of(&entry, 0.5);
    open_stage(2, true);
    sw_pipeline_step_begin(pipeline, 4, "eval", NULL);
    broadcast(&loss);
    cr_assert_eq(sw_pipeline_step_end(pipeline, "out of memory", &error), SW_OK, "%s", error.message);
    expect_noted("failure metrics eval 4/1 out of memory");
    expect_noted("failure tensors eval 4/0 out of memory");
    expect_noted("failure object eval 4/0 out of memory");
    expect_noted("failure metrics eval/stagewire.calls 4/0 out of memory");
    cr_assert_eq(sw_pipeline_step_begin(pipeline, 5, "eval", &error), SW_OK, "the next step works");
    cr_assert_eq(sw_pipeline_step_end(pipeline, NULL, &error), SW_OK);
    close_stage();
}

Test(publishing, what_a_step_failed_with_may_be_any_bytes) {
    static char longest[100000];
    memset(longest, 'x', sizeof longest - 1);
    open_stage(2, true);
    sw_pipeline_step_begin(pipeline, 4, "eval", NULL);
    cr_assert_eq(sw_pipeline_step_end(pipeline, "a\xff", &error), SW_OK, "%s", error.message);
    expect_noted("failure metrics eval 4/0 a\xef\xbf\xbd");
    sw_pipeline_step_begin(pipeline, 5, "eval", NULL);
    cr_assert_eq(sw_pipeline_step_end(pipeline, longest, &error), SW_OK, "%s", error.message);
    cr_assert_leq(recorder.longest_message, SW_ERROR_MESSAGE_MAX);
    close_stage();
}

Test(publishing, the_last_stage_gets_the_copy_that_was_sent) {
    float element = 0.25f;
    sw_entry entry = {sw_text_of("loss"),
                      {.kind = SW_VALUE_TENSOR, .tensor = {SW_F32, 0, NULL, &element, 4}}};
    sw_value dict = sw_dict(&entry, 1);
    sw_metrics *result;
    open_stage(2, true);
    cr_assert_eq(sw_pipeline_broadcast_loss_metrics_from_last_stage(pipeline, &dict, &result, &error), SW_OK);
    element = 9;
    cr_assert_eq(sw_dict_get(sw_metrics_value(result), "loss")->number, 0.25);
    cr_assert_eq(sw_metrics_address(result)->generation, 3);
    cr_assert_str_eq(sw_metrics_address(result)->channel, "metrics");
    close_stage();
    cr_assert_str_eq(sw_metrics_address(result)->run_id, "run", "the result owns what it shows");
    sw_metrics_destroy(result);
}

Test(publishing, the_last_stage_need_not_take_its_copy) {
    sw_entry entry;
    sw_value loss = loss_of(&entry, 0.5);
    open_stage(2, true);
    cr_assert_eq(sw_pipeline_broadcast_loss_metrics_from_last_stage(pipeline, &loss, NULL, &error), SW_OK);
    expect_noted("metrics metrics 0/0 stage 1 kind 3");
    close_stage();
}

Test(publishing, a_single_stage_gets_its_own_object_and_publishes_for_those_who_watch) {
    float element = 0.25f;
    sw_entry entry = {sw_text_of("loss"),
                      {.kind = SW_VALUE_TENSOR, .tensor = {SW_F32, 0, NULL, &element, 4}}};
    sw_value dict = sw_dict(&entry, 1);
    sw_metrics *result;
    open_stage(1, true);
    cr_assert_eq(sw_pipeline_broadcast_loss_metrics_from_last_stage(pipeline, &dict, &result, &error), SW_OK);
    cr_assert_eq(sw_metrics_value(result), &dict);
    sw_metrics_destroy(result);
    cr_assert_str_eq(recorder.line[1], "metrics metrics 0/0 stage 0 kind 3", "no consumers; materialised");
    cr_assert_eq(broadcast(NULL), SW_INVALID_ARGUMENT);
    cr_assert_str_eq(error.message, "Last PP stage must provide loss metrics.");
    close_stage();
}

Test(publishing, a_single_stage_needs_no_endpoint_at_all) {
    sw_entry entry;
    sw_value loss = loss_of(&entry, 0.5);
    float element = 1;
    open_stage(1, false);
    cr_assert_eq(sw_pipeline_step_begin(pipeline, 0, NULL, &error), SW_OK);
    cr_assert_eq(broadcast(&loss), SW_OK);
    cr_assert_eq(broadcast(NULL), SW_INVALID_ARGUMENT);
    cr_assert_eq(broadcast_tensor("t", &element), SW_OK);
    cr_assert_eq(broadcast_tensor("t", NULL), SW_INVALID_ARGUMENT);
    cr_assert_str_eq(error.message, "Last PP stage must provide tensor 't' for broadcast.");
    cr_assert_eq(sw_pipeline_step_end(pipeline, "failed", &error), SW_OK);
    close_stage();
    cr_assert_eq(recorder.lines, 0);
}

Test(publishing, a_single_stage_gets_its_object_back_even_none) {
    sw_value value = sw_integer(0);
    sw_object *object;
    open_stage(1, false);
    cr_assert_eq(sw_pipeline_broadcast_obj_from_pp_rank(pipeline, &value, &object, &error), SW_OK);
    cr_assert_eq(sw_object_value(object), &value);
    cr_assert_eq(sw_object_owner_count(object), 1);
    cr_assert_eq(sw_object_owner(object, 0), 0);
    sw_object_destroy(object);
    cr_assert_eq(sw_pipeline_broadcast_obj_from_pp_rank(pipeline, NULL, &object, &error), SW_OK);
    cr_assert_null(sw_object_value(object));
    sw_object_destroy(object);
    close_stage();
}

Test(publishing, steps_are_named_begun_and_ended_in_order) {
    char longest[SW_CHANNEL_MAX + 1];
    memset(longest, 'c', sizeof longest);
    longest[112] = 0;
    open_stage(1, false);
    cr_assert_eq(sw_pipeline_step_end(pipeline, NULL, &error), SW_FAILED_PRECONDITION);
    cr_assert_eq(sw_pipeline_step_begin(pipeline, 5, "a", &error), SW_OK);
    cr_assert_eq(sw_pipeline_step_begin(pipeline, 6, "a", &error), SW_FAILED_PRECONDITION);
    cr_assert(strstr(error.message, "step 5 of \"a\" has not ended"), "%s", error.message);
    sw_pipeline_step_end(pipeline, NULL, NULL);
    cr_assert_eq(sw_pipeline_step_begin(pipeline, 5, "a", &error), SW_FAILED_PRECONDITION);
    cr_assert_eq(error.reason, SW_REASON_STEP_WENT_BACK);
    cr_assert_eq(sw_pipeline_step_begin(pipeline, 0, "", &error), SW_INVALID_ARGUMENT);
    cr_assert_eq(sw_pipeline_step_begin(pipeline, 0, "a b", &error), SW_INVALID_ARGUMENT);
    cr_assert(strstr(error.message, "byte 2"), "%s", error.message);
    cr_assert_eq(sw_pipeline_step_begin(pipeline, UINT64_C(1) << 63, "b", &error), SW_INVALID_ARGUMENT);
    cr_assert_eq(sw_pipeline_step_begin(pipeline, 0, longest, &error), SW_OK, "%s", error.message);
    sw_pipeline_step_end(pipeline, NULL, NULL);
    longest[112] = 'c';
    longest[113] = 0;
    cr_assert_eq(sw_pipeline_step_begin(pipeline, 0, longest, &error), SW_INVALID_ARGUMENT);
    cr_assert_eq(error.reason, SW_REASON_MALFORMED);
    close_stage();
}

Test(publishing, wrong_options_are_named) {
    sw_pipeline_options options;
    sw_pipeline_options_init(&options);
    recorder_init(&recorder);
    options.stage = 1;
    cr_assert_eq(sw_pipeline_open(&options, &pipeline, &error), SW_INVALID_ARGUMENT);
    cr_assert(strstr(error.message, "stage 1"), "%s", error.message);
    options.stage_count = 2;
    cr_assert_eq(sw_pipeline_open(&options, &pipeline, &error), SW_INVALID_ARGUMENT);
    cr_assert(strstr(error.message, "publisher"), "%s", error.message);
    options.publisher = &recorder.publisher;
    cr_assert_eq(sw_pipeline_open(&options, &pipeline, &error), SW_INVALID_ARGUMENT);
    cr_assert(strstr(error.message, "last_stage_endpoint"), "%s", error.message);
    options.last_stage_endpoint = "nonsense";
    cr_assert_eq(sw_pipeline_open(&options, &pipeline, &error), SW_INVALID_ARGUMENT);
    options.last_stage_endpoint = NOWHERE;
    options.timeout_ms = 0;
    cr_assert_eq(sw_pipeline_open(&options, &pipeline, &error), SW_INVALID_ARGUMENT);
    cr_assert(strstr(error.message, "timeout_ms"), "%s", error.message);
    cr_assert_null(pipeline);
}
