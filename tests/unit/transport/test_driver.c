/* Who does a loop's work: its thread, which here notes what it is let do, or a caller. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/transport/driver.h"
#include "tests/support/test.h"

static struct driver driver;
static pthread_t thread;
static atomic_uint drives, looks;     /* of the thread */
static atomic_bool over, is_stubborn; /* it does not give way */

/* As a loop's: it drives until a caller wants to, and looks in where it rests. */
static void *be_the_thread(void *context) {
    while (!atomic_load(&over)) {
        bool may_drive = driver_thread_takes(&driver);
        atomic_fetch_add(may_drive ? &drives : &looks, 1);
        while (may_drive && (driver_thread_stays(&driver) || atomic_load(&is_stubborn)) &&
               !atomic_load(&over))
            usleep(100);
        driver_thread_leaves(&driver);
    }
    return context;
}

static void await(atomic_uint *number, unsigned least) {
    while (atomic_load(number) < least) usleep(100);
}

static void setup(void) {
    driver_init(&driver);
    pthread_create(&thread, NULL, be_the_thread, NULL);
    await(&drives, 1);
}

static void teardown(void) {
    atomic_store(&over, true);
    driver_post_is_queued(&driver);
    pthread_join(thread, NULL);
    driver_destroy(&driver);
}

TestSuite(driver, .init = setup, .fini = teardown, .timeout = 30);

static bool await_turn(void) {
    int64_t idle_ms;
    return driver_await(&driver, CLOCK_NEVER, &idle_ms);
}

static void borrow(void) {
    driver_task_begins(&driver);
    cr_assert(driver_want(&driver));
    cr_assert(await_turn());
}

static void end_and_return(void) {
    driver_task_ends(&driver);
    driver_return(&driver, false);
}

Test(driver, the_thread_gives_way_to_a_caller_whose_task_is_the_only_one) {
    cr_assert(!driver_is_me(&driver));
    borrow();
    cr_assert(driver_is_me(&driver));
    unsigned before = atomic_load(&drives) + atomic_load(&looks);
    usleep(20000);
    cr_assert_eq(atomic_load(&drives) + atomic_load(&looks), before, "one at a time");
    end_and_return();
    cr_assert(!driver_is_me(&driver));
}

Test(driver, nobody_drives_for_others_whose_task_is_not_its_own) {
    driver_task_begins(&driver);
    driver_task_begins(&driver);
    cr_assert(!driver_want(&driver));
    driver_task_ends(&driver);
    cr_assert(driver_want(&driver), "it is alone now");
    cr_assert(!driver_want(&driver), "one caller at a time");
    cr_assert(await_turn());
    end_and_return();
}

Test(driver, what_is_left_when_a_caller_leaves_is_the_threads_at_once) {
    borrow();
    driver_task_begins(&driver); /* somebody else's */
    unsigned before = atomic_load(&drives);
    int64_t left_ms = clock_now_ms(&clock_system);
    end_and_return();
    await(&drives, before + 1);
    cr_assert_lt(clock_now_ms(&clock_system) - left_ms, DRIVER_LOOK_EVERY_MS / 2);
    driver_task_ends(&driver);
}

Test(driver, the_thread_rests_where_nothing_is_left_and_looks_in_now_and_then) {
    borrow();
    unsigned before = atomic_load(&drives);
    int64_t left_ms = clock_now_ms(&clock_system);
    end_and_return();
    await(&looks, 2);
    int64_t took_ms = clock_now_ms(&clock_system) - left_ms;
    cr_assert_eq(atomic_load(&drives), before);
    cr_assert_geq(took_ms, 2 * DRIVER_LOOK_EVERY_MS);
    driver_task_begins(&driver);
    cr_assert(driver_want(&driver));
    cr_assert(await_turn(), "a caller that comes back finds it free");
    end_and_return();
}

Test(driver, a_post_ends_the_rest_and_one_that_comes_meanwhile_prevents_it) {
    borrow();
    unsigned before = atomic_load(&drives);
    end_and_return();
    driver_post_begins(&driver);
    driver_post_is_queued(&driver);
    await(&drives, before + 1);
    driver_post_ends(&driver);

    borrow();
    before = atomic_load(&drives);
    driver_post_begins(&driver);
    driver_post_is_queued(&driver);
    end_and_return();
    await(&drives, before + 1);
    driver_post_ends(&driver);
}

Test(driver, a_caller_that_is_back_soon_finds_the_thread_at_rest) {
    borrow();
    unsigned before = atomic_load(&drives);
    driver_return(&driver, true);
    usleep(20000);
    cr_assert_eq(atomic_load(&drives), before);
    cr_assert(driver_want(&driver) && await_turn());
    end_and_return();
}

Test(driver, who_waits_for_its_turn_does_so_until_its_time_is_up) {
    int64_t idle_ms, begun_ms = clock_now_ms(&clock_system);
    atomic_store(&is_stubborn, true);
    driver_task_begins(&driver);
    cr_assert(driver_want(&driver));
    cr_assert(!driver_await(&driver, begun_ms + 20, &idle_ms));
    cr_assert_geq(clock_now_ms(&clock_system) - begun_ms, 20);
    atomic_store(&is_stubborn, false);
    cr_assert(driver_want(&driver), "it may want to again");
    cr_assert(await_turn());
    end_and_return();
}

static void *stop(void *stopped) {
    driver_stop(&driver);
    atomic_store((atomic_bool *)stopped, true);
    return NULL;
}

Test(driver, who_stops_it_waits_for_the_caller_that_drives) {
    static atomic_bool stopped;
    pthread_t stopper;
    borrow();
    pthread_create(&stopper, NULL, stop, &stopped);
    usleep(20000);
    cr_assert(!atomic_load(&stopped));
    end_and_return();
    pthread_join(stopper, NULL);
    cr_assert(atomic_load(&stopped));
}

Test(driver, a_thread_that_drives_one_may_borrow_another) {
    struct driver inner = {0};
    driver_init(&inner);
    borrow();
    int64_t idle_ms;
    driver_task_begins(&inner);
    cr_assert(driver_want(&inner) && driver_await(&inner, CLOCK_NEVER, &idle_ms));
    cr_assert(driver_is_me(&inner));
    driver_return(&inner, false);
    cr_assert(driver_is_me(&driver));
    end_and_return();
    driver_destroy(&inner);
}
