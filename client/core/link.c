#include "client/core/link.h"

#include "proto/base/clock.h"

/* Below it one connection is enough: with the 4 MiB that Linux keeps for it by default, for 800 MB/s. */
#define LONG_FROM_MS 5

#define GAIN_MIN           1.1
#define TRY_AGAIN_MS       60000
#define ROUND_TRIPS        8 /* a connection's slow start to those 4 MiB */
#define MEASURES_MIN_MS    100
#define ASKING_ROUND_TRIPS 4 /* another connection may have to be opened first */
#define MEASURED_MOST      3 /* the first of them is one of connections that begin */

#define SHARE_MIN   (UINT64_C(512) << 10) /* a block */
#define SHARE_SHORT (UINT64_C(2) << 20)   /* comes faster than it is taken: two of them fill a link of 5 ms */
#define SHARE_MAX   (UINT64_C(32) << 20)

void link_init(struct link *link, unsigned most) {
    *link = (struct link){
        .connections = 1, .most = most, .round_trip_ms = CLOCK_NEVER, .settled_ms = CLOCK_NEVER};
    for (unsigned i = 0; i < LINK_CONNECTIONS_MAX; i++) link->shares[i] = SHARE_MIN;
}

bool link_is_short(const struct link *link) {
    return link->round_trip_ms < LONG_FROM_MS;
}

void link_answered(struct link *link, int64_t took_ms) {
    if (took_ms < link->round_trip_ms) link->round_trip_ms = took_ms;
    if (link_is_short(link)) link->connections = 1;
}

bool link_may_be_long(const struct link *link) {
    return link->connections == 1 && link->most > 1 && link->round_trip_ms >= LONG_FROM_MS;
}

/* That many from now on, of which nothing is known. */
static void use(struct link *link, unsigned connections) {
    link->connections = connections < link->most ? connections : link->most;
    link->rate = 0;
    link->measured = 0;
}

static void settle(struct link *link, unsigned connections, int64_t now_ms) {
    use(link, connections);
    link->rate_before = 0;
    link->settled_ms = now_ms;
}

void link_is_long(struct link *link) {
    use(link, 2);
    link->before = link->connections; /* one was not measured */
}

int64_t link_measures_ms(const struct link *link) {
    int64_t several = ROUND_TRIPS * link->round_trip_ms;
    return several > MEASURES_MIN_MS ? several : MEASURES_MIN_MS;
}

void link_measured(struct link *link, unsigned connections, double rate, int64_t now_ms) {
    if (connections != link->connections || connections == 1) return;
    if (link->settled_ms != CLOCK_NEVER && now_ms - link->settled_ms < TRY_AGAIN_MS) return;
    link->settled_ms = CLOCK_NEVER;
    link->measured++;
    if (rate > link->rate) link->rate = rate;
    bool gained = link->rate >= GAIN_MIN * link->rate_before;
    if (gained && connections == link->most) {
        settle(link, connections, now_ms);
    } else if (gained) {
        link->before = connections;
        link->rate_before = link->rate;
        use(link, 2 * connections);
    } else if (link->measured == MEASURED_MOST) {
        settle(link, link->before, now_ms);
    }
}

uint64_t link_share(const struct link *link, unsigned connection) {
    uint64_t share = link->shares[connection];
    return link_is_short(link) && share > SHARE_SHORT ? SHARE_SHORT : share;
}

void link_stream_brought(struct link *link, unsigned connection, uint64_t bytes, int64_t took_ms) {
    if (link->shares[connection] < SHARE_MAX) link->shares[connection] *= 2;
    if (bytes < SHARE_MIN) return; /* what that took is the round trip */
    double needed_ms = (double)took_ms / (double)bytes;
    link->usual_ms = link->usual_ms > 0 ? (3 * link->usual_ms + needed_ms) / 4 : needed_ms;
}

void link_stream_broke(struct link *link, unsigned connection) {
    link->shares[connection] = SHARE_MIN;
}

int64_t link_patience_ms(const struct link *link, uint64_t bytes) {
    return ASKING_ROUND_TRIPS * link->round_trip_ms + (int64_t)(3 * link->usual_ms * (double)bytes);
}
