/* A relay on loopback between a client and an endpoint that can do what networks do: cut, reset or half-close
 * a connection, at any byte too, delay or stall it, turn a bit, say everything twice, let nobody in. It runs
 * on a thread of its own; all functions may be called from any other. */
#ifndef STAGEWIRE_TESTS_RELAY_H
#define STAGEWIRE_TESTS_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct relay;

enum relay_way { RELAY_TO_CLIENT, RELAY_TO_ENDPOINT };

/* `target` as a client names it: "HOST:PORT" (numbers) or "unix:PATH". It need not be there yet. Aborts if it
 * can't listen. */
struct relay *relay_open(const char *target);
void relay_close(struct relay *relay); /* takes NULL */

const char *relay_target(const struct relay *relay); /* "127.0.0.1:PORT" */

/* From now on, whoever connects is led to `target`. */
void relay_retarget(struct relay *relay, const char *target);

/* From now on, and once: when `bytes` more have gone this way, the connection that carried the last of them
 * is cut, at exactly that byte. */
void relay_cut_after(struct relay *relay, enum relay_way way, uint64_t bytes);
/* The same with a reset, both ways. */
void relay_reset_after(struct relay *relay, enum relay_way way, uint64_t bytes);
/* Cuts, or resets, all that is connected. */
void relay_cut(struct relay *relay);
void relay_reset(struct relay *relay);
/* All that is connected: who is spoken to this way hears the end of the stream, and may still speak. */
void relay_half_close(struct relay *relay, enum relay_way way);

/* From now on, and once: in the first `run` equal bytes of this value that go this way, the last one is
 * changed. So a bit is turned within a payload, and not in what HTTP/2 itself would notice. */
void relay_turn_bit(struct relay *relay, enum relay_way way, uint8_t value, size_t run);
bool relay_has_turned(struct relay *relay);

/* While it stalls nothing goes through, and while it refuses whoever connects is thrown out.
 * While it ignores them the kernel takes their connections, and nobody ever answers. */
void relay_stall(struct relay *relay, bool stalls);
void relay_stall_way(struct relay *relay, enum relay_way way, bool stalls);
void relay_refuse(struct relay *relay, bool refuses);
void relay_ignore(struct relay *relay, bool ignores);
/* From now on, and once: when `bytes` more have gone this way, the connection that carried the last of them
 * says no more this way. */
void relay_stall_after(struct relay *relay, enum relay_way way, uint64_t bytes);
/* What comes from now on goes on so much later. */
void relay_delay(struct relay *relay, enum relay_way way, int64_t delay_ms);
/* Whoever connects while it duplicates is heard twice: the endpoint gets all that he says on a second
 * connection too, and what it answers there is thrown away. */
void relay_duplicate(struct relay *relay, bool duplicates);
/* No more of all this, and nothing that was still to come; what was cut stays so. */
void relay_heal(struct relay *relay);

/* What has gone this way since it was opened, and how many connections there were. */
uint64_t relay_bytes(struct relay *relay, enum relay_way way);
unsigned relay_connections(struct relay *relay);
/* Waits until as many have gone or come; false after `timeout_ms`. */
bool relay_wait_for_bytes(struct relay *relay, enum relay_way way, uint64_t bytes, int timeout_ms);
bool relay_wait_for_connections(struct relay *relay, unsigned connections, int timeout_ms);

#endif
