/* The hand-over sockets of an endpoint, one beside each Unix socket: there memory comes in that a publish
 * will name, and goes out to those who pull (proto/device/hand_over.h says what passes).
 *
 * On the loop's thread, but where it says any. Another thread only watches the sockets and wakes the loop.
 * What waits is bounded, and goes with the connection that brought it. */
#ifndef STAGEWIRE_SERVICE_HAND_OVER_H
#define STAGEWIRE_SERVICE_HAND_OVER_H

#include <stdbool.h>
#include <stdint.h>

#include <stagewire/status.h>

#include "proto/transport/loop.h"
#include "proto/wire/messages.h"

struct hand_over;

/* Any thread. RESOURCE_EXHAUSTED without memory, descriptors or threads. */
sw_status hand_over_open(struct loop *loop, struct hand_over **ret, sw_error *error);
/* Any thread, before the endpoint serves: beside the Unix socket at `path`, which is ours. Where that can't
 * be it is logged, and whoever comes there goes by chunks. */
void hand_over_listen(struct hand_over *hand_over, const char *path);
/* Another thread than the loop's, while that still runs: nobody comes any more. Takes NULL. */
void hand_over_stop(struct hand_over *hand_over);
/* When the loop has ended. Takes NULL. */
void hand_over_close(struct hand_over *hand_over);

/* The memory that was handed over under this token; -1 if there is none. The descriptor stays where it is.
 * Not yet looked at: see sealed_check. */
int hand_over_find(struct hand_over *hand_over, uint64_t token);

/* Sends sealed memory to the one of that name; the token under which, or 0 where it can't be. */
uint64_t hand_over_to(struct hand_over *hand_over, uint64_t name, int fd);

/* For GetStageInfo: what is counted by those who use it, and what waits. */
struct hand_over_info *hand_over_counts(struct hand_over *hand_over);

#endif
