/* The board's words. */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_BOARD_TEXT_H
#define STAGEWIRE_CLIENT_CLI_DEMO_BOARD_TEXT_H

#include "client/cli/demo/board.h"

/* The whole page as of `shown` steps; returns its lines. */
unsigned board_text_page(const struct board *board, uint64_t shown);
/* One line about a step and the traffic so far. */
void board_text_line(const struct board *board, uint64_t step);
/* {"step": …, "loss": …, "accuracy": …, …, "stages": [traffic so far]}; with `end` also "digests" and
 * "held_out_accuracy". */
void board_text_json(const struct board *board, uint64_t step, bool end);
/* Every stage's digest, and the accuracy on the images held out. */
void board_text_end(const struct board *board, FILE *out);

#endif
