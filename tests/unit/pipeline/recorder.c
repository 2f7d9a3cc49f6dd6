#include "tests/unit/pipeline/recorder.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/error.h"
#include "tests/support/test.h"

struct recorded_lease {
    sw_lease lease;
    struct recorder *recorder;
};

static struct recorder *recorder_of(sw_publisher *publisher) {
    return (struct recorder *)publisher;
}

static void note(struct recorder *recorder, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct recorder *recorder, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    cr_assert_lt(recorder->lines, RECORDER_LINES);
    vsnprintf(recorder->line[recorder->lines++], sizeof recorder->line[0], format, arguments);
    va_end(arguments);
}

static sw_status refuse(struct recorder *recorder, sw_error *error) {
    if (recorder->refuses == SW_REASON_NONE) return SW_OK;
    return error_set(error, recorder->refuses, "refused for the test");
}

static sw_status publish_metrics(sw_publisher *publisher, const sw_address *at, const sw_value *metrics,
                                 int64_t timeout_ms, bool *ret_duplicate, sw_error *error) {
    (void)timeout_ms;
    (void)ret_duplicate;
    sw_status status = refuse(recorder_of(publisher), error);
    if (status != SW_OK) return status;
    const sw_value *loss = sw_dict_get(metrics, "loss");
    note(recorder_of(publisher), "metrics %s %" PRIu64 "/%" PRIu32 " stage %" PRIu32 " kind %d", at->channel,
         at->step, at->call, at->stage, loss ? (int)loss->kind : -1);
    return SW_OK;
}

static sw_status publish_tensors(sw_publisher *publisher, const sw_address *at,
                                 const sw_named_tensor *tensors, size_t count, int64_t timeout_ms,
                                 bool *ret_duplicate, sw_error *error) {
    (void)tensors;
    (void)timeout_ms;
    (void)ret_duplicate;
    sw_status status = refuse(recorder_of(publisher), error);
    if (status != SW_OK) return status;
    note(recorder_of(publisher), "tensors %s %" PRIu64 "/%" PRIu32 " count %zu", at->channel, at->step,
         at->call, count);
    return SW_OK;
}

static sw_status publish_failure(sw_publisher *publisher, const sw_address *at, sw_item_kind kind,
                                 const char *message, int64_t timeout_ms, bool *ret_duplicate,
                                 sw_error *error) {
    (void)timeout_ms;
    (void)ret_duplicate;
    (void)error;
    size_t size = strlen(message);
    if (size > recorder_of(publisher)->longest_message) recorder_of(publisher)->longest_message = size;
    note(recorder_of(publisher), "failure %s %s %" PRIu64 "/%" PRIu32 " %s", item_kind_name(kind),
         at->channel, at->step, at->call, message);
    return SW_OK;
}

static sw_status close_channel(sw_publisher *publisher, const sw_address *at, sw_item_kind kind, bool all,
                               sw_close_reason reason, const char *message, int64_t timeout_ms,
                               sw_error *error) {
    (void)at;
    (void)kind;
    (void)all;
    (void)reason;
    (void)message;
    (void)timeout_ms;
    (void)error;
    note(recorder_of(publisher), "close");
    return SW_OK;
}

static void release(sw_lease *lease) {
    ((struct recorded_lease *)lease)->recorder->leases--;
    free(lease);
}

static sw_status check(sw_lease *lease, sw_error *error) {
    (void)lease;
    (void)error;
    return SW_OK;
}

static void note_policy(struct recorder *recorder, const sw_channel_policy *policy) {
    char consumers[128] = "";
    for (uint32_t i = 0; i < policy->consumer_count; i++) {
        size_t used = strlen(consumers);
        snprintf(consumers + used, sizeof consumers - used, "%s%s", i ? "," : "", policy->consumers[i]);
    }
    note(recorder, "policy %s %s (%s) lag %" PRIu32, item_kind_name(policy->kind), policy->channel, consumers,
         policy->max_lag_steps);
}

static sw_status attach(sw_publisher *publisher, const sw_attachment *attachment, int64_t timeout_ms,
                        sw_lease **ret_lease, uint64_t *ret_generation, sw_error *error) {
    static const sw_lease_ops ops = {release, check};
    (void)timeout_ms;
    (void)error;
    struct recorder *recorder = recorder_of(publisher);
    struct recorded_lease *lease = malloc(sizeof *lease);
    *lease = (struct recorded_lease){{&ops}, recorder};
    note(recorder, "attach %" PRIu32 " of %" PRIu32 " with %" PRIu32, attachment->stage,
         attachment->stage_count, attachment->policy_count);
    for (uint32_t i = 0; i < attachment->policy_count; i++) note_policy(recorder, &attachment->policies[i]);
    recorder->leases++;
    *ret_lease = &lease->lease;
    *ret_generation = attachment->generation;
    return SW_OK;
}

void recorder_init(struct recorder *recorder) {
    static const sw_publisher_ops ops = {publish_metrics, publish_tensors, publish_failure, close_channel,
                                         attach};
    *recorder = (struct recorder){.publisher = {&ops}};
}

bool recorder_has(const struct recorder *recorder, const char *line) {
    for (unsigned i = 0; i < recorder->lines; i++)
        if (strcmp(recorder->line[i], line) == 0) return true;
    return false;
}
