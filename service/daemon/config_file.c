#include "service/daemon/config_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/error.h"
#include "service/daemon/config_table.h"
#include "service/daemon/settings.h"

static sw_status wrong_line(const struct source *source, const char *line, const char *why, sw_error *error) {
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "%s:%u: %s: %s", source->file,
                          source->line, line, why);
}

/* A # begins a comment at the start of a line or after a blank, so that values may hold one. */
static void cut_comment(char *line) {
    for (char *at = line; *at; at++) {
        if (*at == '#' && (at == line || strchr(SETTINGS_BLANKS, at[-1]))) {
            *at = 0;
            return;
        }
    }
}

static sw_status read_line(struct config *config, char *line, const struct source *source, sw_error *error) {
    cut_comment(line);
    char *text = settings_trim(line);
    if (!*text) return SW_OK;
    char *equals = strchr(text, '=');
    if (!equals) return wrong_line(source, text, "not KEY = VALUE", error);
    *equals = 0;
    const char *key = settings_trim(text), *value = settings_trim(equals + 1);
    int row = option_find(key, strlen(key));
    if (row < 0)
        return wrong_line(source, key, "there is no such option; stagewired --help lists them", error);
    if (option_table[row].flag_only) return wrong_line(source, key, "is for the command line only", error);
    const char *kept = settings_keep(config, value, strlen(value));
    if (!kept)
        return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory for %s", source->file);
    return settings_add(config, (size_t)row, kept, *source, error);
}

sw_status config_file_read(struct config *config, const char *path, sw_error *error) {
    struct source source = {SOURCE_FILE, path, 0};
    char *line = NULL;
    size_t capacity = 0;
    sw_status status = SW_OK;
    FILE *file = fopen(path, "re");
    if (!file) {
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "--config %s: %s", path,
                              strerror(errno));
    }
    while (status == SW_OK && getline(&line, &capacity, file) >= 0) {
        source.line++;
        status = read_line(config, line, &source, error);
    }
    if (status == SW_OK && ferror(file)) {
        status =
            error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "--config %s: cannot be read", path);
    }
    free(line);
    fclose(file);
    return status;
}
