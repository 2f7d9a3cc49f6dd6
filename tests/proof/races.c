/* Races on purpose: tests/run fails unless ThreadSanitizer reports it. */
#include "tests/support/test.h"

#include <pthread.h>

static int counter;

static void *count(void *unused) {
    counter++;
    return unused;
}

Test(races, on_purpose) {
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, count, NULL), 0);
    counter++;
    cr_assert_eq(pthread_join(thread, NULL), 0);
}
