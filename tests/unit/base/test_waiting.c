#include <stdbool.h>

#include <stagewire/interrupt.h>

#include "proto/base/clock.h"
#include "proto/base/waiting.h"
#include "tests/support/test.h"

static pthread_cond_t changed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void set_up(void) {
    waiting_init(&changed);
    pthread_mutex_lock(&lock);
}
static void tear_down(void) {
    sw_interrupt_set(NULL, NULL);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&changed);
}

TestSuite(waiting, .init = set_up, .fini = tear_down);

static enum waited wait_for(int64_t ms) {
    int64_t until_ms = clock_after(clock_now_ms(&clock_system), ms);
    enum waited waited = WAITED_WOKEN;
    while (waited == WAITED_WOKEN) waited = waiting(&changed, &lock, until_ms);
    return waited;
}

/* Says yes when it is asked for the n-th time. */
static bool count_down(void *context) {
    cr_assert_eq(pthread_mutex_trylock(&lock), 0, "it is asked with no lock held");
    pthread_mutex_unlock(&lock);
    return --*(int *)context == 0;
}

Test(waiting, ends_at_its_time) {
    cr_assert_eq(wait_for(1), WAITED_LATE);
}

Test(waiting, ends_when_the_thread_says_so) {
    int asks = 3;
    sw_interrupt_set(count_down, &asks);
    cr_assert_eq(wait_for(60000), WAITED_INTERRUPTED);
    cr_assert_eq(asks, 0);
}

Test(waiting, a_thread_that_never_says_so_waits_to_the_end) {
    int asks = -1;
    sw_interrupt_set(count_down, &asks);
    cr_assert_eq(wait_for(120), WAITED_LATE);
    cr_assert_lt(asks, -1);
}

Test(waiting, is_interrupted_once) {
    int asks = 1;
    sw_interrupt_set(count_down, &asks);
    cr_assert_eq(wait_for(60000), WAITED_INTERRUPTED);
    cr_assert_eq(wait_for(120), WAITED_LATE);
    cr_assert_eq(asks, 0);
}

static void *wait_elsewhere(void *context) {
    pthread_mutex_lock(&lock);
    *(enum waited *)context = wait_for(120);
    pthread_mutex_unlock(&lock);
    return NULL;
}

Test(waiting, other_threads_are_not_asked) {
    int asks = 1;
    enum waited waited = WAITED_WOKEN;
    pthread_t other;
    sw_interrupt_set(count_down, &asks);
    pthread_create(&other, NULL, wait_elsewhere, &waited);
    pthread_mutex_unlock(&lock);
    pthread_join(other, NULL);
    pthread_mutex_lock(&lock);
    cr_assert_eq(waited, WAITED_LATE);
    cr_assert_eq(asks, 1);
}
