/* What 'stagewire bench --serve' and '--raw' say to each other over a bare TCP connection: the first byte is
 * the wish; then each byte comes back, or bytes come until whoever asked closes. */
#ifndef STAGEWIRE_CLIENT_CLI_BENCH_RAW_H
#define STAGEWIRE_CLIENT_CLI_BENCH_RAW_H

enum { RAW_ECHO = 'e', RAW_STREAM = 's' };

#define RAW_CHUNK   (512u << 10) /* bytes, as stagewire's own chunks have */
#define RAW_LOOK_MS 200          /* how soon whoever waits for a peer looks whether it should end */

#endif
