/* What every call of every service passes before its method sees it: who it is from, whether its certificate
 * still stands, how many calls it has open, and whether it has the right that the method needs (gate.c has
 * the table of these). On the loop's thread, but where it says any.
 *
 * Who may do what, where no access table says otherwise:
 *
 *   a Unix socket (@unix)                     everything, under any consumer id
 *   loopback in plaintext (@loopback)         watch, pull, contribute; publish where publish_on_loopback
 *   plaintext beyond the machine (@plaintext) watch, pull, contribute
 *   a certificate of one of our CAs           watch, pull, contribute
 *
 * With a table, certificates have what their lines say, and nothing where there is no line; so has
 * @plaintext. @unix and @loopback stay as they are unless a line names them. Health and unknown methods are
 * open to whoever gets as far. */
#ifndef STAGEWIRE_SERVICE_GATE_H
#define STAGEWIRE_SERVICE_GATE_H

#include <stagewire/endpoint.h>

#include "proto/base/log_rate.h"
#include "service/rpc/access_file.h"
#include "service/rpc/callers.h"
#include "service/rpc/peer_check.h"

struct call;
struct method;

struct gate {
    struct callers callers;
    struct access_file access;
    struct peer_check peers;
    bool publish_on_loopback;
    struct log_rate refused;
};

/* Any thread. `tls` NULL: plaintext. INVALID_ARGUMENT where the access table is wrong. */
sw_status gate_open(struct gate *gate, const sw_endpoint_options *options, struct tls_source *tls,
                    sw_error *error);
void gate_start(struct gate *gate, struct loop *loop);
void gate_stop(struct gate *gate);
void gate_close(struct gate *gate); /* any thread, when it was stopped and no call is left */

/* UNAUTHENTICATED where its certificate names nobody or doesn't stand any more, PERMISSION_DENIED names
 * identity and right, RESOURCE_EXHAUSTED / LIMIT "calls" or "memory". gate_leave in any case. */
sw_status gate_enter(struct call *call, sw_error *error);
void gate_leave(struct call *call);

/* PERMISSION_DENIED if the caller may not pull or release under that consumer id; "" is an observer. */
sw_status gate_check_consumer(struct call *call, const char *consumer, sw_error *error);

/* Which rights the method needs one of; 0: open. */
unsigned gate_needs(const struct method *method);

#endif
