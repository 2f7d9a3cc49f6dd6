/* A pull on its way through the store: what GetLossMetrics and StreamTensors have in common. */
#ifndef STAGEWIRE_SERVICE_PULLING_H
#define STAGEWIRE_SERVICE_PULLING_H

#include "service/rpc/call.h"
#include "service/store/store.h"

struct pulling {
    struct pull_request request; /* decoded by the method, before pulling_start */
    struct store_pull pull;
    bool answered;
    struct call *call;
    void (*answer)(struct call *call, const struct store_item *item);
};

/* Asks the store. `answer` runs once there is an item, now or later; what is no item has failed the call. */
void pulling_start(struct call *call, struct pulling *pulling, sw_item_kind kind,
                   void (*answer)(struct call *call, const struct store_item *item));
/* The item is not needed any more. Fine if there is none. */
void pulling_release(struct pulling *pulling);

/* For the method's own `woken` and `end`. */
void pulling_woken(struct pulling *pulling);
void pulling_end(struct pulling *pulling);

#endif
