/* Those who bring the shares of a pull: see spread.h. */
#ifndef STAGEWIRE_CLIENT_RPC_WORKERS_H
#define STAGEWIRE_CLIENT_RPC_WORKERS_H

#include "client/rpc/spread.h"

/* There is something left from now on. */
void workers_begin(struct spread *spread);
/* Whoever has nothing to do asks for a share of what is left; or, where nothing is, for what the slowest
 * connection still has to bring. */
void workers_ask(struct spread *spread);
/* What of a share has not come is left again. */
void workers_give_back(struct spread *spread, struct runs *share);
/* Where some blocks are asked for twice: ends those whose share others have brought. */
void workers_end_those_with_nothing_to_bring(struct spread *spread);

/* Asks a second connection how long an answer takes: where that is long, more than one is used. */
void workers_send_scout(struct spread *spread);
/* Its answer is of use to nobody when the others have ended. */
void workers_end_the_scout_if_alone(struct spread *spread);

/* Ends all, soon. */
void workers_stop(struct spread *spread);

#endif
