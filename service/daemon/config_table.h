/* The table of options. */
#ifndef STAGEWIRE_DAEMON_CONFIG_TABLE_H
#define STAGEWIRE_DAEMON_CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct option {
    const char *name;        /* --name, STAGEWIRE_NAME, name = … */
    const char *placeholder; /* NULL: a switch, which takes true or false */
    const char *fallback;    /* its default, as it would be written; NULL: none */
    /* NULL, or what is wrong with the text and how it is written */
    const char *(*parse)(const char *text, void *field);
    size_t field; /* offset in struct config */
    const char *help;
    bool repeats;   /* a list: repeated, or divided by commas */
    bool flag_only; /* neither variable nor key */
};

extern const struct option option_table[];
extern const size_t option_count;

/* The row, or -1. `size` bytes of name. */
int option_find(const char *name, size_t size);

/* STAGEWIRE_NAME of a row. */
#define OPTION_VARIABLE_MAX 64
const char *option_variable(const struct option *option, char *text);

#endif
