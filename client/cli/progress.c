#include "client/cli/progress.h"

#include <inttypes.h>
#include <string.h>

#include "client/cli/terminal.h"
#include "client/cli/wrap.h"

#define BAR_COLUMNS      24
#define RATE_AFTER_MS    500 /* before that a rate says nothing */
#define ERASE_TO_THE_END "\x1b[K"

const char *progress_bytes(char text[PROGRESS_BYTES_MAX], double bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    for (; bytes >= 1000 && unit + 1 < sizeof units / sizeof *units; unit++) bytes /= 1024;
    snprintf(text, PROGRESS_BYTES_MAX, "%.*f %s", unit > 0, bytes, units[unit]);
    return text;
}

static void put_bar(char *text, double part) {
    unsigned full = (unsigned)(part * BAR_COLUMNS);
    *text++ = '[';
    for (unsigned i = 0; i < BAR_COLUMNS; i++) *text++ = i < full ? '=' : i == full ? '>' : ' ';
    *text++ = ']';
    *text = 0;
}

/* Adds words while they fit; false once they don't. */
static bool add(char *text, size_t size, unsigned columns, const char *words) {
    size_t used = strlen(text), more = strlen(words);
    if (used + more > columns || used + more >= size) return false;
    memcpy(text + used, words, more + 1);
    return true;
}

void progress_line(char *text, size_t size, uint64_t done, uint64_t total, int64_t taken_ms,
                   unsigned columns) {
    char words[64], a[PROGRESS_BYTES_MAX], b[PROGRESS_BYTES_MAX];
    double part = total > 0 ? (double)done / (double)total : 1;
    double rate = taken_ms > 0 ? (double)done * 1000 / (double)taken_ms : 0;
    text[0] = 0;
    put_bar(words, part);
    bool fits = add(text, size, columns, words);
    snprintf(words, sizeof words, " %3d%%", (int)(part * 100));
    fits = fits && add(text, size, columns, words);
    snprintf(words, sizeof words, "  %s of %s", progress_bytes(a, (double)done),
             progress_bytes(b, (double)total));
    fits = fits && add(text, size, columns, words);
    if (taken_ms < RATE_AFTER_MS || rate <= 0) return;
    snprintf(words, sizeof words, "  %s/s", progress_bytes(a, rate));
    fits = fits && add(text, size, columns, words);
    snprintf(words, sizeof words, "  %.0f s left", (double)(total - done) / rate);
    if (fits) add(text, size, columns, words);
}

void progress_begin(struct progress *progress, bool quiet, int64_t now_ms) {
    *progress = (struct progress){.out = !quiet && terminal_is(stderr) ? stderr : NULL, .began_ms = now_ms};
}

void progress_show(struct progress *progress, uint64_t done, uint64_t total, int64_t now_ms) {
    char line[160];
    if (!progress->out) return;
    progress_line(line, sizeof line, done, total, now_ms - progress->began_ms,
                  wrap_columns_of(progress->out) - 1);
    fprintf(progress->out, "\r%s" ERASE_TO_THE_END, line);
    fflush(progress->out);
    progress->is_drawn = true;
}

void progress_end(struct progress *progress) {
    if (progress->is_drawn) fputs("\r" ERASE_TO_THE_END, progress->out);
    progress->is_drawn = false;
}
