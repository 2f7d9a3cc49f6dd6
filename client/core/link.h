/* What the answers of an endpoint have told of the way to it, and over how many connections a pull therefore
 * comes. One connection moves no more than the sender's kernel keeps for it in a round trip; so on a long
 * link several move more, and on a short one, where a connection is as fast as the machines, they only
 * disturb each other. */
#ifndef STAGEWIRE_CLIENT_CORE_LINK_H
#define STAGEWIRE_CLIENT_CORE_LINK_H

#include <stdbool.h>
#include <stdint.h>

#define LINK_CONNECTIONS     8u
#define LINK_CONNECTIONS_MAX 16u

struct link {
    unsigned connections; /* for a pull of more than a few MiB, from 1 */

    /* private */
    unsigned most, before;    /* before: that many, when rate_before was measured */
    double rate, rate_before; /* the best of what was measured with so many, and with so many before */
    unsigned measured;        /* how often, with so many */
    int64_t round_trip_ms;    /* or less */
    int64_t settled_ms;       /* since when more gained nothing; CLOCK_NEVER: it isn't known */
    double usual_ms;          /* for a byte of a stream that brought all */
    uint64_t shares[LINK_CONNECTIONS_MAX];
};

/* `most` connections, 1 to LINK_CONNECTIONS_MAX. */
void link_init(struct link *link, unsigned most);

/* An answer came so long after its question: a round trip is no longer than that. */
void link_answered(struct link *link, int64_t took_ms);

/* An answer was fast enough for a short one. */
bool link_is_short(const struct link *link);

/* No answer was ever fast enough for a short one. So far one connection is used: it is worth a second one, to
 * ask there, where nothing else is under way, how long an answer takes. */
bool link_may_be_long(const struct link *link);
/* That one took long, too. */
void link_is_long(struct link *link);

/* How long a rate is to be measured, so that what connections do in their first round trips does not count.
 */
int64_t link_measures_ms(const struct link *link);
/* That many `connections` together brought so much a second. As soon as it is a tenth more than fewer did,
 * there are twice as many from now on; where that does not come about, as few as before, and a minute later
 * it is tried once more. */
void link_measured(struct link *link, unsigned connections, double rate, int64_t now_ms);

/* How many bytes a stream over this connection is to be asked for: little while it is new, and its windows
 * small, twice as much with each stream that brought all, and little again after one that broke. On a short
 * link never much: there gRPC would read all of it before any is taken. */
uint64_t link_share(const struct link *link, unsigned connection);
void link_stream_brought(struct link *link, unsigned connection, uint64_t bytes, int64_t took_ms);
void link_stream_broke(struct link *link, unsigned connection);

/* For how long one stream may still need for so many bytes before they are asked for once more over another
 * connection, which takes of the link what others could have brought: as long as asking takes, and three
 * times as long as is usual. */
int64_t link_patience_ms(const struct link *link, uint64_t bytes);

#endif
