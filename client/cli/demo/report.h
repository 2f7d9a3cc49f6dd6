/* What launcher and stages tell each other: one JSON object a line. A stage reports on descriptor
 * REPORT_DESCRIPTOR and reads the endpoints from its standard input, whose end means that the launcher is
 * gone. */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_REPORT_H
#define STAGEWIRE_CLIENT_CLI_DEMO_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/status.h>

#include "client/cli/demo/digest.h"
#include "client/cli/demo/model/network.h"

#define REPORT_DESCRIPTOR   3
#define REPORT_ENDPOINT_MAX 256

struct report_traffic {
    uint64_t pulls, pulled_bytes, published_bytes;
    uint64_t p50_ns, p99_ns;
};

enum report_type {
    REPORT_SERVING = 1, /* the stage's endpoint */
    REPORT_STEP,        /* a step is done */
    REPORT_DONE,        /* all is done */
    REPORT_FAILED,      /* why the stage ends early */
};

struct report {
    enum report_type type;
    char endpoint[REPORT_ENDPOINT_MAX]; /* SERVING */
    struct report_traffic traffic;      /* STEP and DONE */
    uint64_t step;                      /* STEP */
    bool has_metrics;                   /* STEP, of the stage that owns them */
    struct network_metrics metrics;
    char digest[DIGEST_TEXT_SIZE]; /* DONE */
    uint64_t correct, images;      /* DONE: of those held out */
    sw_status code;                /* FAILED */
    sw_reason reason;
    char message[SW_ERROR_MESSAGE_MAX];
};

/* Writes the line; false if the launcher is gone. */
bool report_write(int descriptor, const struct report *report);
/* INTERNAL for a line that is none. */
sw_status report_read(const char *line, size_t size, struct report *ret_report, sw_error *error);

/* The launcher's answer to SERVING: everyone's endpoint, in the stages' order. */
bool endpoints_write(int descriptor, const char *const *endpoints, unsigned count);
/* Waits for it. ABORTED if the launcher is gone. Each is copied to ret_endpoints. */
sw_status endpoints_read(int descriptor, unsigned count, char (*ret_endpoints)[REPORT_ENDPOINT_MAX],
                         sw_error *error);

#endif
