/* What the machine can do without us: a plain socket, one process that answers and one that asks. */
#ifndef STAGEWIRE_TESTS_RAW_SOCKET_H
#define STAGEWIRE_TESTS_RAW_SOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A process that answers each request of 8 bytes (how many bytes are wanted) with as many; it ends with its
 * parent or when stopped. Start it before any thread. */
struct raw_server {
    pid_t process;
    uint16_t port;
};
struct raw_server raw_server_start(size_t largest_answer);
void raw_server_stop(struct raw_server *server);

int raw_connect(uint16_t port);
/* Asks for `size` bytes and reads them into `into`, 512 KiB a read. Aborts on an error. */
void raw_ask(int socket, void *into, uint64_t size);

#endif
