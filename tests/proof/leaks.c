/* Leaks on purpose: tests/run fails unless AddressSanitizer reports it. */
#include "tests/support/test.h"

#include <stdlib.h>

static char *volatile held;

Test(leaks, on_purpose) {
    held = malloc(16);
    cr_assert_not_null(held);
    held = NULL;
}
