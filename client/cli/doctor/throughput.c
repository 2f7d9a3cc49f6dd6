#include <inttypes.h>
#include <stdlib.h>

#include "client/cli/doctor/doctor.h"
#include "client/cli/memory.h"

#define ENOUGH_BYTES (1u << 20)   /* less says nothing of a rate */
#define MOST_BYTES   (128u << 20) /* more would only disturb the job */

/* The tensors that are held, the most bytes first. */
static const sw_channel_info *largest_channel(const sw_info *info) {
    const sw_channel_info *largest = NULL;
    for (uint32_t i = 0; i < info->channel_count; i++) {
        const sw_channel_info *channel = &info->channels[i];
        if (channel->kind != SW_TENSORS || !channel->has_items) continue;
        if (!largest || channel->held_bytes > largest->held_bytes) largest = channel;
    }
    return largest;
}

/* Tensors of an item, as long as they stay below MOST_BYTES together. */
struct sample {
    sw_tensor_request *requests;
    uint32_t count;
    uint64_t bytes;
};

static struct sample choose(const sw_tensors *manifest) {
    uint32_t count = sw_tensors_count(manifest);
    struct sample sample = {.requests = memory_check(calloc((size_t)count + 1, sizeof *sample.requests))};
    for (uint32_t i = 0; i < count; i++) {
        size_t size = sw_tensors_view(manifest, i)->size;
        if (size > MOST_BYTES - sample.bytes) continue;
        sample.requests[sample.count++].name = sw_tensors_name(manifest, i);
        sample.bytes += size;
    }
    return sample;
}

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
    int64_t begun = doctor_now_ns();
    sw_status status =
        sw_client_get_tensors(doctor->client, &timed, sample->requests, sample->count, &tensors, &error);
    int64_t took = doctor_now_ns() - begun;
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
    const sw_channel_info *channel = largest_channel(doctor->info);
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
    struct sample sample = choose(manifest);
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
