/* For who waited in vain: whether there is such a channel at all, and which one was probably meant. */
#ifndef STAGEWIRE_CLIENT_CLI_CHANNEL_HINT_H
#define STAGEWIRE_CLIENT_CLI_CHANNEL_HINT_H

#include "client/cli/options.h"

/* Like messages_error. After NOT_YET it asks the endpoint, and says so if it has no channel of that name and
 * kind. */
enum cli_exit channel_hint_error(const struct options *options, sw_client *client, sw_item_kind kind,
                                 const sw_error *error);

#endif
