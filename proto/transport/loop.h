/* The event loop: one thread at a time that drives one completion queue: "the loop's thread", its own or a
 * caller who borrows it. A tag is a pointer to a `struct op` embedded in its owner; dispatch is one line.
 * Timers run on the same thread. Functions are for that thread unless they say otherwise. */
#ifndef STAGEWIRE_TRANSPORT_LOOP_H
#define STAGEWIRE_TRANSPORT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include <grpc/grpc.h>

#include <stagewire/status.h>

#include "proto/base/clock.h"
#include "proto/base/heap.h"
#include "proto/base/list.h"

/* Zeroed before its first use. */
struct op {
    void (*run)(struct op *op, bool ok);
    bool is_post; /* the loop's */
};

/* Zeroed before its first use. */
struct loop_timer {
    struct heap_node node;
    void (*run)(struct loop_timer *timer);
};

struct loop;

/* Starts grpc (once a process, counted), the queue and the thread. RESOURCE_EXHAUSTED without memory or
 * threads, FAILED_PRECONDITION where loop_forked. */
sw_status loop_start(struct loop **ret_loop, sw_error *error);
/* From another thread, when nothing is pending but what ends by itself: waits for a caller who drives, shuts
 * the queue down, drains it, joins, frees. Timers that are still set don't run. Takes NULL. */
void loop_stop(struct loop *loop);

/* Any thread: a task begins and ends, which is something that somebody waits for, or that stands. */
void loop_task_begins(struct loop *loop);
void loop_task_ends(struct loop *loop);

/* A caller, whose task has begun and is the only one, does the loop's work itself while it waits (driver.h
 * says why). It wants to, which keeps the loop from being stopped; waits for its turn, if it is to; and is
 * then the loop's thread, step by step, until it gives it back. False: it waits as it would otherwise. */
bool loop_want(struct loop *loop);
bool loop_await(struct loop *loop, int64_t until_ms);
void loop_step(struct loop *loop, int64_t until_ms); /* one event, or none until then */
void loop_return(struct loop *loop, bool is_back_soon);

grpc_completion_queue *loop_queue(struct loop *loop);
bool loop_is_current(const struct loop *loop); /* any thread: whether it is the one that drives it */
int64_t loop_now_ms(const struct loop *loop);  /* any thread; clock_system's monotonic clock */

/* Any thread: starts a batch whose tag is `op`, which runs on the loop's thread. The batch owns what `ops`
 * points to until then. gRPC refuses only what is wrong with the batch itself, so that is the end of the
 * program. */
void loop_batch(grpc_call *call, const grpc_op *ops, size_t count, struct op *op);

/* Any thread: runs `op` on the loop's thread, soon. One post at a time an op: see loop_wake. */
void loop_post(struct loop *loop, struct op *op);

/* Any thread: a post that is coalesced: until it has run, further wakes are one. Zeroed before its first use.
 */
struct wake {
    struct op op;
    void (*run)(struct wake *wake);
    _Atomic bool posted;
};
void loop_wake(struct loop *loop, struct wake *wake);

void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t due_ms); /* again: moves it */
void loop_timer_clear(struct loop *loop, struct loop_timer *timer);               /* fine if it is not set */

/* What goes on with long work once others have had their turn: when nothing else is ready, and after 64
 * events at the latest. While events are ready the loop looks at no socket, so who is ready all the time is
 * alone. Zeroed before its first use. */
struct loop_turn {
    struct list place;
    void (*run)(struct loop_turn *turn);
};
void loop_turn_wait(struct loop *loop, struct loop_turn *turn); /* not while it waits */
void loop_turn_clear(struct loop_turn *turn);                   /* fine if it does not wait */

/* A deadline as it comes with a call, on the loop's clock; CLOCK_NEVER if there is none. Any thread. */
int64_t loop_deadline_ms(gpr_timespec deadline);
/* The other way round. Any thread. */
gpr_timespec loop_deadline_of(int64_t due_ms);

/* True in a child that was forked while a loop ran: nothing of gRPC may be called. Any thread. */
bool loop_forked(void);

#endif
