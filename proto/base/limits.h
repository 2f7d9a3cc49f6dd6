/* Named limits, and what each one stops. Those with a setting are defaults. */
#ifndef STAGEWIRE_BASE_LIMITS_H
#define STAGEWIRE_BASE_LIMITS_H

/* The wire; fixed, so that every endpoint of a job agrees. */
#define LIMIT_BLOCK_BYTES     (512u << 10) /* a block of a tensor, and a chunk: the fastest size measured */
#define LIMIT_BLOCK_BYTES_MIN (1u << 10)   /* a publisher's own block size: below, headers outweigh data */
#define LIMIT_BLOCK_BYTES_MAX (2u << 20)   /* above, a chunk would not fit any gRPC client's 4 MiB */
#define LIMIT_RECEIVE_BYTES   (6u << 20)   /* what the server reads, so that TOO_LARGE can be said */
#define LIMIT_DECODE_BYTES    (64u << 20)  /* arena of one decoded message: a bomb of empty values */
#define LIMIT_DECODE_FIELDS   1000000u     /* fields of one message: the same */
#define LIMIT_ITEM_TENSORS    20000u       /* tensors of one item: a manifest that would not fit a message */
#define LIMIT_CONSUMER_ID     256u         /* bytes of a consumer's id */
#define LIMIT_CLOSE_MESSAGE   1024u        /* bytes of a failure's or a closing's message that are kept */
#define LIMIT_STATUS_BYTES    4096u        /* message and details of an error on the wire */
#define LIMIT_STAGE_COUNT     65536u       /* stages of an exchange: a word for each is kept */

/* Memory kept for the next step; fixed. A program that embeds the library gets the rest back. */
#define LIMIT_KEPT_PAGES (1u << 30)

/* Memory handed over between processes of a machine; fixed. */
#define LIMIT_GIVEN_BACK_LATER (1u << 30) /* bytes that nobody has any more, nor the kernel yet */
#define LIMIT_SHARED_FROM      (1u << 20) /* bytes of a tensor: measured; below two blocks, chunks are as fast */
#define LIMIT_SHARED_RUN       (16u << 20) /* bytes that one message stands for: what a loop hashes at once */
#define LIMIT_SHARED_BUFFERS   4096u       /* of a process, and a quarter of its descriptors: one each */
#define LIMIT_HAND_OVERS       256u /* connections to an endpoint: one that takes the place of all the others */
#define LIMIT_HANDED_OVER      64u  /* pieces that wait, of a connection: memory that no call ever asks for */
#define LIMIT_HANDED_OVER_ALL  128u /* pieces that wait, of all: the same of many connections */

/* Watches of the health, which anyone may begin who reaches a listener for probes; fixed. */
#define LIMIT_HEALTH_WATCHES 256u

/* Certificates; fixed. */
#define LIMIT_TLS_FILE_BYTES (1u << 20) /* a PEM file: somebody's mistake, not a key */

/* The store; settings of an endpoint. */
#define LIMIT_KEPT_DIGESTS   64u    /* items of a channel that can be compared after they have gone; fixed */
#define LIMIT_WAITERS        16384u /* pulls and words that wait: a flood of pulls for steps that never come */
#define LIMIT_WATCHERS       256u   /* watches */
#define LIMIT_CHANNELS       65536u /* channels of a generation: names made up without end */
#define LIMIT_CONSUMERS      1024u  /* expected consumers of a channel */
#define LIMIT_LEASES         4096u  /* open Attach streams */
#define LIMIT_OPEN_PUBLISHES 1024u  /* tensor publishes in progress */

/* Connections and calls; settings of an endpoint, and the first two of stagewired. */
#define LIMIT_CONNECTIONS         4096u /* of a process: all descriptors and much memory */
#define LIMIT_CONNECTIONS_ADDRESS 512u  /* of an address: one that takes the place of all the others */
#define LIMIT_CALLS               2048u /* calls of one caller: one that takes the place of all the others */
#define LIMIT_STREAMS             4096u /* of a connection; more, so that the limit above can be said */
#define LIMIT_HEADER_BYTES        (8u << 10) /* of a call: headers without end, which no handler ever sees */
#define LIMIT_TRANSPORT           (1ull << 30) /* bytes that gRPC holds for all connections: many that never read */
#define LIMIT_HANDSHAKE_MS        10000   /* one that connects and says nothing, or never gets to the end */
#define LIMIT_AGE_MS              3600000 /* of a connection: an identity that was good when it began */
#define LIMIT_AGE_GRACE_MS        30000   /* for its calls to end: a call that is held to keep it */
#define LIMIT_IDLE_MS             300000  /* of a connection without calls: thousands that do nothing */

#endif
