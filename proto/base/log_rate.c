#include "proto/base/log_rate.h"

#include <stdatomic.h>

#define EACH_MS 1000

bool log_rate_allows(struct log_rate *rate, int64_t now_ms, uint64_t *ret_left_out) {
    int64_t full = atomic_load(&rate->full_ms), next;
    do {
        next = (full > now_ms ? full : now_ms) + EACH_MS;
        if (next > now_ms + LOG_RATE_AT_ONCE * EACH_MS) {
            atomic_fetch_add(&rate->left_out, 1);
            return false;
        }
    } while (!atomic_compare_exchange_weak(&rate->full_ms, &full, next));
    *ret_left_out = atomic_exchange(&rate->left_out, 0);
    return true;
}
