#include "service/daemon/settings.h"

#include <stdlib.h>
#include <string.h>

#include "proto/base/error.h"
#include "service/daemon/config_table.h"

struct setting {
    struct source source;
    const char *texts[LISTEN_MAX]; /* one, where it is no list */
    size_t count;
};

struct config_strings {
    struct config_strings *next;
    char text[];
};

static sw_status no_memory(sw_error *error) {
    return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory for the configuration");
}

sw_status settings_open(struct config *config, sw_error *error) {
    config->settings = calloc(option_count, sizeof *config->settings);
    return config->settings ? SW_OK : no_memory(error);
}

void settings_close(struct config *config) {
    while (config->strings) {
        struct config_strings *next = config->strings->next;
        free(config->strings);
        config->strings = next;
    }
    free(config->settings);
    config->settings = NULL;
}

char *settings_keep(struct config *config, const char *text, size_t size) {
    struct config_strings *string = malloc(sizeof *string + size + 1);
    if (!string) return NULL;
    string->next = config->strings;
    config->strings = string;
    memcpy(string->text, text, size);
    string->text[size] = 0;
    return string->text;
}

char *settings_trim(char *text) {
    text += strspn(text, SETTINGS_BLANKS);
    char *end = text + strlen(text);
    while (end > text && strchr(SETTINGS_BLANKS, end[-1])) end--;
    *end = 0;
    return text;
}

/* ---- adding ---- */

/* --print-config writes a file that --config reads: what no line can hold is refused wherever it is said. */
static bool fits_a_line(const char *text) {
    size_t size = strlen(text);
    if (size > 0 && (strchr(SETTINGS_BLANKS, text[0]) || strchr(SETTINGS_BLANKS, text[size - 1])))
        return false;
    for (const char *at = text; *at; at++) {
        if (*at == '\n' || (*at == '#' && (at == text || strchr(SETTINGS_BLANKS, at[-1])))) return false;
    }
    return true;
}

static void words_of(size_t row, const char *text, struct source source, char *ret, size_t size) {
    char variable[OPTION_VARIABLE_MAX];
    const char *name = option_table[row].name;
    switch (source.kind) {
    case SOURCE_FLAG:
        snprintf(ret, size, "--%s %s", name, text);
        return;
    case SOURCE_VARIABLE:
        snprintf(ret, size, "%s=%s", option_variable(&option_table[row], variable), text);
        return;
    case SOURCE_FILE:
        snprintf(ret, size, "%s:%u: %s = %s", source.file, source.line, name, text);
        return;
    case SOURCE_DEFAULT:
        snprintf(ret, size, "%s", name);
        return;
    }
}

static sw_status wrong(size_t row, const char *text, struct source source, const char *why, sw_error *error) {
    char words[512];
    words_of(row, text, source, words, sizeof words);
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "%s: %s", words, why);
}

static sw_status add_entries(struct config *config, size_t row, const char *text, struct source source,
                             sw_error *error) {
    struct setting *setting = &config->settings[row];
    for (const char *entry = text;;) {
        size_t size = strcspn(entry, ",");
        if (setting->count == LISTEN_MAX) return wrong(row, text, source, "more than 16 of them", error);
        char *kept = settings_keep(config, entry, size);
        if (!kept) return no_memory(error);
        kept = settings_trim(kept);
        if (!*kept) return wrong(row, text, source, "an entry of the list is empty", error);
        if (!fits_a_line(kept)) return wrong(row, text, source, "an entry of the list begins with #", error);
        setting->texts[setting->count++] = kept;
        if (!entry[size]) return SW_OK;
        entry += size + 1;
    }
}

sw_status settings_add(struct config *config, size_t row, const char *text, struct source source,
                       sw_error *error) {
    struct setting *setting = &config->settings[row];
    if (setting->source.kind != SOURCE_DEFAULT && setting->source.kind < source.kind) return SW_OK;
    if (!fits_a_line(text))
        return wrong(row, text, source,
                     "a value neither begins nor ends with a blank, and holds no line break and no # after a "
                     "blank",
                     error);
    setting->source = source;
    if (option_table[row].repeats) return add_entries(config, row, text, source, error);
    setting->texts[0] = text;
    setting->count = 1;
    return SW_OK;
}

/* ---- parsing ---- */

static sw_status parse_row(struct config *config, size_t row, sw_error *error) {
    const struct option *option = &option_table[row];
    const struct setting *setting = &config->settings[row];
    const char *text = setting->count > 0 ? setting->texts[0] : option->fallback;
    if (!text) return SW_OK;
    const char *why = option->parse(text, (char *)config + option->field);
    return why ? wrong(row, text, setting->source, why, error) : SW_OK;
}

sw_status settings_parse_file_name(struct config *config, sw_error *error) {
    return parse_row(config, (size_t)option_find("config", strlen("config")), error);
}

static void fill_listen(struct config *config) {
    const struct setting *setting = &config->settings[option_find("listen", strlen("listen"))];
    memcpy(config->listen, setting->texts, sizeof config->listen);
    config->endpoint.listen = config->listen;
    config->endpoint.listen_count = (uint32_t)setting->count;
}

sw_status settings_parse(struct config *config, sw_error *error) {
    for (size_t row = 0; row < option_count; row++) {
        sw_status status = parse_row(config, row, error);
        if (status != SW_OK) return status;
    }
    fill_listen(config);
    return SW_OK;
}

/* ---- telling ---- */

static const char *source_in_words(const struct setting *setting, const struct option *option, char *text,
                                   size_t size) {
    char variable[OPTION_VARIABLE_MAX];
    switch (setting->source.kind) {
    case SOURCE_FLAG:
        snprintf(text, size, "--%s", option->name);
        break;
    case SOURCE_VARIABLE:
        snprintf(text, size, "%s", option_variable(option, variable));
        break;
    case SOURCE_FILE:
        snprintf(text, size, "%s:%u", setting->source.file, setting->source.line);
        break;
    case SOURCE_DEFAULT:
        snprintf(text, size, "default");
        break;
    }
    return text;
}

void settings_print(const struct config *config, size_t row, FILE *out) {
    const struct option *option = &option_table[row];
    const struct setting *setting = &config->settings[row];
    char source[512];
    source_in_words(setting, option, source, sizeof source);
    if (setting->count == 0 && !option->fallback) fprintf(out, "# %s is not set\n", option->name);
    if (setting->count == 0 && option->fallback)
        fprintf(out, "# %s\n%s = %s\n", source, option->name, option->fallback);
    if (setting->count > 0) fprintf(out, "# %s\n", source);
    for (size_t i = 0; i < setting->count; i++) fprintf(out, "%s = %s\n", option->name, setting->texts[i]);
}
