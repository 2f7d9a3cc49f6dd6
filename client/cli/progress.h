/* A line on a terminal that shows how far a transfer is. Where standard error is no terminal, nothing. */
#ifndef STAGEWIRE_CLIENT_CLI_PROGRESS_H
#define STAGEWIRE_CLIENT_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *out; /* NULL: shows nothing */
    int64_t began_ms;
    bool is_drawn;
};

void progress_begin(struct progress *progress, bool quiet, int64_t now_ms);
void progress_show(struct progress *progress, uint64_t done, uint64_t total, int64_t now_ms);
/* Takes the line away, so that something else can be said. */
void progress_end(struct progress *progress);

/* "12.3 MiB": at most PROGRESS_BYTES_MAX with the NUL. */
#define PROGRESS_BYTES_MAX 16
const char *progress_bytes(char text[PROGRESS_BYTES_MAX], double bytes);

/* "[=====>    ]  51%  1.0 of 2.0 GiB  300.0 MiB/s  4 s left", in at most `columns` columns: what does not fit
 * is left out from its end. */
void progress_line(char *text, size_t size, uint64_t done, uint64_t total, int64_t taken_ms,
                   unsigned columns);

#endif
