#include "tests/support/endpoint.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/certs.h"
#include "tests/support/folder.h"
#include "tests/support/measure.h"

#define ARGS_MAX 32

struct files {
    char key[96], cert[96], ca[96];
};

static struct files files_in(const char *folder) {
    struct files files;
    snprintf(files.key, sizeof files.key, "%s/tls.key", folder);
    snprintf(files.cert, sizeof files.cert, "%s/tls.crt", folder);
    snprintf(files.ca, sizeof files.ca, "%s/ca.crt", folder);
    return files;
}

static size_t append(const char **args, size_t count, const char *const *more) {
    for (; more && *more; more++) {
        bench_must_have(count + 1 < ARGS_MAX, "arguments of stagewired");
        args[count++] = *more;
    }
    return count;
}

void endpoint_start(struct endpoint *endpoint) {
    char tcp[32];
    strcpy(endpoint->folder, "/tmp/stagewire-bench-XXXXXX");
    folder_make(endpoint->folder);
    snprintf(endpoint->socket, sizeof endpoint->socket, "unix:%s/s", endpoint->folder);
    snprintf(tcp, sizeof tcp, "%s:0", endpoint->host ? endpoint->host : "127.0.0.1");
    const char *args[ARGS_MAX] = {"--listen", tcp, "--listen", endpoint->socket, "--run-id", "bench"};
    size_t count = append(args, 6, endpoint->more);
    struct files files;
    if (endpoint->certs) {
        files = files_in(endpoint->certs);
        append(args, count,
               (const char *const[]){"--tls-key", files.key, "--tls-cert", files.cert, "--tls-ca", files.ca,
                                     NULL});
    }
    endpoint->daemon = daemon_start(args);
    bench_must_have(endpoint->daemon != NULL, "stagewired");
}

sw_client *endpoint_client(const struct endpoint *endpoint) {
    sw_client *client;
    sw_client_options options;
    sw_error error;
    struct files files;
    sw_client_options_init(&options);
    if (endpoint->certs) {
        files = files_in(endpoint->certs);
        options.tls_key = files.key, options.tls_cert = files.cert, options.tls_ca = files.ca;
    }
    bench_must(sw_client_open(daemon_target(endpoint->daemon, 0), &options, &client, &error), &error);
    return client;
}

void endpoint_connect(struct endpoint *endpoint) {
    endpoint->tcp = endpoint_client(endpoint);
    endpoint->local = measure_open(endpoint->socket);
}

void endpoint_stop(struct endpoint *endpoint) {
    sw_client_close(endpoint->tcp);
    sw_client_close(endpoint->local);
    daemon_stop(endpoint->daemon);
    daemon_destroy(endpoint->daemon);
    folder_remove(endpoint->folder);
}

void endpoint_make_certs(char *folder) {
    struct cert *ca = cert_ca("ca"), *leaf = cert_leaf(ca, NULL);
    folder_make(folder);
    cert_write_folder(folder, leaf, ca);
    cert_free(leaf);
    cert_free(ca);
}
