/* Which channels a watch is for, as the endpoint understands it. */
#ifndef STAGEWIRE_CLIENT_CORE_WATCH_FILTER_H
#define STAGEWIRE_CLIENT_CORE_WATCH_FILTER_H

#include <stagewire/client.h>

#include "proto/wire/arena.h"
#include "proto/wire/messages.h"

/* Any of them; none at all means every channel. */
bool watch_filters_match(const sw_watch_filter *filters, uint32_t count, const sw_address *channel);

/* For the request, all copied into `arena`; NULL without memory. */
const struct channel_filter *watch_filters_copy(const sw_watch_filter *filters, uint32_t count,
                                                struct arena *arena);

#endif
