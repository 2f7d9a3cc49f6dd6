#include "client/cli/wrap.h"

#include <stdlib.h>

#include "tests/support/test.h"

static void expect(const char *text, unsigned columns, const char *expected) {
    char *page;
    size_t size;
    FILE *out = open_memstream(&page, &size);
    wrap_print(out, "ab", 4, text, columns);
    fclose(out);
    cr_assert_str_eq(page, expected);
    free(page);
}

Test(wrap, lines_end_before_the_column) {
    expect("one two three", 80, "ab  one two three\n");
    expect("one two three", 11, "ab  one two\n    three\n");
    expect("one two three", 10, "ab  one\n    two\n    three\n");
}

Test(wrap, a_word_that_is_too_long_stands_alone) {
    expect("a wordwithoutend b", 8, "ab  a\n    wordwithoutend\n    b\n");
}

Test(wrap, nothing_is_a_line_too) {
    expect("", 8, "ab  \n");
}
