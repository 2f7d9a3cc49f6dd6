/* TensorChunk by hand: the header is written here, the payload follows it by reference on the wire.
 *
 *   StreamTensorsResponse / PublishTensorsRequest { chunk = 2 }
 *   +----+---------+----+--------+----+-------+----+----------+----+--------+=========+
 *   | 12 | length  | 08 | tensor | 10 | block | 19 | xxh3: 8  | 22 | length | payload |
 *   +----+---------+----+--------+----+-------+----+----------+----+--------+=========+
 *   fields in order; tensor and block are left out where 0, as any protobuf does it
 */
#ifndef STAGEWIRE_WIRE_CHUNK_H
#define STAGEWIRE_WIRE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/status.h>

#define CHUNK_HEADER_MAX 48

struct chunk_header {
    uint32_t tensor;
    uint64_t block;
    uint64_t xxh3; /* 0: the publisher left it out */
    uint64_t size; /* of the payload */
};

/* Returns the bytes written to `out` (at most CHUNK_HEADER_MAX). */
size_t chunk_encode_header(const struct chunk_header *header, uint8_t *out);

/* SharedMemory: a run of a tensor's blocks in memory that was handed over. */
struct shared_run {
    uint32_t tensor;
    uint64_t first_block, byte_length;
    uint64_t token;  /* which memory */
    uint64_t offset; /* where in it the run begins */
};

#define SHARED_RUN_MAX 64

/* A whole message; returns the bytes written to `out` (at most SHARED_RUN_MAX). */
size_t shared_run_encode(const struct shared_run *run, uint8_t *out);

/* Takes a message apart that may be cut into pieces anywhere, by any protobuf writer (fields in any order,
 * unknown ones skipped), without making it contiguous. Feed it the pieces; it calls back with what it finds.
 */
enum chunk_part {
    CHUNK_OTHER, /* a manifest or something else: decode the whole message */
    CHUNK_CHUNK,
    CHUNK_SHARED,
};

struct chunk_piece {
    const uint8_t *data;
    size_t size;
};

struct chunk_view {
    struct chunk_header header;
    /* where the payload lies in the message: its bytes are those from `offset` on, header.size of them */
    uint64_t payload_offset;
    struct shared_run shared; /* of CHUNK_SHARED; the others are of CHUNK_CHUNK */
};

/* MALFORMED (path "chunk…") if the pieces do not add up to one message. *ret_part says what it holds;
 * `ret_view` is written for CHUNK_CHUNK and CHUNK_SHARED. */
sw_status chunk_parse(const struct chunk_piece *pieces, size_t count, enum chunk_part *ret_part,
                      struct chunk_view *ret_view, sw_error *error);

/* Copies the payload from the pieces to `out` (view.header.size bytes), its place in a tensor of `whole`
 * bytes. */
void chunk_copy_payload(const struct chunk_piece *pieces, size_t count, const struct chunk_view *view,
                        void *out, uint64_t whole);

/* The payload's block_hash, from the pieces: who copies it next finds it in the processor's caches, and who
 * refuses it need not have copied it. False without memory. */
bool chunk_hash_payload(const struct chunk_piece *pieces, size_t count, const struct chunk_view *view,
                        uint64_t *ret_hash);

/* The payload as consecutive pieces: calls back for each. */
void chunk_each_payload(const struct chunk_piece *pieces, size_t count, const struct chunk_view *view,
                        void (*take)(void *context, const uint8_t *data, size_t size), void *context);

#endif
