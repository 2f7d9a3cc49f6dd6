/* The event loop: what is posted runs on its thread, timers run when they are due and in order. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/list.h"
#include "proto/transport/driver.h"
#include "proto/transport/loop.h"
#include "tests/support/test.h"

static struct loop *loop;

static void start(void) {
    cr_assert_eq(loop_start(&loop, NULL), SW_OK);
}
static void stop(void) {
    loop_stop(loop);
}

TestSuite(loop, .init = start, .fini = stop, .timeout = 30);

struct note {
    struct op op;
    sem_t done;
    bool on_loop, ok;
};

static void take_note(struct op *op, bool ok) {
    struct note *note = container_of(op, struct note, op);
    note->on_loop = loop_is_current(loop);
    note->ok = ok;
    sem_post(&note->done);
}

static void post_note(struct note *note) {
    *note = (struct note){.op.run = take_note};
    sem_init(&note->done, 0, 0);
    loop_post(loop, &note->op);
}

static void await_note(struct note *note) {
    while (sem_wait(&note->done) != 0) {
    }
}

Test(loop, what_is_posted_runs_on_the_loops_thread) {
    struct note note;
    cr_assert(!loop_is_current(loop));
    post_note(&note);
    await_note(&note);
    cr_assert(note.on_loop && note.ok);
}

struct counted_wake {
    struct wake wake;
    unsigned runs;
    sem_t gate, done;
};

static void count_wake(struct wake *wake) {
    container_of(wake, struct counted_wake, wake)->runs++;
}

static void hold_loop(struct op *op, bool ok) {
    (void)ok;
    struct note *note = container_of(op, struct note, op);
    while (sem_wait(&note->done) != 0) {
    }
}

Test(loop, wakes_that_come_before_one_has_run_are_one) {
    struct counted_wake counted = {.wake.run = count_wake};
    struct note gate = {.op.run = hold_loop}, after;
    sem_init(&gate.done, 0, 0);
    loop_post(loop, &gate.op);
    for (int i = 0; i < 100; i++) loop_wake(loop, &counted.wake);
    sem_post(&gate.done);
    post_note(&after);
    await_note(&after);
    cr_assert_eq(counted.runs, 1);
    loop_wake(loop, &counted.wake);
    post_note(&after);
    await_note(&after);
    cr_assert_eq(counted.runs, 2, "a wake after it has run is another one");
}

#define WAKERS 4
#define WAKES  2000
static struct {
    struct wake wake;
    _Atomic unsigned told; /* by the threads */
    unsigned seen;         /* by the loop, at its last run */
} shared;

static void see(struct wake *wake) {
    (void)wake;
    shared.seen = atomic_load(&shared.told);
}

static void *tell(void *context) {
    for (int i = 0; i < WAKES; i++) {
        atomic_fetch_add(&shared.told, 1);
        loop_wake(loop, &shared.wake);
    }
    return context;
}

Test(loop, no_wake_is_lost_whatever_threads_do) {
    pthread_t threads[WAKERS];
    struct note after;
    shared.wake.run = see;
    for (int i = 0; i < WAKERS; i++) pthread_create(&threads[i], NULL, tell, NULL);
    for (int i = 0; i < WAKERS; i++) pthread_join(threads[i], NULL);
    post_note(&after);
    await_note(&after);
    cr_assert_eq(shared.seen, WAKERS * WAKES);
}

/* ---- timers ---- */

struct rung {
    struct loop_timer timer;
    int number;
};
static int order[8];
static int rungs;
static sem_t enough;

static void ring(struct loop_timer *timer) {
    order[rungs++] = container_of(timer, struct rung, timer)->number;
    if (rungs == 3) sem_post(&enough);
}

static struct rung bells[4] = {
    {{.run = ring}, 1}, {{.run = ring}, 2}, {{.run = ring}, 3}, {{.run = ring}, 4}};

static void set_bells(struct op *op, bool ok) {
    (void)op, (void)ok;
    int64_t now = loop_now_ms(loop);
    loop_timer_set(loop, &bells[3].timer, now + 5);
    loop_timer_set(loop, &bells[2].timer, now + 60000);
    loop_timer_set(loop, &bells[0].timer, now + 10);
    loop_timer_set(loop, &bells[1].timer, now + 20);
    loop_timer_clear(loop, &bells[3].timer);
    loop_timer_set(loop, &bells[2].timer, now + 30); /* moved */
}

Test(loop, timers_run_in_order_when_they_are_due_and_a_cleared_one_does_not) {
    struct op op = {.run = set_bells};
    int64_t before = loop_now_ms(loop);
    sem_init(&enough, 0, 0);
    loop_post(loop, &op);
    while (sem_wait(&enough) != 0) {
    }
    cr_assert(loop_now_ms(loop) - before >= 30);
    cr_assert(order[0] == 1 && order[1] == 2 && order[2] == 3);
}

/* ---- callers who drive ---- */

/* With the post the thread comes to see that somebody wants to. */
static void borrow(void) {
    struct note note;
    loop_task_begins(loop);
    cr_assert(loop_want(loop));
    post_note(&note);
    cr_assert(loop_await(loop, CLOCK_NEVER));
    if (sem_trywait(&note.done) != 0) loop_step(loop, CLOCK_NEVER);
}

static void give_back(void) {
    loop_task_ends(loop);
    loop_return(loop, false);
}

Test(loop, what_is_posted_while_a_caller_drives_runs_on_the_callers_thread) {
    struct note note;
    borrow();
    post_note(&note);
    loop_step(loop, CLOCK_NEVER);
    cr_assert(note.on_loop && note.ok);
    cr_assert_eq(sem_trywait(&note.done), 0);
    give_back();
    cr_assert(!loop_is_current(loop));
}

Test(loop, what_is_posted_as_a_caller_leaves_runs_at_once) {
    struct note late, later;
    borrow();
    int64_t before = loop_now_ms(loop);
    post_note(&late);
    give_back();
    await_note(&late);
    borrow();
    give_back();
    post_note(&later); /* to who rests */
    await_note(&later);
    cr_assert_lt(loop_now_ms(loop) - before, DRIVER_LOOK_EVERY_MS / 2);
}

static void note_bell(struct loop_timer *timer) {
    container_of(timer, struct rung, timer)->number = 0;
}

/* It may be what the caller waits for, and nothing else is to come. */
Test(loop, a_step_ends_when_a_timer_has_run) {
    struct rung bell = {.timer.run = note_bell, .number = 1};
    borrow();
    loop_timer_set(loop, &bell.timer, loop_now_ms(loop) + 20);
    while (bell.number != 0) loop_step(loop, CLOCK_NEVER);
    int64_t before = loop_now_ms(loop);
    loop_step(loop, before + 20);
    cr_assert_geq(loop_now_ms(loop) - before, 20, "nor later than it was told to");
    give_back();
}

/* ---- turns ---- */

struct busy {
    struct op op;
    struct loop_turn turn, cleared;
    unsigned others, most;
    sem_t done;
};

static void turn_came(struct loop_turn *turn) {
    sem_post(&container_of(turn, struct busy, turn)->done);
}

static void never_comes(struct loop_turn *turn) {
    (void)turn;
    abort();
}

static void stay_ready(struct op *op, bool ok) {
    struct busy *busy = container_of(op, struct busy, op);
    (void)ok;
    if (busy->others == 0) {
        loop_turn_wait(loop, &busy->cleared);
        loop_turn_wait(loop, &busy->turn);
        loop_turn_clear(&busy->cleared);
    }
    if (list_linked(&busy->turn.place) && busy->others++ < busy->most) loop_post(loop, &busy->op);
}

static unsigned others_before_a_turn(unsigned most) {
    static struct busy busy;
    busy =
        (struct busy){.op.run = stay_ready, .turn.run = turn_came, .cleared.run = never_comes, .most = most};
    sem_init(&busy.done, 0, 0);
    loop_post(loop, &busy.op);
    while (sem_wait(&busy.done) != 0) continue;
    stop();
    start();
    return busy.others;
}

Test(loop, a_turn_comes_when_all_that_is_ready_has_run) {
    cr_assert_eq(others_before_a_turn(20), 21);
}

Test(loop, a_turn_comes_though_others_are_ready_all_the_time) {
    cr_assert_leq(others_before_a_turn(1000), 66);
}

Test(loop, deadlines_go_both_ways_between_the_clocks) {
    int64_t due = loop_now_ms(loop) + 5000;
    int64_t again = loop_deadline_ms(loop_deadline_of(due));
    cr_assert(again >= due - 10 && again <= due + 10);
    cr_assert_eq(loop_deadline_ms(loop_deadline_of(CLOCK_NEVER)), CLOCK_NEVER);
    cr_assert_eq(loop_deadline_ms(gpr_inf_future(GPR_CLOCK_REALTIME)), CLOCK_NEVER);
    cr_assert(loop_deadline_ms(gpr_inf_past(GPR_CLOCK_REALTIME)) <= loop_now_ms(loop));
}

/* ---- fork ---- */

Test(loop, a_forked_child_is_told_instead_of_hanging) {
    pid_t child = fork();
    if (child == 0) {
        struct loop *mine = NULL;
        sw_error error;
        bool refused = loop_start(&mine, &error) == SW_FAILED_PRECONDITION;
        _exit(loop_forked() && refused ? 0 : 1);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    cr_assert(!loop_forked());
}

Test(loop_forks, a_child_forked_when_no_loop_runs_may_have_one) {
    struct loop *mine;
    cr_assert_eq(loop_start(&mine, NULL), SW_OK);
    loop_stop(mine);
    pid_t child = fork();
    if (child == 0) _exit(loop_forked() ? 1 : 0);
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
