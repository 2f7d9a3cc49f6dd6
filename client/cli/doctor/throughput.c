#include <inttypes.h>
#include <stdlib.h>

#include "client/cli/doctor/doctor.h"
#include "client/cli/sample.h"
#include "client/cli/stopwatch.h"

#define ENOUGH_BYTES (1u << 20)   /* less says nothing of a rate */
#define MOST_BYTES   (128u << 20) /* more would only disturb the job */

static void say_failed(struct doctor *doctor, const sw_error *error) {
    if (error->reason == SW_REASON_NONE && error->code != SW_DEADLINE_EXCEEDED) {
        report_wrong(&doctor->report, "throughput", exit_code_of(error->code), "%s", error->message);
        return;
    }
    report_skipped(&doctor->report, "throughput", "%s", error->message);
}

static void measure(struct doctor *doctor, const sw_pull *pull, const struct sample *sample) {
    sw_pull timed = *pull;
    sw_tensors *tensors;
    sw_error error;
    timed.timeout_ms = doctor_left_ms(doctor);
    int64_t begun = stopwatch_ns();
    sw_status status =
        sw_client_get_tensors(doctor->client, &timed, sample->requests, sample->count, &tensors, &error);
    int64_t took = stopwatch_ns() - begun;
    if (status == SW_DEADLINE_EXCEEDED) {
        report_note(&doctor->report, "throughput",
                    "%" PRIu64 " bytes of tensors did not arrive within %" PRId64 " ms", sample->bytes,
                    timed.timeout_ms);
        return;
    }
    if (status != SW_OK) {
        say_failed(doctor, &error);
        return;
    }
    char words[DOCTOR_DURATION_BYTES];
    report_ok(&doctor->report, "throughput", "%.0f MB/s: %" PRIu64 " bytes of tensors in %s",
              (double)sample->bytes / 1e6 / ((double)took / 1e9), sample->bytes,
              doctor_duration(took, words));
    sw_tensors_destroy(tensors);
}

/* The newest item there is; as an observer, so that nothing is released. */
bool check_throughput(struct doctor *doctor) {
    const sw_channel_info *channel = sample_channel(doctor->info);
    if (!channel) {
        report_skipped(&doctor->report, "throughput",
                       "no tensors are held, and metrics are too small to measure by");
        return true;
    }
    sw_pull pull = {.address = channel->latest, .no_wait = true, .timeout_ms = doctor_left_ms(doctor)};
    sw_tensors *manifest;
    sw_error error;
    if (sw_client_get_manifest(doctor->client, &pull, &manifest, &error) != SW_OK) {
        say_failed(doctor, &error);
        return true;
    }
    struct sample sample = sample_choose(manifest, MOST_BYTES);
    if (sample.bytes < ENOUGH_BYTES)
        report_skipped(&doctor->report, "throughput",
                       "the newest tensors have %" PRIu64 " bytes up to %u MiB, too few to measure by",
                       sample.bytes, MOST_BYTES >> 20);
    else
        measure(doctor, &pull, &sample);
    free(sample.requests);
    sw_tensors_destroy(manifest);
    return true;
}
