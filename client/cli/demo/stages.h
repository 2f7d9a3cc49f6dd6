/* The launcher's view of its stages: their processes, and what they said. */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_STAGES_H
#define STAGEWIRE_CLIENT_CLI_DEMO_STAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "client/cli/demo/board.h"
#include "client/cli/demo/demo_options.h"
#include "client/cli/demo/process.h"
#include "client/cli/demo/report.h"
#include "client/cli/demo/workspace.h"
#include "client/cli/exit_codes.h"

#define STAGES_LINE_MAX 8192

struct stage_process {
    struct process process;
    size_t unread; /* bytes of a line that has not ended */
    char line[STAGES_LINE_MAX];
    bool serves, failed;
    char endpoint[REPORT_ENDPOINT_MAX];
    sw_error failure; /* where failed */
};

struct stages {
    unsigned count;
    struct stage_process stage[NETWORK_STAGES_MAX];
    bool introduced;         /* to each other */
    sw_status first_failure; /* SW_OK: none yet */
};

/* Stages that were started before an error are left to the caller. */
sw_status stages_start(struct stages *stages, const struct demo_options *options,
                       const struct workspace *workspace, sw_error *error);

/* Reads what a stage has reported by now; its steps go to the board. Introduces the stages to each other once
 * all serve. INTERNAL for what is no report. */
sw_status stages_read(struct stages *stages, unsigned number, struct board *board, sw_error *error);

bool stages_all_over(struct stages *stages);
bool stages_any_failed(struct stages *stages); /* ended otherwise than with success */
void stages_signal(struct stages *stages, int signal);
void stages_close(struct stages *stages);

/* Says of every stage that failed why it did; the exit code of the one that said so first. */
enum cli_exit stages_explain(const struct stages *stages, const char *who);

#endif
