/* What the demo shows while it runs: on a terminal a board that is rewritten in place, otherwise a line every
 * few steps, or one JSON object a step. */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_BOARD_H
#define STAGEWIRE_CLIENT_CLI_DEMO_BOARD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "client/cli/demo/demo_options.h"
#include "client/cli/demo/model/network.h"
#include "client/cli/demo/report.h"

struct board_stage {
    uint64_t steps; /* done */
    struct report_traffic traffic;
    bool done;
    char digest[DIGEST_TEXT_SIZE];
    uint64_t correct, images;
};

struct board {
    const struct demo_options *options;
    FILE *out;
    bool rewrites;
    int64_t began_ms, drawn_ms;
    unsigned drawn_lines;
    struct board_stage stages[NETWORK_STAGES_MAX];
    struct network_metrics *metrics; /* [options->steps], as far as the last stage is */
    uint64_t shown;                  /* steps */
};

/* False without memory. */
bool board_init(struct board *board, const struct demo_options *options, FILE *out);
void board_destroy(struct board *board);

/* Takes a stage's STEP or DONE and shows what that makes complete. */
void board_take(struct board *board, unsigned stage, const struct report *report);

/* The end of the show: what is left to be shown, and every stage's digest where all are done. */
void board_finish(struct board *board);

bool board_all_done(const struct board *board);
bool board_digests_equal(const struct board *board);
double board_held_out_accuracy(const struct board *board);

#endif
