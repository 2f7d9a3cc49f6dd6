/* Preloaded, puts one congestion control ($STAGEWIRE_BENCH_CONGESTION) on every TCP socket of a program, ours
 * as the others', so that all compare under the same one whatever the machine's is. */
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Where the machine doesn't allow it, its own stays: run says which one that is. */
static void choose(int socket) {
    const char *name = getenv("STAGEWIRE_BENCH_CONGESTION");
    if (name) setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name));
}

int listen(int socket, int backlog) {
    int (*next)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "listen");
    choose(socket);
    return next(socket, backlog);
}

int connect(int socket, const struct sockaddr *address, socklen_t size) {
    int (*next)(int, const struct sockaddr *, socklen_t) =
        (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
    choose(socket);
    return next(socket, address, size);
}
