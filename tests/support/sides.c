#include "tests/support/sides.h"

void sides_open(struct sides *sides, size_t largest_answer, const char *const *more) {
    *sides = (struct sides){.ours.more = more,
                            .tcp_server = {BASELINE_TCP, .largest_answer = largest_answer},
                            .unix_server = {BASELINE_UNIX, .largest_answer = largest_answer}};
    baseline_start(&sides->tcp_server);
    baseline_start(&sides->unix_server);
    endpoint_start(&sides->ours);
    sides->tcp = baseline_connect(&sides->tcp_server);
    sides->local = baseline_connect(&sides->unix_server);
    endpoint_connect(&sides->ours);
}

void sides_close(struct sides *sides) {
    endpoint_stop(&sides->ours);
    baseline_close(sides->tcp);
    baseline_close(sides->local);
    baseline_stop(&sides->tcp_server);
    baseline_stop(&sides->unix_server);
}
