/* A table of text with aligned columns, two blanks apart. Cells are shown without what would steer a
 * terminal. */
#ifndef STAGEWIRE_CLIENT_CLI_TABLE_H
#define STAGEWIRE_CLIENT_CLI_TABLE_H

#include <stddef.h>
#include <stdio.h>

struct table {
    size_t columns, cells, capacity;
    char **cell; /* row by row */
    size_t *width;
};

/* The first row is the headings; where they are NULL the caller adds them. A program without memory for a
 * table ends with EXIT_EXHAUSTED. */
void table_init(struct table *table, size_t columns, const char *const *headings);
void table_destroy(struct table *table);

/* The next cell, row by row. */
void table_add(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The next cell, written by the caller: write to what table_cell_open returns, then close it. */
struct table_cell {
    char *text;
    size_t size;
    FILE *out;
};
FILE *table_cell_open(struct table_cell *cell);
void table_cell_close(struct table *table, struct table_cell *cell);

void table_print(const struct table *table, FILE *out);

#endif
