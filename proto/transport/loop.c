#include "proto/transport/loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include <grpc/support/time.h>

#include "proto/base/error.h"
#include "proto/base/list.h"
#include "proto/base/log.h"
#include "proto/transport/driver.h"
#include "proto/transport/forked.h"
#include "proto/transport/grpc_compat.h"
#include "proto/transport/handover.h"

struct loop {
    grpc_completion_queue *queue;
    grpc_channel *nowhere;
    grpc_call *poster; /* never sent: empty batches on it are the posts */
    pthread_t thread;
    struct driver driver;
    struct heap timers;
    struct list turns;
    unsigned events; /* since the first of them waits */
    bool has_looked; /* and found nothing ready */
};

#define EVENTS_BEFORE_A_TURN 64

/* A timer that is due runs once: whoever wants it again sets it again. True: one ran. */
static bool run_timers(struct loop *loop) {
    bool has_run = false;
    struct heap_node *first;
    while ((first = heap_first(&loop->timers)) && first->due <= loop_now_ms(loop)) {
        heap_remove(&loop->timers, first);
        struct loop_timer *timer = container_of(first, struct loop_timer, node);
        timer->run(timer);
        has_run = true;
    }
    return has_run;
}

static void run_first_turn(struct loop *loop) {
    loop->events = 0;
    if (list_empty(&loop->turns)) return;
    struct loop_turn *turn = container_of(loop->turns.next, struct loop_turn, place);
    list_remove(&turn->place);
    turn->run(turn);
}

/* A queue that was empty looks at the sockets; but its first look may only take notice that something was
 * ready before. So it takes two. */
#define LOOKS 2

static bool has_nothing_else(struct loop *loop) {
    loop->has_looked = !loop->has_looked;
    return !loop->has_looked;
}

/* In the past where a turn waits: then it is a look. */
static gpr_timespec wait_until(struct loop *loop, int64_t until_ms) {
    if (!list_empty(&loop->turns)) return gpr_inf_past(GPR_CLOCK_MONOTONIC);
    struct heap_node *first = heap_first(&loop->timers);
    return loop_deadline_of(first && first->due < until_ms ? first->due : until_ms);
}

enum stepped { STEPPED_EVENT, STEPPED_NONE, STEPPED_END /* the queue is shut down, and empty */ };

static enum stepped step(struct loop *loop, int64_t until_ms) {
    if (run_timers(loop)) return STEPPED_EVENT; /* it may be all that was waited for */
    grpc_event event = grpc_completion_queue_next(loop->queue, wait_until(loop, until_ms), NULL);
    if (event.type == GRPC_QUEUE_SHUTDOWN) return STEPPED_END;
    if (event.type == GRPC_QUEUE_TIMEOUT) {
        if (has_nothing_else(loop)) run_first_turn(loop);
        return STEPPED_NONE;
    }
    loop->has_looked = false;
    if (++loop->events > EVENTS_BEFORE_A_TURN) run_first_turn(loop);
    struct op *op = event.tag;
    handover_acquire(op);
    if (op->is_post) driver_post_ends(&loop->driver);
    op->is_post = false;
    op->run(op, event.success);
    return STEPPED_EVENT;
}

/* ---- who drives ---- */

/* What came while nobody drove. */
static void look(struct loop *loop) {
    for (unsigned looks = 0; looks < LOOKS;) looks = step(loop, 0) == STEPPED_EVENT ? 0 : looks + 1;
}

static void *drive(void *context) {
    struct loop *loop = context;
    prctl(PR_SET_NAME, "stagewire-loop");
    for (enum stepped stepped = STEPPED_NONE; stepped != STEPPED_END;) {
        if (driver_thread_takes(&loop->driver)) {
            do stepped = step(loop, CLOCK_NEVER);
            while (stepped != STEPPED_END && driver_thread_stays(&loop->driver));
        } else {
            look(loop);
        }
        driver_thread_leaves(&loop->driver);
    }
    return NULL;
}

void loop_task_begins(struct loop *loop) {
    driver_task_begins(&loop->driver);
}

void loop_task_ends(struct loop *loop) {
    driver_task_ends(&loop->driver);
}

bool loop_want(struct loop *loop) {
    return driver_want(&loop->driver);
}

bool loop_await(struct loop *loop, int64_t until_ms) {
    int64_t idle_ms;
    if (!driver_await(&loop->driver, until_ms, &idle_ms)) return false;
    if (idle_ms > 1) look(loop);
    return true;
}

void loop_step(struct loop *loop, int64_t until_ms) {
    step(loop, until_ms);
}

void loop_return(struct loop *loop, bool is_back_soon) {
    driver_return(&loop->driver, is_back_soon);
}

/* ---- start, stop ---- */

static void free_loop(struct loop *loop) {
    grpc_call_unref(loop->poster);
    grpc_channel_destroy(loop->nowhere);
    grpc_completion_queue_destroy(loop->queue);
    heap_destroy(&loop->timers);
    driver_destroy(&loop->driver);
    free(loop);
    grpc_shutdown();
    forked_loop_ended();
}

static struct loop *make_loop(void) {
    struct loop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    forked_loop_begins();
    grpc_compat_log_to_ours();
    grpc_init();
    heap_init(&loop->timers, &allocator_system);
    list_init(&loop->turns);
    driver_init(&loop->driver);
    loop->queue = grpc_completion_queue_create_for_next(NULL);
    loop->nowhere = grpc_compat_lame_channel();
    loop->poster = grpc_channel_create_call(loop->nowhere, NULL, GRPC_PROPAGATE_DEFAULTS, loop->queue,
                                            grpc_slice_from_static_string("/post"), NULL,
                                            gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    return loop;
}

static void drain_queue(grpc_completion_queue *queue) {
    grpc_completion_queue_shutdown(queue);
    while (grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type !=
           GRPC_QUEUE_SHUTDOWN) {
    }
}

sw_status loop_start(struct loop **ret_loop, sw_error *error) {
    if (loop_forked()) {
        return error_set_code(
            error, SW_FAILED_PRECONDITION, SW_REASON_NONE,
            "this process was forked from one that uses gRPC; exec a program of its own instead");
    }
    struct loop *loop = make_loop();
    if (!loop)
        return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory for an event loop");
    if (pthread_create(&loop->thread, NULL, drive, loop) != 0) {
        drain_queue(loop->queue);
        free_loop(loop);
        return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE,
                              "no thread for an event loop; raise the process limit (ulimit -u)");
    }
    *ret_loop = loop;
    return SW_OK;
}

void loop_stop(struct loop *loop) {
    if (!loop) return;
    driver_stop(&loop->driver);
    grpc_completion_queue_shutdown(loop->queue);
    driver_post_is_queued(&loop->driver);
    pthread_join(loop->thread, NULL);
    free_loop(loop);
}

grpc_completion_queue *loop_queue(struct loop *loop) {
    return loop->queue;
}

bool loop_is_current(const struct loop *loop) {
    return driver_is_me(&loop->driver);
}

int64_t loop_now_ms(const struct loop *loop) {
    (void)loop;
    return clock_now_ms(&clock_system);
}

void loop_batch(grpc_call *call, const grpc_op *ops, size_t count, struct op *op) {
    handover_release(op);
    grpc_call_error refused = grpc_call_start_batch(call, ops, count, op, NULL);
    if (refused == GRPC_CALL_OK) return;
    log_error("a batch that gRPC refuses", LOG_TEXT("error", grpc_call_error_to_string(refused)));
    abort();
}

void loop_post(struct loop *loop, struct op *op) {
    op->is_post = true;
    driver_post_begins(&loop->driver);
    loop_batch(loop->poster, NULL, 0, op);
    driver_post_is_queued(&loop->driver);
}

static void run_wake(struct op *op, bool ok) {
    (void)ok;
    struct wake *wake = container_of(op, struct wake, op);
    atomic_exchange(&wake->posted, false); /* sees what the last of them wrote before it */
    wake->run(wake);
}

void loop_wake(struct loop *loop, struct wake *wake) {
    handover_release(wake);
    if (atomic_exchange(&wake->posted, true)) return;
    wake->op.run = run_wake;
    loop_post(loop, &wake->op);
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t due_ms) {
    if (due_ms == CLOCK_NEVER) {
        loop_timer_clear(loop, timer);
        return;
    }
    if (heap_put(&loop->timers, &timer->node, due_ms)) return;
    log_error("no memory for a timer");
    abort(); /* as gRPC does: a call that is never answered would be worse */
}

void loop_timer_clear(struct loop *loop, struct loop_timer *timer) {
    heap_remove(&loop->timers, &timer->node);
}

void loop_turn_wait(struct loop *loop, struct loop_turn *turn) {
    if (list_empty(&loop->turns)) loop->events = 0;
    list_append(&loop->turns, &turn->place);
}

void loop_turn_clear(struct loop_turn *turn) {
    list_remove(&turn->place);
}

int64_t loop_deadline_ms(gpr_timespec deadline) {
    gpr_timespec due = gpr_convert_clock_type(deadline, GPR_CLOCK_MONOTONIC);
    if (gpr_time_cmp(due, gpr_inf_future(GPR_CLOCK_MONOTONIC)) == 0) return CLOCK_NEVER;
    gpr_timespec now = gpr_now(GPR_CLOCK_MONOTONIC);
    if (gpr_time_cmp(due, now) <= 0) return clock_now_ms(&clock_system);
    gpr_timespec left = gpr_time_sub(due, now);
    int64_t left_ms = left.tv_sec > INT32_MAX ? CLOCK_NEVER : left.tv_sec * 1000 + left.tv_nsec / 1000000;
    return clock_after(clock_now_ms(&clock_system), left_ms);
}

gpr_timespec loop_deadline_of(int64_t due_ms) {
    if (due_ms == CLOCK_NEVER) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
    int64_t left_ms = due_ms - clock_now_ms(&clock_system);
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(left_ms, GPR_TIMESPAN));
}
