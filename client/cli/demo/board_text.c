#include "client/cli/demo/board_text.h"

#include <inttypes.h>

#include "client/cli/json_write.h"
#include "client/cli/text_table.h"
#include "proto/base/clock.h"

#define BAR_WIDTH 30
#define MIB       (1024.0 * 1024.0)

static double us(uint64_t ns) {
    return (double)ns / 1e3;
}

static double moved_mib(const struct board *board) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < board->options->stages; i++) bytes += board->stages[i].traffic.pulled_bytes;
    return (double)bytes / MIB;
}

static double steps_per_second(const struct board *board, uint64_t steps) {
    int64_t took = clock_now_ms(&clock_system) - board->began_ms;
    return took > 0 ? 1000.0 * (double)steps / (double)took : 0.0;
}

static void put_stages(const struct board *board, FILE *out) {
    struct text_table table;
    text_table_init(&table, 6,
                    (const char *const[]){"stage", "pulls", "pulled", "published", "pull p50", "pull p99"});
    for (unsigned i = 0; i < board->options->stages; i++) {
        const struct report_traffic *traffic = &board->stages[i].traffic;
        text_table_add(&table, "%u", i);
        text_table_add(&table, "%" PRIu64, traffic->pulls);
        text_table_add(&table, "%.1f MiB", (double)traffic->pulled_bytes / MIB);
        text_table_add(&table, "%.1f MiB", (double)traffic->published_bytes / MIB);
        text_table_add(&table, "%.0f us", us(traffic->p50_ns));
        text_table_add(&table, "%.0f us", us(traffic->p99_ns));
    }
    text_table_print(&table, out);
    text_table_destroy(&table);
}

unsigned board_text_page(const struct board *board, uint64_t shown) {
    uint64_t steps = board->options->steps;
    int filled = (int)(shown * BAR_WIDTH / steps);
    static const char bar[] = "##############################..............................";
    fprintf(board->out, "%u stages, %u microbatches, seed %" PRIu64 "\n", board->options->stages,
            board->options->microbatches, board->options->seed);
    fprintf(board->out, "step %" PRIu64 "/%" PRIu64 " [%.*s] %.1f steps/s\n", shown, steps, BAR_WIDTH,
            bar + BAR_WIDTH - filled, steps_per_second(board, shown));
    if (shown)
        fprintf(board->out, "loss %.6f  accuracy %.4f\n", board->metrics[shown - 1].loss,
                board->metrics[shown - 1].accuracy);
    else
        fprintf(board->out, "loss -  accuracy -\n");
    put_stages(board, board->out);
    return 4 + board->options->stages;
}

void board_text_line(const struct board *board, uint64_t step) {
    const struct network_metrics *metrics = &board->metrics[step];
    fprintf(board->out, "step %4" PRIu64 "/%" PRIu64 "  loss %.6f  accuracy %.4f  moved %.1f MiB", step + 1,
            board->options->steps, metrics->loss, metrics->accuracy, moved_mib(board));
    bool pulls = board->options->stages > 1;
    if (pulls) fputs("  pull p50/p99 us", board->out);
    for (unsigned i = 0; pulls && i < board->options->stages; i++) {
        const struct report_traffic *traffic = &board->stages[i].traffic;
        fprintf(board->out, "  %.0f/%.0f", us(traffic->p50_ns), us(traffic->p99_ns));
    }
    fputc('\n', board->out);
}

static void put_stage_json(FILE *out, unsigned number, const struct report_traffic *traffic) {
    fprintf(out,
            "%s{\"stage\": %u, \"pulls\": %" PRIu64 ", \"pulled_bytes\": %" PRIu64
            ", \"published_bytes\": %" PRIu64 ", \"pull_p50_us\": %.1f, \"pull_p99_us\": %.1f}",
            number ? ", " : "", number, traffic->pulls, traffic->pulled_bytes, traffic->published_bytes,
            us(traffic->p50_ns), us(traffic->p99_ns));
}

static void put_end_json(const struct board *board) {
    fputs(", \"held_out_accuracy\": ", board->out);
    json_write_number(board->out, board_held_out_accuracy(board));
    fputs(", \"digests\": [", board->out);
    for (unsigned i = 0; i < board->options->stages; i++)
        fprintf(board->out, "%s\"%s\"", i ? ", " : "", board->stages[i].digest);
    fputc(']', board->out);
}

static void put_number(FILE *out, const char *name, double number) {
    fprintf(out, ", \"%s\": ", name);
    json_write_number(out, number);
}

void board_text_json(const struct board *board, uint64_t step, bool end) {
    const struct network_metrics *metrics = &board->metrics[step];
    fprintf(board->out, "{\"step\": %" PRIu64, step);
    put_number(board->out, "loss", metrics->loss);
    put_number(board->out, "accuracy", metrics->accuracy);
    put_number(board->out, "grad_norm", metrics->grad_norm);
    put_number(board->out, "lr", metrics->lr);
    fprintf(board->out, ", \"num_valid_samples\": %" PRId64 ", \"stages\": [", metrics->num_valid_samples);
    for (unsigned i = 0; i < board->options->stages; i++)
        put_stage_json(board->out, i, &board->stages[i].traffic);
    fputc(']', board->out);
    if (end) put_end_json(board);
    fputs("}\n", board->out);
}

void board_text_end(const struct board *board, FILE *out) {
    const struct board_stage *last = &board->stages[board->options->stages - 1];
    for (unsigned i = 0; i < board->options->stages; i++)
        fprintf(out, "stage %u  digest %s of all metrics and log-probabilities it %s\n", i,
                board->stages[i].digest, i + 1 == board->options->stages ? "published" : "pulled");
    fprintf(out, "held-out accuracy %.4f (%" PRIu64 " of %" PRIu64 " images)\n",
            board_held_out_accuracy(board), last->correct, last->images);
}
