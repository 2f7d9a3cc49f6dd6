#include "service/rpc/beat.h"

#include "proto/base/list.h"
#include "service/rpc/endpoint.h"

static void beat_once(struct loop_timer *timer) {
    struct beat *beat = container_of(timer, struct beat, timer);
    guard_lock(beat->guard);
    guard_unlock(beat->guard);
    beat->run(beat);
    loop_timer_set(beat->loop, timer, loop_now_ms(beat->loop) + beat->interval_ms);
}

static void begin(struct op *op, bool ok) {
    (void)ok;
    struct beat *beat = container_of(op, struct beat, begin);
    beat_once(&beat->timer);
}

void beat_start(struct beat *beat, sw_endpoint *endpoint) {
    beat->loop = endpoint->loop;
    beat->guard = &endpoint->guard;
    beat->timer = (struct loop_timer){.run = beat_once};
    beat->begin.run = begin;
    loop_post(beat->loop, &beat->begin);
}
