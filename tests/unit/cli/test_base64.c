#include "client/cli/base64.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

Test(base64, is_that_of_rfc_4648) {
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char *text, data[16];
        size_t size;
        FILE *out = open_memstream(&text, &size);
        base64_write(out, pairs[i][0], strlen(pairs[i][0]));
        fclose(out);
        cr_assert_str_eq(text, pairs[i][1]);
        cr_assert(base64_read(text, strlen(text), data, &size));
        cr_assert_eq(size, strlen(pairs[i][0]));
        cr_assert_eq(memcmp(data, pairs[i][0], size), 0);
        free(text);
    }
}

Test(base64, text_that_is_none_is_refused) {
    static const char *const wrong[] = {
        "Z", "Zg", "Zg=", "=Zg=", "Zg==Zg==", "Zm9v=", "Z===", "Zm 9", "Zh==", "Zm9=", "===="};
    char data[16];
    size_t size;
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_not(base64_read(wrong[i], strlen(wrong[i]), data, &size), "'%s'", wrong[i]);
    cr_assert_not(base64_read("Zm\0v", 4, data, &size));
}
