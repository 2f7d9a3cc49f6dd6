#include "client/cli/text_table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/memory.h"
#include "client/cli/messages.h"

#define GAP 2

/* Characters, as a terminal counts those of most scripts. */
static size_t width_of(const char *text) {
    size_t width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* Takes the text over. */
static void add(struct text_table *table, char *text) {
    if (table->cells == table->capacity) {
        table->capacity = table->capacity ? 2 * table->capacity : 64;
        table->cell = memory_check(realloc(table->cell, table->capacity * sizeof *table->cell));
    }
    size_t column = table->cells % table->columns;
    size_t width = width_of(text);
    if (width > table->width[column]) table->width[column] = width;
    table->cell[table->cells++] = text;
}

void text_table_init(struct text_table *table, size_t columns, const char *const *headings) {
    *table = (struct text_table){.columns = columns,
                                 .width = memory_check(calloc(columns + 1, sizeof *table->width))};
    for (size_t i = 0; headings && i < columns; i++) text_table_add(table, "%s", headings[i]);
}

void text_table_destroy(struct text_table *table) {
    for (size_t i = 0; i < table->cells; i++) free(table->cell[i]);
    free(table->cell);
    free(table->width);
}

FILE *text_table_cell_open(struct text_table_cell *cell) {
    cell->out = memory_check(open_memstream(&cell->text, &cell->size));
    return cell->out;
}

void text_table_cell_close(struct text_table *table, struct text_table_cell *cell) {
    if (fclose(cell->out) != 0) memory_check(NULL);
    struct text_table_cell clean;
    FILE *out = text_table_cell_open(&clean);
    messages_put_clean(out, cell->text, cell->size);
    free(cell->text);
    if (fclose(out) != 0) memory_check(NULL);
    add(table, clean.text);
}

void text_table_add(struct text_table *table, const char *format, ...) {
    struct text_table_cell cell;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(text_table_cell_open(&cell), format, arguments);
    va_end(arguments);
    text_table_cell_close(table, &cell);
}

void text_table_print(const struct text_table *table, FILE *out) {
    for (size_t i = 0; i < table->cells; i++) {
        size_t column = i % table->columns;
        fputs(table->cell[i], out);
        if (column + 1 == table->columns)
            fputc('\n', out);
        else
            fprintf(out, "%*s", (int)(table->width[column] - width_of(table->cell[i]) + GAP), "");
    }
}
