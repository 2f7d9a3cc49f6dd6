/* The beginning of HTTP/2 by hand: enough to greet an endpoint and to see that it answers a ping. */
#ifndef STAGEWIRE_CLIENT_CLI_DOCTOR_H2_H
#define STAGEWIRE_CLIENT_CLI_DOCTOR_H2_H

#include <stdint.h>

#include "client/cli/doctor/wire.h"

#define H2_HEADER_BYTES 9
#define H2_FRAME_MAX    16384 /* what a peer may send to one that didn't ask for more */

enum { H2_SETTINGS = 4, H2_PING = 6, H2_GOAWAY = 7 };
#define H2_FLAG_ACK 1

struct h2_frame {
    uint32_t length;
    uint8_t type, flags;
};

/* Pure. */
struct h2_frame h2_frame_of(const unsigned char header[H2_HEADER_BYTES]);

enum h2_end {
    H2_FINE,
    H2_WIRE,    /* *ret_wire says what happened on the way */
    H2_STRANGE, /* what came is no HTTP/2 */
    H2_SENT_AWAY,
};

/* Says hello; H2_FINE once the peer has sent its settings. */
enum h2_end h2_greet(struct wire *wire, enum wire_end *ret_wire, int64_t deadline_ms);
/* After the greeting: sends a ping and waits for its answer. */
enum h2_end h2_ping(struct wire *wire, enum wire_end *ret_wire, int64_t deadline_ms);

#endif
