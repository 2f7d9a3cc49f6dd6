/* What a client checks of any answer: that it speaks of what was asked, and how to say that it doesn't. */
#ifndef STAGEWIRE_CLIENT_CORE_ANSWER_H
#define STAGEWIRE_CLIENT_CORE_ANSWER_H

#include <stdbool.h>

#include <stagewire/address.h>
#include <stagewire/status.h>

/* Whether a resolved address answers the one that was asked for: what that left open is filled in. */
bool answer_fits(const sw_address *asked, bool latest, const sw_address *answered);

/* The same item, whatever the run's name. */
bool address_same_item(const sw_address *a, const sw_address *b);

/* DATA_LOSS / CHECKSUM: what came is not what anybody published. `what` is a noun, `why` NULL or an error
 * that says more. */
sw_status answer_broken(sw_error *error, const sw_address *asked, sw_item_kind kind, const char *what,
                        const sw_error *why);

#endif
