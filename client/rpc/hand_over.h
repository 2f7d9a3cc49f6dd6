/* The client's end of the hand-over socket beside the Unix socket of its endpoint: memory to be published
 * goes out, memory that was pulled comes in. Connects when it is first needed, and again when that broke;
 * where there is no such socket, or somebody else's, nothing is handed over. On the loop's thread, but where
 * it says any. */
#ifndef STAGEWIRE_CLIENT_RPC_HAND_OVER_H
#define STAGEWIRE_CLIENT_RPC_HAND_OVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "proto/base/limits.h"

struct hand_over {
    struct sockaddr_un address; /* family 0: none, the endpoint isn't reached over a Unix socket */
    const char *path;           /* of the endpoint's own socket */
    int socket;                 /* -1: not connected */
    uint64_t name;
    unsigned given; /* that the endpoint may still have waiting */
    unsigned pulls; /* that memory may still come for */
    unsigned arrived_count;
    struct {
        uint64_t token;
        int fd;
    } arrived[LIMIT_HANDED_OVER];
};

/* `endpoint` as the client calls it; it outlives this. */
void hand_over_init(struct hand_over *hand_over, const char *endpoint);
void hand_over_fini(struct hand_over *hand_over); /* again is fine */

/* Any thread: whether memory may be handed over at all. */
bool hand_over_is_offered(const struct hand_over *hand_over);
bool hand_over_is_connected(const struct hand_over *hand_over);

/* Hands over sealed memory; the token, for hand_over_take_back, or 0 where it can't be. */
uint64_t hand_over_give(struct hand_over *hand_over, int fd);
void hand_over_take_back(struct hand_over *hand_over, uint64_t token);

/* A pull begins and ends: the name under which it can be sent memory, or 0. One end for each beginning. */
uint64_t hand_over_begin(struct hand_over *hand_over);
void hand_over_end(struct hand_over *hand_over);

/* What arrived under that token, before it was named; -1 for nothing. It stays where it is until it is
 * forgotten, or all pulls have ended. */
int hand_over_arrived(struct hand_over *hand_over, uint64_t token);
void hand_over_forget(struct hand_over *hand_over, uint64_t token);

#endif
