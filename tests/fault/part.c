#include "tests/fault/part.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

sw_client *part_client(const struct part *part, const char *consumer_id) {
    sw_client *client;
    sw_error error;
    sw_client_options options;
    sw_client_options_init(&options);
    options.run_id = RUN_ID;
    options.consumer_id = consumer_id;
    options.timeout_ms = CALL_MS;
    options.endpoint_grace_ms = GRACE_MS;
    if (sw_client_open(part->target, &options, &client, &error) == SW_OK) return client;
    fprintf(stderr, "no client: %s\n", error.message);
    abort();
}

struct witness part_witness(const struct part *part, enum actor actor) {
    return (struct witness){.fd = part->events, .actor = actor};
}

bool part_is_over(const struct part *part, uint64_t generation, uint64_t step) {
    if (atomic_load(&part->control->stops)) return true;
    uint64_t last = atomic_load(&part->control->last_step);
    return last > 0 && generation == atomic_load(&part->control->last_generation) && step > last;
}

bool tick_wait(int ticks, int timeout_ms) {
    struct pollfd wait = {.fd = ticks, .events = POLLIN};
    eventfd_t ignored;
    if (poll(&wait, 1, timeout_ms) != 1) return false;
    eventfd_read(ticks, &ignored);
    return true;
}

void tick(int ticks) {
    eventfd_write(ticks, 1);
}
