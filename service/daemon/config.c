#include "service/daemon/config.h"

#include <stdlib.h>
#include <string.h>

#include "proto/base/error.h"
#include "service/daemon/config_file.h"
#include "service/daemon/config_table.h"
#include "service/daemon/settings.h"

/* ---- flags ---- */

static sw_status wrong_flag(const char *flag, const char *why, sw_error *error) {
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "%s: %s; see --help", flag, why);
}

/* `--name value`, `--name=value`, or a switch alone. *at is moved to the last argument that was used. */
static sw_status read_flag(struct config *config, char **argv, int *at, sw_error *error) {
    const char *flag = argv[*at];
    if (strncmp(flag, "--", 2) != 0 || !flag[2]) return wrong_flag(flag, "no option begins like this", error);
    size_t size = strcspn(flag + 2, "=");
    int row = option_find(flag + 2, size);
    if (row < 0) return wrong_flag(flag, "there is no such option", error);
    const char *value = flag[2 + size] == '=' ? flag + 3 + size : NULL;
    if (!value && !option_table[row].placeholder) value = "true";
    if (!value) value = argv[++*at];
    if (!value) return wrong_flag(flag, "its value is missing", error);
    return settings_add(config, (size_t)row, value, (struct source){SOURCE_FLAG, NULL, 0}, error);
}

static sw_status read_flags(struct config *config, int argc, char **argv, sw_error *error) {
    for (int i = 1; i < argc; i++) {
        sw_status status = read_flag(config, argv, &i, error);
        if (status != SW_OK) return status;
    }
    return SW_OK;
}

/* ---- environment ---- */

static const char *find_variable(char **environment, const char *name) {
    size_t size = strlen(name);
    for (char **at = environment; at && *at; at++) {
        if (strncmp(*at, name, size) == 0 && (*at)[size] == '=') return *at + size + 1;
    }
    return NULL;
}

static sw_status read_environment(struct config *config, char **environment, sw_error *error) {
    char name[OPTION_VARIABLE_MAX];
    for (size_t row = 0; row < option_count; row++) {
        if (option_table[row].flag_only) continue;
        const char *value = find_variable(environment, option_variable(&option_table[row], name));
        if (!value) continue;
        sw_status status = settings_add(config, row, value, (struct source){SOURCE_VARIABLE, NULL, 0}, error);
        if (status != SW_OK) return status;
    }
    return SW_OK;
}

/* ---- all of it ---- */

static sw_status check_needed(const struct config *config, sw_error *error) {
    if (config->print_config || config->version || config->help) return SW_OK;
    if (!config->endpoint.run_id) {
        return error_set_code(
            error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
            "--run-id is missing; name the training job that is served, for instance --run-id run-1");
    }
    if (config->endpoint.listen_count == 0) {
        return error_set_code(
            error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
            "--listen is missing; for instance --listen 127.0.0.1:0 or --listen unix:/run/stagewire.sock");
    }
    return SW_OK;
}

sw_status config_load(struct config *config, int argc, char **argv, char **environment, sw_error *error) {
    *config = (struct config){0};
    sw_endpoint_options_init(&config->endpoint);
    sw_status status = settings_open(config, error);
    if (status == SW_OK) status = read_flags(config, argc, argv, error);
    if (status == SW_OK) status = settings_parse_file_name(config, error);
    if (status == SW_OK) status = read_environment(config, environment, error);
    if (status == SW_OK && *config->file) status = config_file_read(config, config->file, error);
    if (status == SW_OK) status = settings_parse(config, error);
    if (status == SW_OK) status = check_needed(config, error);
    return status;
}

void config_free(struct config *config) {
    settings_close(config);
}

/* ---- telling ---- */

void config_print(const struct config *config, FILE *out) {
    for (size_t row = 0; row < option_count; row++) {
        if (!option_table[row].flag_only) settings_print(config, row, out);
    }
}

static void print_option(const struct option *option, FILE *out) {
    char left[64], variable[OPTION_VARIABLE_MAX];
    snprintf(left, sizeof left, "--%s %s", option->name, option->placeholder ? option->placeholder : "");
    fprintf(out, "  %-28s %s", left, option->help);
    if (option->placeholder && option->fallback && *option->fallback) fprintf(out, " (%s)", option->fallback);
    if (!option->flag_only) fprintf(out, "\n  %-28s %s", "", option_variable(option, variable));
    fputc('\n', out);
}

void config_help(FILE *out) {
    fputs("stagewired: holds what a pipeline stage publishes, and serves it to those who pull.\n\n"
          "  stagewired --run-id NAME --listen ADDRESS [OPTION...]\n\n"
          "Each option may be a flag, an environment variable, or a line of a file, in this order of "
          "precedence.\n"
          "It drains and ends on SIGTERM or SIGINT; a second one ends it at once.\n"
          "Exit status: 0 after a drain, 1 where it cannot serve, 2 where it was told something wrong.\n\n",
          out);
    for (size_t row = 0; row < option_count; row++) print_option(&option_table[row], out);
}
