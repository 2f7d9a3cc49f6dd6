/* gRPC and fork() do not mix: a child that was forked while loops ran has their locks and none of their
 * threads. */
#ifndef STAGEWIRE_TRANSPORT_FORKED_H
#define STAGEWIRE_TRANSPORT_FORKED_H

/* Of each loop; any thread. What they see to is told by loop_forked. */
void forked_loop_begins(void);
void forked_loop_ended(void);

#endif
