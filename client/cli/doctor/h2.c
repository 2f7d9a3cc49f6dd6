#include "client/cli/doctor/h2.h"

#include <string.h>

#define FRAMES_MAX 64 /* that come before the one that is waited for */

/* The preface, and settings that set nothing. */
static const char greeting[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                               "\0\0\0\4\0\0\0\0\0";
static const char settings_taken[] = "\0\0\0\4\1\0\0\0\0";
static const char ping[] = "\0\0\10\6\0\0\0\0\0"
                           "stgwdoct";

struct h2_frame h2_frame_of(const unsigned char header[H2_HEADER_BYTES]) {
    return (struct h2_frame){
        .length = (uint32_t)header[0] << 16 | (uint32_t)header[1] << 8 | header[2],
        .type = header[3],
        .flags = header[4],
    };
}

static enum h2_end read_frame(struct wire *wire, struct h2_frame *ret, enum wire_end *ret_wire,
                              int64_t deadline_ms) {
    unsigned char header[H2_HEADER_BYTES], body[H2_FRAME_MAX];
    *ret_wire = wire_read(wire, header, sizeof header, deadline_ms);
    if (*ret_wire != WIRE_OK) return H2_WIRE;
    *ret = h2_frame_of(header);
    if (ret->length > H2_FRAME_MAX) return H2_STRANGE;
    *ret_wire = wire_read(wire, body, ret->length, deadline_ms);
    if (*ret_wire != WIRE_OK) return H2_WIRE;
    return ret->type == H2_GOAWAY ? H2_SENT_AWAY : H2_FINE;
}

/* Reads until a frame of that type and flag comes; the peer's settings are acknowledged on the way. */
static enum h2_end read_until(struct wire *wire, uint8_t type, uint8_t flag, enum wire_end *ret_wire,
                              int64_t deadline_ms) {
    for (int i = 0; i < FRAMES_MAX; i++) {
        struct h2_frame frame;
        enum h2_end end = read_frame(wire, &frame, ret_wire, deadline_ms);
        if (end != H2_FINE) return end;
        if (frame.type == H2_SETTINGS && !(frame.flags & H2_FLAG_ACK)) {
            *ret_wire = wire_write(wire, settings_taken, sizeof settings_taken - 1, deadline_ms);
            if (*ret_wire != WIRE_OK) return H2_WIRE;
        }
        if (frame.type == type && (frame.flags & H2_FLAG_ACK) == flag) return H2_FINE;
    }
    return H2_STRANGE;
}

enum h2_end h2_greet(struct wire *wire, enum wire_end *ret_wire, int64_t deadline_ms) {
    *ret_wire = wire_write(wire, greeting, sizeof greeting - 1, deadline_ms);
    if (*ret_wire != WIRE_OK) return H2_WIRE;
    return read_until(wire, H2_SETTINGS, 0, ret_wire, deadline_ms);
}

enum h2_end h2_ping(struct wire *wire, enum wire_end *ret_wire, int64_t deadline_ms) {
    *ret_wire = wire_write(wire, ping, sizeof ping - 1, deadline_ms);
    if (*ret_wire != WIRE_OK) return H2_WIRE;
    return read_until(wire, H2_PING, H2_FLAG_ACK, ret_wire, deadline_ms);
}
