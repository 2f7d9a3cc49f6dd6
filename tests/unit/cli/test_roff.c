#include "client/cli/roff.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

static void expect(const char *text, const char *expected) {
    char *page;
    size_t size;
    FILE *out = open_memstream(&page, &size);
    roff_paragraphs(out, text, strlen(text));
    fclose(out);
    cr_assert_str_eq(page, expected);
    free(page);
}

Test(roff, what_roff_would_take_for_its_own_is_escaped) {
    expect(".a", "\\&.a\n");
    expect("'a\\n -b `c^~", "\\&\\(aqa\\en \\-b \\(gac\\(ha\\(ti\n");
}

Test(roff, indented_lines_stand_as_they_are) {
    expect("Examples:\n  a b\n  .c\n\nMore.\n",
           "Examples:\n.PP\n.RS 4\n.EX\na b\n\\&.c\n.EE\n.RE\n.PP\nMore.\n");
    expect("  a", ".PP\n.RS 4\n.EX\na\n.EE\n.RE\n");
}

Test(roff, prose_is_broken_into_lines) {
    char text[200] = "", expected[200] = "";
    for (int i = 0; i < 30; i++) {
        strcat(text, i ? " word" : "word");
        strcat(expected, i == 14 ? "\nword" : i == 28 ? "\nword" : i ? " word" : "word");
    }
    expect(text, strcat(expected, "\n"));
}

Test(roff, blank_lines_part_paragraphs) {
    expect("one\n\ntwo", "one\n.PP\ntwo\n");
    expect("one\n\n", "one\n");
}
