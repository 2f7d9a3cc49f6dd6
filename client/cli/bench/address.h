/* HOST:PORT as socket addresses. */
#ifndef STAGEWIRE_CLIENT_CLI_BENCH_ADDRESS_H
#define STAGEWIRE_CLIENT_CLI_BENCH_ADDRESS_H

#include <netdb.h>
#include <stdbool.h>

#include "client/cli/exit_codes.h"

/* Says what is wrong. The caller frees with freeaddrinfo. Port 0 is one, to listen on. */
enum cli_exit address_find(const char *who, const char *name, struct addrinfo **ret_found);

/* Whether it is one of this machine's own. */
bool address_is_near(const struct addrinfo *address);

/* "127.0.0.1:4317", "[::1]:4317" */
#define ADDRESS_TEXT_MAX 64
void address_in_text(const struct sockaddr *address, socklen_t size, char text[ADDRESS_TEXT_MAX]);

#endif
