#include "client/cli/doctor/doctor.h"

#include <stdio.h>
#include <string.h>

#include "proto/base/clock.h"

#define UNIX_PREFIX "unix:"

/* "[::1]:4317" has its host in brackets. */
static void split(struct doctor *doctor, const char *endpoint) {
    const char *colon = strrchr(endpoint, ':');
    size_t size = colon ? (size_t)(colon - endpoint) : 0;
    if (endpoint[0] == '[' && size > 1) {
        endpoint++;
        size -= 2;
    }
    snprintf(doctor->host, sizeof doctor->host, "%.*s", (int)size, endpoint);
    snprintf(doctor->port, sizeof doctor->port, "%s", colon ? colon + 1 : "");
}

void doctor_init(struct doctor *doctor) {
    const struct options *options = &doctor->options;
    const char *endpoint = options->endpoint;
    doctor->files =
        (struct tls_files){options->tls_key, options->tls_cert, options->tls_ca, options->tls_crl};
    doctor->wire.fd = -1;
    doctor->end_ms = clock_after(clock_now_ms(&clock_system), options->timeout_ms);
    doctor->is_unix = strncmp(endpoint, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0;
    if (doctor->is_unix)
        doctor->path = endpoint + strlen(UNIX_PREFIX);
    else
        split(doctor, endpoint);
    report_begin(&doctor->report, stdout, options->json);
}

void doctor_close(struct doctor *doctor) {
    sw_info_destroy(doctor->info);
    sw_client_close(doctor->client);
    wire_close(&doctor->wire);
    tls_identity_unref(doctor->identity);
    if (doctor->found) freeaddrinfo(doctor->found);
}

int64_t doctor_deadline(const struct doctor *doctor) {
    int64_t step = clock_after(clock_now_ms(&clock_system), DOCTOR_STEP_MS);
    return step < doctor->end_ms ? step : doctor->end_ms;
}

int64_t doctor_left_ms(const struct doctor *doctor) {
    int64_t left = doctor_deadline(doctor) - clock_now_ms(&clock_system);
    return left > 0 ? left : 1;
}

const char *doctor_duration(int64_t ns, char text[DOCTOR_DURATION_BYTES]) {
    if (ns < 10 * 1000000)
        snprintf(text, DOCTOR_DURATION_BYTES, "%.2f ms", (double)ns / 1e6);
    else if (ns < 1000000000)
        snprintf(text, DOCTOR_DURATION_BYTES, "%.0f ms", (double)ns / 1e6);
    else
        snprintf(text, DOCTOR_DURATION_BYTES, "%.1f s", (double)ns / 1e9);
    return text;
}
