#include "client/cli/demo/board.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/demo/board_text.h"
#include "proto/base/clock.h"

#define LINE_EVERY_STEPS 10
#define REDRAW_MS        100

bool board_init(struct board *board, const struct demo_options *options, FILE *out) {
    const char *terminal = getenv("TERM");
    *board = (struct board){
        .options = options,
        .out = out,
        .rewrites = !options->json && isatty(fileno(out)) && terminal && strcmp(terminal, "dumb") != 0,
        .began_ms = clock_now_ms(&clock_system),
        .metrics = calloc(options->steps, sizeof *board->metrics),
    };
    return board->metrics != NULL;
}

void board_destroy(struct board *board) {
    free(board->metrics);
}

/* Steps that every stage has done. */
static uint64_t complete_steps(const struct board *board) {
    uint64_t least = board->options->steps;
    for (unsigned i = 0; i < board->options->stages; i++)
        if (board->stages[i].steps < least) least = board->stages[i].steps;
    return least;
}

static void redraw(struct board *board) {
    if (board->drawn_lines) fprintf(board->out, "\x1b[%uA\x1b[J", board->drawn_lines);
    board->drawn_lines = board_text_page(board, board->shown);
    fflush(board->out);
    board->drawn_ms = clock_now_ms(&clock_system);
}

static void show_step(struct board *board, uint64_t step) {
    bool is_last = step + 1 == board->options->steps;
    if (board->options->json) {
        /* The last step's object says how all of it ended, so it comes with the end. */
        if (!is_last) board_text_json(board, step, false);
    } else if (!board->rewrites && (is_last || (step + 1) % LINE_EVERY_STEPS == 0)) {
        board_text_line(board, step);
    }
}

void board_take(struct board *board, unsigned number, const struct report *report) {
    struct board_stage *stage = &board->stages[number];
    stage->traffic = report->traffic;
    if (report->type == REPORT_DONE) {
        stage->done = true;
        stage->correct = report->correct;
        stage->images = report->images;
        memcpy(stage->digest, report->digest, sizeof stage->digest);
    } else if (report->step < board->options->steps) {
        stage->steps = report->step + 1;
        if (report->has_metrics) board->metrics[report->step] = report->metrics;
    }
    for (uint64_t complete = complete_steps(board); board->shown < complete; board->shown++)
        show_step(board, board->shown);
    if (!board->rewrites)
        fflush(board->out);
    else if (clock_now_ms(&clock_system) - board->drawn_ms >= REDRAW_MS)
        redraw(board);
}

void board_finish(struct board *board) {
    if (board->rewrites) redraw(board);
    bool all_shown = board->shown == board->options->steps;
    if (board->options->json && all_shown) board_text_json(board, board->shown - 1, board_all_done(board));
    if (board_all_done(board)) board_text_end(board, board->options->json ? stderr : board->out);
    fflush(board->out);
}

bool board_all_done(const struct board *board) {
    for (unsigned i = 0; i < board->options->stages; i++)
        if (!board->stages[i].done) return false;
    return true;
}

bool board_digests_equal(const struct board *board) {
    for (unsigned i = 1; i < board->options->stages; i++)
        if (strcmp(board->stages[i].digest, board->stages[0].digest) != 0) return false;
    return true;
}

double board_held_out_accuracy(const struct board *board) {
    const struct board_stage *last = &board->stages[board->options->stages - 1];
    return last->images ? (double)last->correct / (double)last->images : 0.0;
}
