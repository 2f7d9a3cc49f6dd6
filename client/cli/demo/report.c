#include "client/cli/demo/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "client/cli/json_write.h"
#include "proto/base/error.h"

#define LINE_BYTES_MAX 65536

static bool write_all(int descriptor, const char *data, size_t size) {
    while (size > 0) {
        ssize_t written = write(descriptor, data, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        data += written;
        size -= (size_t)written;
    }
    return true;
}

static void put_traffic(FILE *out, const struct report_traffic *traffic) {
    fprintf(out,
            ", \"pulls\": %" PRIu64 ", \"pulled_bytes\": %" PRIu64 ", \"published_bytes\": %" PRIu64
            ", \"p50_ns\": %" PRIu64 ", \"p99_ns\": %" PRIu64,
            traffic->pulls, traffic->pulled_bytes, traffic->published_bytes, traffic->p50_ns,
            traffic->p99_ns);
}

static void put_number(FILE *out, const char *name, double number) {
    fprintf(out, ", \"%s\": ", name);
    json_write_number(out, number);
}

static void put_step(FILE *out, const struct report *report) {
    fprintf(out, ", \"step\": %" PRIu64, report->step);
    put_traffic(out, &report->traffic);
    if (!report->has_metrics) return;
    put_number(out, "loss", report->metrics.loss);
    put_number(out, "accuracy", report->metrics.accuracy);
    put_number(out, "grad_norm", report->metrics.grad_norm);
    put_number(out, "lr", report->metrics.lr);
    fprintf(out, ", \"num_valid_samples\": %" PRId64, report->metrics.num_valid_samples);
}

bool report_write(int descriptor, const struct report *report) {
    char *line;
    size_t size;
    FILE *out = open_memstream(&line, &size);
    if (!out) return false;
    fprintf(out, "{\"type\": %d", report->type);
    switch (report->type) {
    case REPORT_SERVING:
        fputs(", \"endpoint\": ", out);
        json_write_string(out, report->endpoint);
        break;
    case REPORT_STEP:
        put_step(out, report);
        break;
    case REPORT_DONE:
        put_traffic(out, &report->traffic);
        fprintf(out, ", \"digest\": \"%s\", \"correct\": %" PRIu64 ", \"images\": %" PRIu64, report->digest,
                report->correct, report->images);
        break;
    case REPORT_FAILED:
        fprintf(out, ", \"code\": %d, \"reason\": \"%s\", \"message\": ", report->code,
                sw_reason_name(report->reason));
        json_write_string(out, report->message);
        break;
    }
    fputs("}\n", out);
    bool written = fclose(out) == 0 && write_all(descriptor, line, size);
    free(line);
    return written;
}

static uint64_t number_of(const json_t *json, const char *name) {
    return (uint64_t)json_integer_value(json_object_get(json, name));
}

/* Numbers that JSON cannot hold were written as strings. */
static double real_of(const json_t *json, const char *name) {
    const json_t *member = json_object_get(json, name);
    return json_is_string(member) ? strtod(json_string_value(member), NULL) : json_number_value(member);
}

static void text_of(const json_t *json, const char *name, char *ret_text, size_t size) {
    const char *text = json_string_value(json_object_get(json, name));
    snprintf(ret_text, size, "%s", text ? text : "");
}

static struct report_traffic traffic_of(const json_t *json) {
    return (struct report_traffic){
        .pulls = number_of(json, "pulls"),
        .pulled_bytes = number_of(json, "pulled_bytes"),
        .published_bytes = number_of(json, "published_bytes"),
        .p50_ns = number_of(json, "p50_ns"),
        .p99_ns = number_of(json, "p99_ns"),
    };
}

static struct network_metrics metrics_of(const json_t *json) {
    return (struct network_metrics){
        .loss = real_of(json, "loss"),
        .accuracy = real_of(json, "accuracy"),
        .grad_norm = real_of(json, "grad_norm"),
        .lr = real_of(json, "lr"),
        .num_valid_samples = (int64_t)number_of(json, "num_valid_samples"),
    };
}

sw_status report_read(const char *line, size_t size, struct report *ret_report, sw_error *error) {
    json_t *json = json_loadb(line, size, 0, NULL);
    uint64_t type = number_of(json, "type");
    if (type < REPORT_SERVING || type > REPORT_FAILED) {
        json_decref(json);
        return error_set_code(error, SW_INTERNAL, SW_REASON_NONE, "a stage's report is none: %.*s",
                              size > 200 ? 200 : (int)size, line);
    }
    char reason[64];
    text_of(json, "reason", reason, sizeof reason);
    *ret_report = (struct report){
        .type = (enum report_type)type,
        .traffic = traffic_of(json),
        .step = number_of(json, "step"),
        .has_metrics = json_object_get(json, "loss") != NULL,
        .metrics = metrics_of(json),
        .correct = number_of(json, "correct"),
        .images = number_of(json, "images"),
        .code = (sw_status)number_of(json, "code"),
        .reason = sw_reason_from_name(reason),
    };
    text_of(json, "endpoint", ret_report->endpoint, sizeof ret_report->endpoint);
    text_of(json, "digest", ret_report->digest, sizeof ret_report->digest);
    text_of(json, "message", ret_report->message, sizeof ret_report->message);
    json_decref(json);
    return SW_OK;
}

bool endpoints_write(int descriptor, const char *const *endpoints, unsigned count) {
    char *line;
    size_t size;
    FILE *out = open_memstream(&line, &size);
    if (!out) return false;
    for (unsigned i = 0; i < count; i++) {
        fputs(i ? ", " : "[", out);
        json_write_string(out, endpoints[i]);
    }
    fputs("]\n", out);
    bool written = fclose(out) == 0 && write_all(descriptor, line, size);
    free(line);
    return written;
}

/* Up to the newline; false if it doesn't come. */
static bool read_line(int descriptor, char *line, size_t capacity, size_t *ret_size) {
    size_t size = 0;
    while (size < capacity) {
        ssize_t got = read(descriptor, line + size, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        if (line[size] == '\n') {
            *ret_size = size;
            return true;
        }
        size++;
    }
    return false;
}

sw_status endpoints_read(int descriptor, unsigned count, char (*ret_endpoints)[REPORT_ENDPOINT_MAX],
                         sw_error *error) {
    char line[LINE_BYTES_MAX];
    size_t size;
    if (!read_line(descriptor, line, sizeof line, &size))
        return error_set_code(error, SW_ABORTED, SW_REASON_NONE,
                              "the launcher is gone before all stages served");
    json_t *json = json_loadb(line, size, 0, NULL);
    bool whole = json_array_size(json) == count;
    for (unsigned i = 0; whole && i < count; i++) {
        const char *text = json_string_value(json_array_get(json, i));
        whole = text != NULL;
        if (whole) snprintf(ret_endpoints[i], REPORT_ENDPOINT_MAX, "%s", text);
    }
    json_decref(json);
    if (whole) return SW_OK;
    return error_set_code(error, SW_INTERNAL, SW_REASON_NONE, "the launcher named no %u endpoints", count);
}
