#include "tests/support/raw_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_BYTES (512u << 10)

static void must(int good, const char *what) {
    if (good) return;
    perror(what);
    abort();
}

static void no_delay(int socket) {
    int on = 1;
    must(setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
}

static void answer(int socket, const char *data) {
    uint64_t size;
    while (recv(socket, &size, sizeof size, MSG_WAITALL) == sizeof size)
        for (uint64_t done = 0; done < size;) {
            ssize_t n = send(socket, data + done, size - done, MSG_NOSIGNAL);
            if (n <= 0) return;
            done += (uint64_t)n;
        }
}

static void serve(int listener, size_t largest) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char *data = mmap(NULL, largest, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(data != MAP_FAILED, "mmap");
    memset(data, 0x5a, largest);
    for (int socket; (socket = accept(listener, NULL, NULL)) >= 0; close(socket)) {
        no_delay(socket);
        answer(socket, data);
    }
    _exit(0);
}

struct raw_server raw_server_start(size_t largest_answer) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 8) == 0,
         "listen");
    must(getsockname(listener, (struct sockaddr *)&address, &size) == 0, "getsockname");
    struct raw_server server = {fork(), ntohs(address.sin_port)};
    must(server.process >= 0, "fork");
    if (server.process == 0) serve(listener, largest_answer);
    close(listener);
    return server;
}

void raw_server_stop(struct raw_server *server) {
    kill(server->process, SIGKILL);
    waitpid(server->process, NULL, 0);
}

int raw_connect(uint16_t port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(connect(connection, (struct sockaddr *)&address, sizeof address) == 0, "connect");
    no_delay(connection);
    return connection;
}

void raw_ask(int socket, void *into, uint64_t size) {
    must(send(socket, &size, sizeof size, MSG_NOSIGNAL) == sizeof size, "send");
    for (uint64_t done = 0; done < size;) {
        uint64_t want = size - done < READ_BYTES ? size - done : READ_BYTES;
        ssize_t n = recv(socket, (char *)into + done, want, 0);
        must(n > 0, "recv");
        done += (uint64_t)n;
    }
}
