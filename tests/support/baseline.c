#include "tests/support/baseline.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/bench_rows.h"

#define READ_BYTES (512u << 10)

struct baseline_client {
    int socket;
    SSL *tls; /* NULL without */
};

/* ---- TLS ---- */

static SSL_CTX *context(const char *folder, const SSL_METHOD *method) {
    char path[3][128];
    static const char *const names[] = {"tls.key", "tls.crt", "ca.crt"};
    for (int i = 0; i < 3; i++) snprintf(path[i], sizeof path[i], "%s/%s", folder, names[i]);
    SSL_CTX *ret = SSL_CTX_new(method);
    bool good = ret && SSL_CTX_set_min_proto_version(ret, TLS1_3_VERSION) == 1 &&
                SSL_CTX_set_ciphersuites(ret, "TLS_AES_256_GCM_SHA384") == 1 &&
                SSL_CTX_use_PrivateKey_file(ret, path[0], SSL_FILETYPE_PEM) == 1 &&
                SSL_CTX_use_certificate_chain_file(ret, path[1]) == 1 &&
                SSL_CTX_load_verify_locations(ret, path[2], NULL) == 1;
    bench_must_have(good, folder);
    SSL_CTX_set_verify(ret, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return ret;
}

static SSL *shake_hands(int socket, const char *folder, const SSL_METHOD *method, int (*shake)(SSL *)) {
    SSL_CTX *of = context(folder, method);
    SSL *tls = SSL_new(of);
    SSL_CTX_free(of);
    bench_must_have(tls && SSL_set_fd(tls, socket) == 1 && shake(tls) == 1, "TLS handshake");
    return tls;
}

/* ---- either ---- */

static ssize_t receive(const struct baseline_client *client, void *into, size_t size) {
    return client->tls ? SSL_read(client->tls, into, (int)size) : recv(client->socket, into, size, 0);
}

static ssize_t give(const struct baseline_client *client, const void *data, size_t size) {
    if (!client->tls) return send(client->socket, data, size, MSG_NOSIGNAL);
    return SSL_write(client->tls, data, size < READ_BYTES ? (int)size : (int)READ_BYTES);
}

static bool receive_all(const struct baseline_client *client, void *into, uint64_t size) {
    for (uint64_t done = 0; done < size;) {
        ssize_t n = receive(client, (char *)into + done, size - done < READ_BYTES ? size - done : READ_BYTES);
        if (n <= 0) return false;
        done += (uint64_t)n;
    }
    return true;
}

static bool give_all(const struct baseline_client *client, const void *data, uint64_t size) {
    for (uint64_t done = 0; done < size;) {
        ssize_t n = give(client, (const char *)data + done, size - done);
        if (n <= 0) return false;
        done += (uint64_t)n;
    }
    return true;
}

static void no_delay(int socket, enum baseline_kind kind) {
    int on = 1;
    if (kind == BASELINE_UNIX) return;
    bench_must_have(setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
}

/* ---- the server ---- */

static void answer(const struct baseline_client *peer, const char *data) {
    uint64_t size;
    while (receive_all(peer, &size, sizeof size) && give_all(peer, data, size)) {
    }
}

static _Noreturn void serve_one(const struct baseline *server, int socket, const char *data) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    no_delay(socket, server->kind);
    struct baseline_client peer = {socket, NULL};
    if (server->kind == BASELINE_TLS)
        peer.tls = shake_hands(socket, server->folder, TLS_server_method(), SSL_accept);
    answer(&peer, data);
    _exit(0);
}

static _Noreturn void serve(const struct baseline *server, int listener) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_IGN); /* nobody asks how they ended */
    char *data = malloc(server->largest_answer);
    bench_must_have(data, "malloc");
    for (size_t i = 0; i < server->largest_answer; i++) data[i] = (char)(i >> 12);
    for (int socket; (socket = accept(listener, NULL, NULL)) >= 0; close(socket)) {
        pid_t process = fork();
        bench_must_have(process >= 0, "fork");
        if (process == 0) serve_one(server, socket, data);
    }
    _exit(0);
}

static int listen_unix(struct baseline *server) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(server->path, sizeof server->path, "/tmp/stagewire-raw-%d.sock", (int)getpid());
    snprintf(address.sun_path, sizeof address.sun_path, "%s", server->path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bench_must_have(bind(listener, (struct sockaddr *)&address, sizeof address) == 0, server->path);
    return listener;
}

static struct sockaddr_in address_of(const char *host, uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    bench_must_have(inet_pton(AF_INET, host ? host : "127.0.0.1", &address.sin_addr) == 1, host);
    return address;
}

static int listen_tcp(struct baseline *server) {
    struct sockaddr_in address = address_of(server->host, 0);
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bench_must_have(bind(listener, (struct sockaddr *)&address, sizeof address) == 0, "bind");
    bench_must_have(getsockname(listener, (struct sockaddr *)&address, &size) == 0, "getsockname");
    server->port = ntohs(address.sin_port);
    return listener;
}

void baseline_start(struct baseline *server) {
    int listener = server->kind == BASELINE_UNIX ? listen_unix(server) : listen_tcp(server);
    bench_must_have(listen(listener, 8) == 0, "listen");
    server->process = fork();
    bench_must_have(server->process >= 0, "fork");
    if (server->process == 0) serve(server, listener);
    close(listener);
}

void baseline_stop(struct baseline *server) {
    kill(server->process, SIGKILL);
    waitpid(server->process, NULL, 0);
    if (server->kind == BASELINE_UNIX) unlink(server->path);
}

/* ---- the client ---- */

static int connect_unix(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int ret = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bench_must_have(connect(ret, (struct sockaddr *)&address, sizeof address) == 0, path);
    return ret;
}

static int connect_tcp(const char *host, uint16_t port) {
    struct sockaddr_in address = address_of(host, port);
    int ret = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bench_must_have(connect(ret, (struct sockaddr *)&address, sizeof address) == 0, "connect");
    return ret;
}

int tcp_connect_loopback(uint16_t port) {
    return connect_tcp(NULL, port);
}

struct baseline_client *baseline_connect(const struct baseline *server) {
    struct baseline_client *client = calloc(1, sizeof *client);
    bench_must_have(client, "calloc");
    client->socket =
        server->kind == BASELINE_UNIX ? connect_unix(server->path) : connect_tcp(server->host, server->port);
    no_delay(client->socket, server->kind);
    if (server->kind == BASELINE_TLS)
        client->tls = shake_hands(client->socket, server->folder, TLS_client_method(), SSL_connect);
    return client;
}

double baseline_ask(struct baseline_client *client, void *into, uint64_t size) {
    double begun = bench_now_us();
    bench_must_have(give_all(client, &size, sizeof size), "send");
    bench_must_have(receive_all(client, into, size), "recv");
    return bench_now_us() - begun;
}

void baseline_close(struct baseline_client *client) {
    SSL_free(client->tls);
    close(client->socket);
    free(client);
}
