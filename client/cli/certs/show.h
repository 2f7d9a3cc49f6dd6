/* Reviews of files as 'stagewire certs show' prints them. */
#ifndef STAGEWIRE_CLIENT_CLI_CERTS_SHOW_H
#define STAGEWIRE_CLIENT_CLI_CERTS_SHOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "client/cli/certs/review.h"

void show_file_text(FILE *out, const struct file_review *review, int64_t now, bool is_colored);

/* One line: {"file": …, "ok": …, "problem": …, "blocks": [{"kind": "certificate", …, "problems": […]}]}. */
void show_file_json(FILE *out, const struct file_review *review, int64_t now);

#endif
