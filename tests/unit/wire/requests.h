/* A well-formed request of each kind, every field set; tests change one thing. Static. */
#ifndef STAGEWIRE_TESTS_UNIT_WIRE_REQUESTS_H
#define STAGEWIRE_TESTS_UNIT_WIRE_REQUESTS_H

#include "proto/wire/messages.h"

sw_address full_address(void);
struct pull_request full_pull(void);
struct manifest full_manifest(void);
struct publish_failure_request full_failure(void);
struct close_channel_request full_close(void);
struct release_request full_release(void);
sw_attachment full_attachment(void);
struct watch_request full_watch(void);
struct channel_closed full_closed(void);
struct stage_info full_info(void);
struct exchange_request full_exchange(void);

bool addresses_equal(const sw_address *a, const sw_address *b);

#endif
