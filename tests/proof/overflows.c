/* Overflows on purpose: tests/run fails unless UndefinedBehaviorSanitizer's finding
 * gets into a report, since nobody may look at the exit status of who made it. */
#include "tests/support/test.h"

#include <limits.h>

static volatile int most = INT_MAX;

Test(overflows, on_purpose) {
    most = most + 1;
}
