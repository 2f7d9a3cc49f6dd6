#include "client/cli/table.h"

#include <stdlib.h>

#include "tests/support/test.h"

static char *printed(struct table *table) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    table_print(table, out);
    fclose(out);
    table_destroy(table);
    return text;
}

Test(table, columns_are_aligned_by_characters) {
    struct table table;
    table_init(&table, 2, (const char *const[]){"name", "value"});
    table_add(&table, "Verlust\xc3\xa4");
    table_add(&table, "%d", 1);
    table_add(&table, "x");
    table_add(&table, "22");
    char *text = printed(&table);
    cr_assert_str_eq(text, "name      value\nVerlust\xc3\xa4  1\nx         22\n");
    free(text);
}

Test(table, nothing_steers_the_terminal) {
    struct table table;
    table_init(&table, 1, (const char *const[]){"h"});
    table_add(&table, "a\x1b[31m\n\xc2\x9b");
    char *text = printed(&table);
    cr_assert_str_eq(text, "h\na\\x1b[31m\\x0a\\x9b\n");
    free(text);
}
