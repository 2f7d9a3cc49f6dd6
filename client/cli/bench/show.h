/* Results for people, a line as soon as it is known, and for programs. */
#ifndef STAGEWIRE_CLIENT_CLI_BENCH_SHOW_H
#define STAGEWIRE_CLIENT_CLI_BENCH_SHOW_H

#include <stdio.h>

#include "client/cli/bench/advice.h"

void bench_show_heading(FILE *out, const struct bench_results *results);
void bench_show_row(FILE *out, const struct bench_row *row);
/* What follows from the rows. */
void bench_show_end(FILE *out, const struct bench_results *results, const struct advice *advice,
                    size_t advice_count);

void bench_show_json(FILE *out, const struct bench_results *results, const struct advice *advice,
                     size_t advice_count);

#endif
