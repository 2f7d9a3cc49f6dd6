/* What gRPC says of a connection that did not come about, in words that say what to do. Pure. */
#ifndef STAGEWIRE_CLIENT_CORE_CONNECT_WORDS_H
#define STAGEWIRE_CLIENT_CORE_CONNECT_WORDS_H

#include <stdbool.h>

#include <stagewire/status.h>

/* Puts them before gRPC's own in an error that has no reason of stagewire's, or in their place where those
 * add nothing; an error that is about something else stays as it is. `speaks_tls`: the client tried TLS. */
void connect_words(sw_error *error, bool speaks_tls);

#endif
