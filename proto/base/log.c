#include "proto/base/log.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/text.h"

/* A line is one write; below PIPE_BUF, so that lines of several threads and processes don't mix in a pipe. */
#define LINE_BYTES 4096
#define VALUE_MAX  1024

static _Atomic int current_level = LOG_OFF;
static _Atomic int current_format = LOG_LOGFMT;

static const char *const level_names[] = {"debug", "info", "warn", "error", "off"};

void log_set_level(enum log_level level) {
    atomic_store(&current_level, level);
}

void log_set_format(enum log_format format) {
    atomic_store(&current_format, format);
}

bool log_enabled(enum log_level level) {
    return level != LOG_OFF && (int)level >= atomic_load_explicit(&current_level, memory_order_relaxed);
}

static void put_time(struct text *text) {
    struct timespec now;
    struct tm parts;
    char string[40];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    size_t size = strftime(string, sizeof string, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(string + size, sizeof string - size, ".%03ldZ", now.tv_nsec / 1000000);
    text_put(text, string);
}

static bool needs_quotes(const char *value) {
    if (value[0] == '\0') return true;
    for (const unsigned char *at = (const unsigned char *)value; *at; at++) {
        if (*at <= ' ' || *at == '"' || *at == '=' || *at == '\\' || *at >= 0x7f) return true;
    }
    return false;
}

static void put_value(struct text *text, enum log_format format, const char *value) {
    if (!value) value = "";
    size_t size = strlen(value);
    if (format == LOG_JSON || needs_quotes(value) || size > VALUE_MAX)
        text_put_json(text, value, size, VALUE_MAX);
    else
        text_put(text, value);
}

static void put_key(struct text *text, enum log_format format, const char *key) {
    text_put(text, format == LOG_JSON ? ",\"" : " ");
    text_put(text, key);
    text_put(text, format == LOG_JSON ? "\":" : "=");
}

static void put_head(struct text *text, enum log_format format, enum log_level level, const char *event) {
    text_put(text, format == LOG_JSON ? "{\"ts\":\"" : "ts=");
    put_time(text);
    text_put(text, format == LOG_JSON ? "\",\"level\":\"" : " level=");
    text_put(text, level_names[level]);
    if (format == LOG_JSON) text_put(text, "\"");
    put_key(text, format, "event");
    put_value(text, format, event);
}

static void put_fields(struct text *text, enum log_format format, const struct log_field *fields) {
    for (const struct log_field *field = fields; field->type != LOG_FIELD_END; field++) {
        size_t before = text->size;
        put_key(text, format, field->key);
        if (field->type == LOG_FIELD_NUMBER)
            text_put_number(text, field->number);
        else
            put_value(text, format, field->text);
        if (text->full) text_back_to(text, before);
    }
}

void log_event(enum log_level level, const char *event, const struct log_field *fields) {
    if (!log_enabled(level)) return;
    enum log_format format = (enum log_format)atomic_load_explicit(&current_format, memory_order_relaxed);
    char line[LINE_BYTES];
    struct text text;
    text_init(&text, line, sizeof line - 2);
    put_head(&text, format, level, event);
    put_fields(&text, format, fields);
    text.room += 2;
    text_put(&text, format == LOG_JSON ? "}\n" : "\n");
    /* Where stderr is gone there is nobody left to tell. */
    if (write(STDERR_FILENO, text.data, text.size) < 0) return;
}
