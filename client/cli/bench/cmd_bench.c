#include <argp.h>
#include <errno.h>
#include <string.h>

#include <stagewire/interrupt.h>

#include "client/cli/bench/address.h"
#include "client/cli/bench/bench.h"
#include "client/cli/bench/show.h"
#include "client/cli/commands.h"
#include "client/cli/interrupts.h"
#include "client/cli/messages.h"
#include "client/cli/parse.h"
#include "client/cli/sample.h"
#include "client/core/endpoint_name.h"

enum { KEY_DURATION = 1000, KEY_SIZE, KEY_CONNECTIONS, KEY_PUBLISH, KEY_RAW, KEY_SERVE };

#define DURATION_MS       6000
#define SERVE_DURATION_MS 600000
#define SIZE_MIB          128
#define SIZE_MIB_MAX      65536
#define CONNECTIONS       4
#define GRACE_MS          2000 /* an endpoint that is gone for longer is not measured */
#define SHARE_MIN_MS      50

static void check(struct bench *bench, const struct argp_state *state) {
    if (bench->serves && (bench->publishes || bench->raw))
        argp_error(state, "--serve is the other end of --raw: there is no --publish or --raw with it");
    if (!bench->serves && !bench->options.endpoint) argp_error(state, "ENDPOINT is missing");
    if (!bench->duration_ms) bench->duration_ms = bench->serves ? SERVE_DURATION_MS : DURATION_MS;
}

static error_t parse(int key, char *word, struct argp_state *state) {
    struct bench *bench = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &bench->options;
        return 0;
    case KEY_DURATION:
        if (!parse_duration_ms(word, &bench->duration_ms))
            argp_error(state,
                       "--duration '%s': must be a number and a unit (ms, s, m, h), as in 500ms or 30s",
                       word);
        return 0;
    case KEY_SIZE:
        bench->most_bytes = options_number(state, "--size", word, SIZE_MIB_MAX) << 20;
        if (bench->most_bytes == 0) argp_error(state, "--size '%s': must be 1 or more", word);
        return 0;
    case KEY_CONNECTIONS:
        bench->connections = (unsigned)options_number(state, "--connections", word, BENCH_CONNECTIONS_MAX);
        if (bench->connections == 0) argp_error(state, "--connections '%s': must be 1 or more", word);
        return 0;
    case KEY_PUBLISH:
        bench->publishes = true;
        return 0;
    case KEY_RAW:
        bench->raw = word;
        return 0;
    case KEY_SERVE:
        bench->serves = true;
        return 0;
    case 'r':
        bench->options.address.run_id = word;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) argp_error(state, "'%s' is one argument too many", word);
        bench->options.endpoint = word;
        return 0;
    case ARGP_KEY_END:
        check(bench, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option own_options[] = {
    {"duration", KEY_DURATION, "DURATION", 0,
     "How long in all, shared by what is measured (6s); with --serve when it ends (10m)", 0},
    {"size", KEY_SIZE, "MIB", 0, "Pull at most so many MiB of a step at a time (128)", 0},
    {"connections", KEY_CONNECTIONS, "N", 0, "Pull over 1, 2, 4 and so on up to N connections (4)", 0},
    {"publish", KEY_PUBLISH, NULL, 0,
     "Publish tensors of --size into the channel " BENCH_CHANNEL ", and pull those", 0},
    {"raw", KEY_RAW, "HOST:PORT", 0, "Compare with a bare socket to a 'stagewire bench --serve'", 0},
    {"serve", KEY_SERVE, NULL, 0,
     "Be the other end of --raw, at HOST:PORT (127.0.0.1 and any port, which it prints)", 0},
    {"run", 'r', "ID", 0, "The run that the endpoint must serve (any)", 0},
    {0},
};

const struct argp cmd_bench_argp = {
    .options = own_options,
    .parser = parse,
    .args_doc = "ENDPOINT\n--serve [HOST:PORT]",
    .doc =
        "Measure the link to an endpoint: how long a small call takes; how fast tensors are pulled, by size "
        "and by number of connections; how far that is from a bare socket; and which setting to change, with "
        "the reason. It pulls the newest tensors of the channel that holds most, as an observer: nothing "
        "waits for it, nothing is released, and with --publish alone anything is published. For some seconds "
        "it takes what the link gives.\v"
        "Examples:\n"
        "  stagewire bench unix:/run/stagewire.sock\n"
        "  stagewire bench node7:4317 --duration 20s --connections 8 --json\n"
        "  stagewire bench --serve 10.0.0.7:5001                # on node7, then on the other machine:\n"
        "  stagewire bench node7:4317 --raw node7:5001\n"
        "\nThe column 'cores' is what this program kept busy of this machine. Where nothing "
        "comes within a row's share of --duration, it is waited for, as long as --timeout says. What "
        "--publish has published "
        "leaves when it ends; there must be room for "
        "it "
        "beside what the endpoint holds, and where no generation has begun it begins the first. Whoever "
        "reaches "
        "the address of --serve may draw bytes from it, one connection after the other, until it ends; they "
        "mean nothing.",
    .children = (const struct argp_child[]){{&options_common, 0, NULL, 0}, {0}},
};

/* ---- what there is ---- */

static enum cli_exit find_link(struct bench *bench) {
    struct bench_results *results = &bench->results;
    const char *endpoint = bench->options.endpoint;
    struct addrinfo *found;
    results->endpoint = endpoint;
    results->link = BENCH_UNIX;
    results->is_near = endpoint_name_is_unix(endpoint);
    if (results->is_near) return EXIT_OK;
    enum cli_exit code = address_find(bench->options.who, endpoint, &found);
    if (code != EXIT_OK) return code;
    results->link = bench->options.tls_cert ? BENCH_TLS : BENCH_TCP;
    results->is_near = address_is_near(found);
    freeaddrinfo(found);
    return EXIT_OK;
}

static void find_source(struct bench *bench) {
    struct bench_results *results = &bench->results;
    const sw_channel_info *channel = sample_channel(bench->info);
    bench->source = (sw_pull){.latest = true, .no_wait = true, .timeout_ms = bench->options.timeout_ms};
    if (bench->publishes) {
        bench->source.address.channel = BENCH_CHANNEL;
    } else if (channel) {
        bench->source.address = channel->latest;
        bench->source.address.generation = 0; /* the current one, should another begin meanwhile */
    } else {
        results->not_streamed =
            "the endpoint holds none; wait until a stage publishes some, or use --publish "
            "where you may publish";
    }
    results->channel = bench->source.address.channel;
}

static enum cli_exit look(struct bench *bench) {
    sw_client *client;
    sw_error error;
    enum cli_exit code = find_link(bench);
    if (code == EXIT_OK) code = bench_client(bench, 0, &client);
    if (code != EXIT_OK) return code;
    if (sw_client_info(client, bench->options.timeout_ms, &bench->info, &error) != SW_OK)
        return bench_failed(bench, &error);
    find_source(bench);
    return EXIT_OK;
}

/* ---- all of it ---- */

static int64_t share_of(const struct bench *bench) {
    int64_t rows = 1 + bench->publishes + (bench->raw ? 2 : 0);
    if (bench->results.channel) rows += 3;
    for (unsigned count = 2; bench->results.channel && count <= bench->connections; count *= 2) rows++;
    int64_t share = bench->duration_ms / rows;
    return share > SHARE_MIN_MS ? share : SHARE_MIN_MS;
}

static enum cli_exit measure(struct bench *bench) {
    bench->share_ms = share_of(bench);
    if (!bench->options.json) bench_show_heading(stdout, &bench->results);
    enum cli_exit code = bench_calls(bench);
    if (code == EXIT_OK && bench->publishes) code = bench_publish(bench);
    if (code == EXIT_OK && bench->results.channel) code = bench_pulls(bench);
    if (bench_row_of(&bench->results, BENCH_PUBLISH)) bench_tidy(bench);
    if (code == EXIT_OK && bench->raw) code = bench_raw(bench);
    bench->results.is_complete = code == EXIT_OK;
    return code;
}

static void conclude(const struct bench *bench) {
    struct advice advice[ADVICE_MAX];
    struct advice_machine machine = advice_this_machine();
    size_t count = advise(&bench->results, &machine, advice);
    if (bench->options.json)
        bench_show_json(stdout, &bench->results, advice, count);
    else
        bench_show_end(stdout, &bench->results, advice, count);
}

static void close_all(struct bench *bench) {
    sw_interrupt_set(NULL, NULL);
    sw_info_destroy(bench->info);
    for (unsigned i = 0; i < BENCH_CONNECTIONS_MAX; i++) sw_client_close(bench->clients[i]);
}

enum cli_exit cmd_bench(int argc, char **argv) {
    struct bench bench = {
        .options = {.who = argv[0],
                    .timeout_ms = OPTIONS_TIMEOUT_MS,
                    .grace_ms = GRACE_MS,
                    .connections = 1 /* a row says how many there are */},
        .most_bytes = (uint64_t)SIZE_MIB << 20,
        .connections = CONNECTIONS,
    };
    options_parse(&cmd_bench_argp, argc, argv, 0, &bench);
    bench.interrupts = interrupts_open();
    if (bench.interrupts < 0)
        return messages_say(bench.options.who, EXIT_EXHAUSTED, "eventfd: %s", strerror(errno));
    if (bench.serves) return bench_serve(&bench);
    sw_interrupt_set(bench_is_interrupted, &bench);
    enum cli_exit code = look(&bench);
    if (code == EXIT_OK) {
        code = measure(&bench);
        conclude(&bench);
    }
    close_all(&bench);
    return code;
}
