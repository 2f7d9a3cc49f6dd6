#include "client/cli/text_table.h"

#include <stdlib.h>

#include "tests/support/test.h"

static char *printed(struct text_table *table) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    text_table_print(table, out);
    fclose(out);
    text_table_destroy(table);
    return text;
}

Test(text_table, columns_are_aligned_by_characters) {
    struct text_table table;
    text_table_init(&table, 2, (const char *const[]){"name", "value"});
    text_table_add(&table, "Verlust\xc3\xa4");
    text_table_add(&table, "%d", 1);
    text_table_add(&table, "x");
    text_table_add(&table, "22");
    char *text = printed(&table);
    cr_assert_str_eq(text, "name      value\nVerlust\xc3\xa4  1\nx         22\n");
    free(text);
}

Test(text_table, nothing_steers_the_terminal) {
    struct text_table table;
    text_table_init(&table, 1, (const char *const[]){"h"});
    text_table_add(&table, "a\x1b[31m\n\xc2\x9b");
    char *text = printed(&table);
    cr_assert_str_eq(text, "h\na\\x1b[31m\\x0a\\x9b\n");
    free(text);
}
