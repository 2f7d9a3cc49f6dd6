/* What the machine can do without us: a plain socket, with TLS around it or not, one process that answers and
 * one that asks. Whatever fails ends the program. */
#ifndef STAGEWIRE_TESTS_BASELINE_H
#define STAGEWIRE_TESTS_BASELINE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum baseline_kind { BASELINE_TCP, BASELINE_UNIX, BASELINE_TLS /* over TCP: mTLS 1.3, AES-256-GCM */ };

struct baseline {
    enum baseline_kind kind;
    const char *host;   /* an IPv4 address to listen at; NULL: 127.0.0.1 */
    const char *folder; /* BASELINE_TLS: holds tls.key, tls.crt and ca.crt, for both sides */
    size_t largest_answer;

    pid_t process; /* the rest is filled in by baseline_start */
    uint16_t port;
    char path[64];
};
/* Answers each request of 8 bytes (how many bytes are wanted) with as many, a process a connection; ends with
 * its parent or when stopped. Start it before any thread. */
void baseline_start(struct baseline *server);
void baseline_stop(struct baseline *server);

struct baseline_client;
struct baseline_client *baseline_connect(const struct baseline *server);
/* Asks for `size` bytes and reads them into `into`, 512 KiB a read: how long that took, in us. */
double baseline_ask(struct baseline_client *client, void *into, uint64_t size);
void baseline_close(struct baseline_client *client);

int tcp_connect_loopback(uint16_t port); /* a socket, to anybody on loopback */

#endif
