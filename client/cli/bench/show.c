#include "client/cli/bench/show.h"

#include <inttypes.h>
#include <string.h>

#include "client/cli/json_write.h"
#include "client/cli/messages.h"
#include "client/cli/progress.h"

static const char *const whats[] = {
    [BENCH_CALL] = "call",         [BENCH_PUBLISH] = "publish",       [BENCH_PULL] = "pull",
    [BENCH_RAW_CALL] = "raw call", [BENCH_RAW_STREAM] = "raw stream",
};
static const struct {
    const char *word, *words;
} links[] = {
    [BENCH_UNIX] = {"unix", "a Unix socket"},
    [BENCH_TCP] = {"tcp", "TCP, without TLS"},
    [BENCH_TLS] = {"tls", "TCP, with TLS"},
};

static double seconds(const struct bench_row *row, double share) {
    return (double)latency_percentile_ns(&row->took, share) / 1e9;
}

/* One-connection pulls against one raw connection; 0 where either is missing. */
static double part_of_raw(const struct bench_results *results) {
    const struct bench_row *one = bench_best_pull(results, 1);
    const struct bench_row *raw = bench_row_of(results, BENCH_RAW_STREAM);
    return one && raw && raw->moved ? bench_rate(one) / bench_rate(raw) : 0;
}

/* ---- for people ---- */

static void put_clean(FILE *out, const char *text) {
    messages_put_clean(out, text, strlen(text));
}

void bench_show_heading(FILE *out, const struct bench_results *results) {
    put_clean(out, results->endpoint);
    fprintf(out, ": over %s, from %s machine", links[results->link].words,
            results->is_near ? "the same" : "another");
    if (results->channel) {
        fputs("; pulls the newest tensors of ", out);
        put_clean(out, results->channel);
    }
    fprintf(out, "\n\n%-10s  %10s  %11s  %8s  %10s  %10s  %11s  %5s\n", "what", "size", "connections",
            "count", "p50", "p99", "rate", "cores");
    fflush(out);
}

static void put_time(FILE *out, const struct bench_row *row, double share) {
    if (row->took.count)
        fprintf(out, "  %7.2f ms", seconds(row, share) * 1e3);
    else
        fprintf(out, "  %10s", "-");
}

void bench_show_row(FILE *out, const struct bench_row *row) {
    char size[PROGRESS_BYTES_MAX];
    fprintf(out, "%-10s  %10s  %11u  %8" PRIu64, whats[row->what],
            row->bytes ? progress_bytes(size, (double)row->bytes) : "-", row->connections, row->took.count);
    put_time(out, row, 0.5);
    put_time(out, row, 0.99);
    if (row->moved)
        fprintf(out, "  %6.0f MB/s", bench_rate(row) / 1e6);
    else
        fprintf(out, "  %11s", "-");
    fprintf(out, "  %5.2f\n", row->cores);
    fflush(out);
}

void bench_show_end(FILE *out, const struct bench_results *results, const struct advice *advice,
                    size_t advice_count) {
    double part = part_of_raw(results);
    fputc('\n', out);
    if (results->passes_memory && bench_best_pull(results, 0))
        fputs("Tensors come as memory that both processes map, so the rates are not a socket's.\n", out);
    if (part > 0) fprintf(out, "One connection carries %.2f of what a raw socket does.\n", part);
    if (results->not_streamed) fprintf(out, "No tensors were pulled: %s\n", results->not_streamed);
    for (size_t i = 0; i < advice_count; i++) {
        fputs("change  ", out);
        put_clean(out, advice[i].change);
        fputs("\n   why  ", out);
        put_clean(out, advice[i].reason);
        fputc('\n', out);
    }
    if (advice_count == 0 && results->is_complete) fputs("Nothing measured asks for another setting.\n", out);
}

/* ---- for programs ---- */

static void put_number(FILE *out, const char *name, bool is_known, double number) {
    fprintf(out, ", \"%s\": ", name);
    if (is_known)
        json_write_number(out, number);
    else
        fputs("null", out);
}

static void put_row(FILE *out, const struct bench_row *row) {
    fprintf(out,
            "{\"what\": \"%s\", \"bytes\": %" PRIu64 ", \"connections\": %u, \"count\": %" PRIu64
            ", \"moved_bytes\": %" PRIu64,
            whats[row->what], row->bytes, row->connections, row->took.count, row->moved);
    put_number(out, "p50_s", row->took.count, seconds(row, 0.5));
    put_number(out, "p99_s", row->took.count, seconds(row, 0.99));
    put_number(out, "bytes_per_s", row->moved, bench_rate(row));
    put_number(out, "cores", true, row->cores);
    fputc('}', out);
}

void bench_show_json(FILE *out, const struct bench_results *results, const struct advice *advice,
                     size_t advice_count) {
    double part = part_of_raw(results);
    fputs("{\"endpoint\": ", out);
    json_write_string(out, results->endpoint);
    fprintf(out, ", \"link\": \"%s\", \"same_machine\": %s, \"passes_memory\": %s, \"complete\": %s",
            links[results->link].word, results->is_near ? "true" : "false",
            results->passes_memory ? "true" : "false", results->is_complete ? "true" : "false");
    json_write_member(out, "channel", results->channel);
    json_write_member(out, "not_streamed", results->not_streamed);
    put_number(out, "part_of_raw", part > 0, part);
    fputs(", \"rows\": [", out);
    for (size_t i = 0; i < results->count; i++) {
        if (i) fputs(", ", out);
        put_row(out, &results->rows[i]);
    }
    fputs("], \"advice\": [", out);
    for (size_t i = 0; i < advice_count; i++) {
        fputs(i ? ", {\"change\": " : "{\"change\": ", out);
        json_write_string(out, advice[i].change);
        json_write_member(out, "reason", advice[i].reason);
        fputc('}', out);
    }
    fputs("]}\n", out);
}
