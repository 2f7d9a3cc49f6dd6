/* Inside of messages.h: parts of several messages. */
#ifndef STAGEWIRE_WIRE_MESSAGE_PARTS_H
#define STAGEWIRE_WIRE_MESSAGE_PARTS_H

#include "proto/wire/messages.h"
#include "proto/wire/pb.h"

void wait_to_pb(Stagewire__V1__Wait *to, const struct wait_request *from);
struct wait_request wait_from_pb(const Stagewire__V1__Wait *from); /* NULL: none */

void consumer_to_pb(Stagewire__V1__Consumer *to, const struct consumer_request *from);
struct consumer_request consumer_from_pb(const Stagewire__V1__Consumer *from); /* NULL: an observer */
sw_status consumer_id_check(const char *id, bool may_be_empty, const struct path *path, sw_error *error);

/* Arrays of them; false where the arena ends. */
bool consumers_to_pb(struct arena *arena, const struct consumer_request *from, uint32_t count,
                     Stagewire__V1__Consumer ***ret);
bool consumers_from_pb(struct arena *arena, Stagewire__V1__Consumer *const *from, size_t count,
                       const struct consumer_request **ret);

/* `last` has the lifetime of `closed`. */
void closed_to_pb(Stagewire__V1__ChannelClosed *to, Stagewire__V1__Address *last,
                  const struct channel_closed *from);
sw_status closed_from_pb(const Stagewire__V1__ChannelClosed *from, const struct path *path,
                         struct channel_closed *ret, sw_error *error);

#endif
