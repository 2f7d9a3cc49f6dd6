#include "client/rpc/shared_loop.h"

#include <pthread.h>
#include <semaphore.h>

#include "proto/base/list.h"
#include "proto/base/malloc_settings.h"
#include "proto/transport/handover.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct loop *shared;
static unsigned users;

sw_status shared_loop_get(struct loop **ret_loop, sw_error *error) {
    if (loop_forked()) return loop_start(ret_loop, error); /* says so; the lock may be held for ever */
    pthread_mutex_lock(&lock);
    if (users == 0) malloc_hint_for_streams();
    sw_status status = users == 0 ? loop_start(&shared, error) : SW_OK;
    if (status == SW_OK) {
        users++;
        *ret_loop = shared;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

struct drain {
    struct op op;
    sem_t done;
};

static void run_drain(struct op *op, bool ok) {
    (void)ok;
    struct drain *drain = container_of(op, struct drain, op);
    handover_release(drain);
    sem_post(&drain->done);
}

/* Posts run in their order. */
static void drain(struct loop *loop) {
    struct drain drain = {.op.run = run_drain};
    sem_init(&drain.done, 0, 0);
    loop_post(loop, &drain.op);
    while (sem_wait(&drain.done) != 0) {
    }
    handover_acquire(&drain);
    sem_destroy(&drain.done);
}

void shared_loop_put(struct loop *loop) {
    drain(loop);
    pthread_mutex_lock(&lock);
    if (--users == 0) {
        loop_stop(shared);
        shared = NULL;
    }
    pthread_mutex_unlock(&lock);
}
