/* The text of each option and where it came from, before it is parsed: what comes first wins. */
#ifndef STAGEWIRE_DAEMON_SETTINGS_H
#define STAGEWIRE_DAEMON_SETTINGS_H

#include "service/daemon/config.h"

enum source_kind { SOURCE_DEFAULT, SOURCE_FLAG, SOURCE_VARIABLE, SOURCE_FILE };

struct source {
    enum source_kind kind;
    const char *file; /* of a FILE */
    unsigned line;
};

sw_status settings_open(struct config *config, sw_error *error);
void settings_close(struct config *config);

/* What may stand around a key, a value and an entry of a list, and counts for nothing. */
#define SETTINGS_BLANKS " \t\r\n"
char *settings_trim(char *text); /* cuts them off in place */

/* A copy that lives as long as the configuration; NULL without memory. */
char *settings_keep(struct config *config, const char *text, size_t size);

/* Left alone if a source of higher precedence has spoken; the same source again adds to a list and replaces
 * what is none. */
sw_status settings_add(struct config *config, size_t row, const char *text, struct source source,
                       sw_error *error);

sw_status settings_parse_file_name(struct config *config,
                                   sw_error *error); /* --config, which decides about the others */
sw_status settings_parse(struct config *config, sw_error *error);
void settings_print(const struct config *config, size_t row, FILE *out);

#endif
