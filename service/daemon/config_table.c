#include "service/daemon/config_table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "service/daemon/config.h"
#include "service/daemon/units.h"

/* ---- kinds of value ---- */

static const char *parse_text(const char *text, void *field) {
    *(const char **)field = text;
    return NULL;
}

static const char *parse_list(const char *text, void *field) {
    (void)text, (void)field; /* the loader fills the list, entry by entry */
    return NULL;
}

static const char *parse_size(const char *text, void *field) {
    return parse_bytes(text, field) ? NULL : "not a size; write 512m or 2g";
}

static const char *parse_duration(const char *text, void *field) {
    return parse_milliseconds(text, field) ? NULL : "not a duration; write 500ms, 30s, 10m or 1h";
}

static const char *parse_u64(const char *text, void *field) {
    return parse_number(text, UINT64_MAX, field) ? NULL : "not a number; write digits, for instance 3";
}

static const char *parse_u32(const char *text, void *field) {
    uint64_t number;
    if (!parse_number(text, UINT32_MAX, &number))
        return "not a number below 4294967296; write digits, for instance 3";
    *(uint32_t *)field = (uint32_t)number;
    return NULL;
}

static const char *parse_count(const char *text, void *field) {
    uint64_t number;
    if (!parse_number(text, UINT32_MAX, &number) || number == 0)
        return "not a number from 1; write digits, for instance 3";
    *(uint32_t *)field = (uint32_t)number;
    return NULL;
}

static const char *parse_switch(const char *text, void *field) {
    bool on = strcmp(text, "true") == 0;
    if (!on && strcmp(text, "false") != 0) return "neither true nor false";
    *(bool *)field = on;
    return NULL;
}

static const char *parse_log_format(const char *text, void *field) {
    bool json = strcmp(text, "json") == 0;
    if (!json && strcmp(text, "logfmt") != 0) return "neither logfmt nor json";
    *(enum log_format *)field = json ? LOG_JSON : LOG_LOGFMT;
    return NULL;
}

static const char *parse_log_level(const char *text, void *field) {
    static const char *const names[] = {[LOG_DEBUG] = "debug",
                                        [LOG_INFO] = "info",
                                        [LOG_WARN] = "warn",
                                        [LOG_ERROR] = "error",
                                        [LOG_OFF] = "off"};
    for (enum log_level level = LOG_DEBUG; level <= LOG_OFF; level++) {
        if (strcmp(text, names[level]) != 0) continue;
        *(enum log_level *)field = level;
        return NULL;
    }
    return "not a level; one of debug, info, warn, error, off";
}

/* ---- the table ---- */

/* VALUE(name, placeholder, default, kind, field, help) */
#define VALUE(flag, what, otherwise, kind, member, words)                                                    \
    {                                                                                                        \
        .name = flag, .placeholder = what, .fallback = otherwise, .parse = parse_##kind,                     \
        .field = offsetof(struct config, member), .help = words                                              \
    }
#define SWITCH(flag, member, words) VALUE(flag, NULL, "false", switch, member, words)
#define LIST(flag, what, member, words)                                                                      \
    {                                                                                                        \
        .name = flag, .placeholder = what, .parse = parse_list, .field = offsetof(struct config, member),    \
        .help = words, .repeats = true                                                                       \
    }
#define COMMAND(flag, what, otherwise, kind, member, words)                                                  \
    {                                                                                                        \
        .name = flag, .placeholder = what, .fallback = otherwise, .parse = parse_##kind,                     \
        .field = offsetof(struct config, member), .help = words, .flag_only = true                           \
    }

const struct option option_table[] = {
    LIST("listen", "ADDRESS", listen, "HOST:PORT (port 0: any) or unix:PATH; repeat it for more"),
    VALUE("health-listen", "ADDRESS", "", text, endpoint.health_listen,
          "HOST:PORT for probes: health alone, in plaintext, also beyond this machine"),
    VALUE("port-file", "FILE", "", text, port_file,
          "where to write what it listens on, a line each, once it serves"),
    VALUE("run-id", "NAME", NULL, text, endpoint.run_id, "the training job that is served"),
    VALUE("generation", "N", "0", u64, endpoint.generation,
          "how often the job was started; 0: its trainer tells"),
    VALUE("stage", "N", "0", u32, endpoint.stage, "the stage whose endpoint this is, counted from 0"),
    VALUE("stages", "N", "0", u32, endpoint.stage_count, "how many there are; 0: not said"),
    VALUE("store-bytes", "SIZE", "2g", size, endpoint.store_bytes, "room for tensors"),
    VALUE("metrics-bytes", "SIZE", "256m", size, endpoint.metrics_bytes, "room for metrics and objects"),
    VALUE("pinned-bytes", "SIZE", "0", size, endpoint.pinned_bytes,
          "room for tensors that have gone and are still being pulled; 0: as store-bytes"),
    VALUE("keep-steps", "N", "1024", count, endpoint.keep_steps,
          "steps of metrics and objects kept a channel"),
    VALUE("keep-tensor-steps", "N", "1", count, endpoint.keep_tensor_steps,
          "steps of tensors kept a channel"),
    VALUE("max-lag-steps", "N", "0", u32, endpoint.max_lag_steps,
          "a consumer further behind is dropped; 0: no limit"),
    VALUE("max-wait", "DURATION", "10m", duration, endpoint.max_wait_ms,
          "when a wait without a deadline ends"),
    VALUE("max-connections", "N", "4096", count, max_connections, "connections at once"),
    VALUE("max-connections-address", "N", "512", count, max_connections_address,
          "connections at once of an address; of IPv6 a /64 counts as one"),
    VALUE("max-waiters", "N", "16384", count, endpoint.max_waiters,
          "pulls and words of an exchange that may wait at once"),
    VALUE("max-watches", "N", "256", count, endpoint.max_watches, "watches at once"),
    VALUE("max-channels", "N", "65536", count, endpoint.max_channels, "channels of a generation"),
    VALUE("max-consumers", "N", "1024", count, endpoint.max_consumers, "expected consumers of a channel"),
    VALUE("max-leases", "N", "4096", count, endpoint.max_leases, "leases held at once"),
    VALUE("max-publishes", "N", "1024", count, endpoint.max_publishes, "tensor publishes in progress"),
    VALUE("max-calls", "N", "2048", count, endpoint.max_calls,
          "calls at once of an identity, or of an address where there is none; a pull over a "
          "long link makes two a connection, and one: up to 17"),
    VALUE("max-streams", "N", "4096", count, endpoint.max_streams, "calls at once of a connection"),
    VALUE("header-bytes", "SIZE", "8k", size, endpoint.header_bytes, "headers of a call"),
    VALUE("transport-bytes", "SIZE", "1g", size, endpoint.transport_bytes,
          "memory of all connections for what is on its way"),
    VALUE("handshake-timeout", "DURATION", "10s", duration, endpoint.handshake_timeout_ms,
          "until a connection must speak HTTP/2"),
    VALUE("max-connection-age", "DURATION", "1h", duration, endpoint.max_connection_age_ms,
          "when a connection has to be made anew; 0: never"),
    VALUE("connection-age-grace", "DURATION", "30s", duration, endpoint.connection_age_grace_ms,
          "how long calls of a connection that is too old have to end"),
    VALUE("max-connection-idle", "DURATION", "5m", duration, endpoint.max_connection_idle_ms,
          "when a connection without calls is closed; 0: never"),
    VALUE("publisher-grace", "DURATION", "30s", duration, endpoint.publisher_grace_ms,
          "how long a trainer whose lease broke has to come back"),
    VALUE("drain-grace", "DURATION", "20s", duration, endpoint.drain_grace_ms,
          "how long consumers have to pull what is held once it is to end"),
    SWITCH("publish-on-loopback", endpoint.publish_on_loopback,
           "take publishes on loopback too, not on Unix sockets only"),
    VALUE("tls-cert", "FILE", "", text, endpoint.tls_cert,
          "PEM: the certificate and those up to its CA; alone, key and CAs too; TCP is then TLS"),
    VALUE("tls-key", "FILE", "", text, endpoint.tls_key, "PEM: its private key, without a password"),
    VALUE("tls-ca", "FILE", "", text, endpoint.tls_ca, "PEM: the CAs that clients are checked against"),
    VALUE("access", "FILE", "", text, endpoint.access,
          "who may do what, a line each: IDENTITY RIGHT... [as CONSUMER...]; IDENTITY is "
          "spiffe://DOMAIN/PATH, a "
          "prefix of it that ends at a slash, a DNS name, @unix, @loopback or @plaintext; RIGHT is watch, "
          "pull, "
          "contribute or publish"),
    VALUE("tls-crl", "PATH", "", text, endpoint.tls_crl,
          "PEM: revocation lists, a file or a folder of files"),
    SWITCH("insecure-plaintext", endpoint.insecure_plaintext,
           "allow to listen beyond this machine, in plaintext"),
    SWITCH("reflection", endpoint.reflection,
           "tell what is served (server reflection) beyond this machine too"),
    VALUE("log-format", "FORMAT", "logfmt", log_format, log_format, "logfmt or json"),
    VALUE("log-level", "LEVEL", "info", log_level, log_level, "debug, info, warn, error or off"),
    COMMAND("config", "FILE", "", text, file,
            "lines of KEY = VALUE, keys named as the flags; # begins a comment"),
    COMMAND("print-config", NULL, "false", switch, print_config, "print what all of this comes to, and end"),
    COMMAND("version", NULL, "false", switch, version, "print the version, and end"),
    COMMAND("help", NULL, "false", switch, help, "print this, and end"),
};

const size_t option_count = sizeof option_table / sizeof *option_table;

int option_find(const char *name, size_t size) {
    for (size_t i = 0; i < option_count; i++) {
        if (strlen(option_table[i].name) == size && memcmp(option_table[i].name, name, size) == 0)
            return (int)i;
    }
    return -1;
}

const char *option_variable(const struct option *option, char *text) {
    snprintf(text, OPTION_VARIABLE_MAX, "STAGEWIRE_%s", option->name);
    for (char *at = text; *at; at++) *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
    return text;
}
