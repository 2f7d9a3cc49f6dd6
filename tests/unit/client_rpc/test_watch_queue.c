#include <poll.h>

#include "client/rpc/watch_queue.h"
#include "tests/support/test.h"

static struct watch_queue queue;

static void set_up(void) {
    cr_assert(watch_queue_init(&queue));
}
static void tear_down(void) {
    watch_queue_fini(&queue);
}

TestSuite(watch_queue, .init = set_up, .fini = tear_down);

static bool is_readable(void) {
    struct pollfd wait = {.fd = queue.fd, .events = POLLIN};
    return poll(&wait, 1, 0) == 1;
}

static void put(uint64_t generation, size_t size) {
    struct watch_item *item = watch_item_create(size);
    item->event.generation = generation;
    watch_queue_put(&queue, item);
}

static uint64_t take(void) {
    struct watch_item *item = watch_queue_take(&queue);
    uint64_t generation = item ? item->event.generation : 0;
    watch_item_destroy(item);
    return generation;
}

Test(watch_queue, events_come_out_in_order_and_the_descriptor_says_whether_there_are_any) {
    cr_assert_not(is_readable());
    for (uint64_t i = 1; i <= 3; i++) put(i, 10);
    for (uint64_t i = 1; i <= 3; i++) {
        cr_assert(is_readable());
        cr_assert_eq(take(), i);
    }
    cr_assert_not(is_readable());
    cr_assert_eq(take(), 0);
    put(4, 10);
    cr_assert(is_readable());
}

Test(watch_queue, an_end_stays_readable) {
    put(1, 10);
    watch_queue_end(&queue);
    watch_queue_end(&queue);
    cr_assert_eq(take(), 1);
    cr_assert(is_readable());
    cr_assert_eq(take(), 0);
    cr_assert(is_readable());
}

Test(watch_queue, an_end_with_nothing_before_it_is_readable) {
    watch_queue_end(&queue);
    cr_assert(is_readable());
}

Test(watch_queue, it_is_full_by_number_or_by_size) {
    put(1, (1u << 20) - 1);
    cr_assert_not(watch_queue_is_full(&queue));
    put(2, 1);
    cr_assert(watch_queue_is_full(&queue));
    take();
    cr_assert_not(watch_queue_is_full(&queue));
    for (int i = 0; i < 255; i++) put(3, 0);
    cr_assert(watch_queue_is_full(&queue));
}
