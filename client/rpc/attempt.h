/* One gRPC call, driven on the loop's thread: all that is here is for that thread.
 *
 * It counts its pending operations and tells its end when none is left; then it may be started again or freed
 * with its owner. What is asked for next is asked for before what came is handed on, so that the transport
 * keeps reading meanwhile. */
#ifndef STAGEWIRE_CLIENT_RPC_ATTEMPT_H
#define STAGEWIRE_CLIENT_RPC_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include <grpc/grpc.h>

#include <stagewire/buffer.h>
#include <stagewire/status.h>

#include "client/rpc/connection.h"
#include "proto/transport/loop.h"

struct attempt;

enum attempt_reads { READS_ALL /* as they come */, READS_ONE /* there is no other */, READS_WHEN_ASKED };

/* All but `message` and `ended` may be NULL. */
struct attempt_ops {
    /* The request is on its way through a connection: so there is somebody at its other end. */
    void (*sent)(struct attempt *attempt);
    /* The other side's initial metadata came. */
    void (*headers)(struct attempt *attempt);
    /* `message` lives during the call. */
    void (*message)(struct attempt *attempt, grpc_byte_buffer *message);
    /* The last write was taken, and the call still stands. */
    void (*written)(struct attempt *attempt);
    /* The end; error->code is SW_OK where it ended well, and CANCELLED only after attempt_cancel. Nothing is
     * pending any more. */
    void (*ended)(struct attempt *attempt, const sw_error *error);
};

/* Zeroed before its first start. */
struct attempt {
    const struct attempt_ops *ops;
    struct loop *loop;
    grpc_call *call; /* NULL: not under way */
    struct channel *channel;
    struct op headers_op, message_op, write_op, status_op;
    grpc_byte_buffer *incoming, *outgoing;
    grpc_metadata_array headers, trailers;
    grpc_status_code status;
    grpc_slice details;
    unsigned pending;
    enum attempt_reads reads;
    bool was_sent, is_over, is_reading;
    bool writes_more;  /* `written` is called */
    bool is_cancelled; /* by this side */
};

struct attempt_start {
    struct loop *loop;
    struct channel *channel;
    const char *method; /* a literal: "/stagewire.v1.StageService/GetLossMetrics" */
    sw_buffer *request; /* the first message; borrowed */
    bool writes_more;   /* attempt_write follows; else the request is all */
    enum attempt_reads reads;
    int64_t deadline_ms; /* the loop's clock; CLOCK_NEVER: none */
};

void attempt_start(struct attempt *attempt, const struct attempt_ops *ops, const struct attempt_start *start);

/* One after each `written`. Takes `message` over. */
void attempt_write(struct attempt *attempt, grpc_byte_buffer *message, bool is_last);

/* Asks for the next message; harmless if one was asked for. */
void attempt_read(struct attempt *attempt);

/* Ends it soon, with CANCELLED; harmless if it is over or was not started. */
void attempt_cancel(struct attempt *attempt);

bool attempt_under_way(const struct attempt *attempt);

#endif
