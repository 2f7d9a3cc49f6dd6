/* Structured logs: one line an event, logfmt or JSON, to stderr. Thread-safe.
 *
 *     log_info("serving", LOG_TEXT("listen", "127.0.0.1:4317"), LOG_NUMBER("stage", 3));
 *
 * A library that is embedded in someone's program logs nothing unless log_set_level was called. */
#ifndef STAGEWIRE_BASE_LOG_H
#define STAGEWIRE_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF };
enum log_format { LOG_LOGFMT, LOG_JSON };

struct log_field {
    const char *key;
    enum { LOG_FIELD_END, LOG_FIELD_TEXT, LOG_FIELD_NUMBER } type;
    const char *text;
    int64_t number;
};

#define LOG_TEXT(key, value)   ((struct log_field){(key), LOG_FIELD_TEXT, (value), 0})
#define LOG_NUMBER(key, value) ((struct log_field){(key), LOG_FIELD_NUMBER, NULL, (int64_t)(value)})

void log_set_level(enum log_level level); /* LOG_OFF until it is called */
void log_set_format(enum log_format format);
bool log_enabled(enum log_level level);
void log_event(enum log_level level, const char *event, const struct log_field *fields);

#define log_at(level, event, ...)                                                                            \
    log_event(level, event,                                                                                  \
              (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){NULL, LOG_FIELD_END, NULL, 0}})
#define log_debug(event, ...) log_at(LOG_DEBUG, event, __VA_ARGS__)
#define log_info(event, ...)  log_at(LOG_INFO, event, __VA_ARGS__)
#define log_warn(event, ...)  log_at(LOG_WARN, event, __VA_ARGS__)
#define log_error(event, ...) log_at(LOG_ERROR, event, __VA_ARGS__)

#endif
