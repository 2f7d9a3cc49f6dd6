/* A table of text with aligned columns, two blanks apart. Cells are shown without what would steer a
 * terminal. */
#ifndef STAGEWIRE_CLIENT_CLI_TEXT_TABLE_H
#define STAGEWIRE_CLIENT_CLI_TEXT_TABLE_H

#include <stddef.h>
#include <stdio.h>

struct text_table {
    size_t columns, cells, capacity;
    char **cell; /* row by row */
    size_t *width;
};

/* The first row is the headings; where they are NULL the caller adds them. A program without memory for a
 * table ends with EXIT_EXHAUSTED. */
void text_table_init(struct text_table *table, size_t columns, const char *const *headings);
void text_table_destroy(struct text_table *table);

/* The next cell, row by row. */
void text_table_add(struct text_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The next cell, written by the caller: write to what text_table_cell_open returns, then close it. */
struct text_table_cell {
    char *text;
    size_t size;
    FILE *out;
};
FILE *text_table_cell_open(struct text_table_cell *cell);
void text_table_cell_close(struct text_table *table, struct text_table_cell *cell);

void text_table_print(const struct text_table *table, FILE *out);

#endif
