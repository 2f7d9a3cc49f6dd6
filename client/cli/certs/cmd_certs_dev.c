#include <argp.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "client/cli/certs/certs.h"
#include "client/cli/certs/facts.h"
#include "client/cli/certs/throwaway.h"
#include "client/cli/messages.h"
#include "client/cli/options.h"
#include "proto/transport/peer_name.h"

#define FOLDER_DEFAULT       "certs"
#define TRUST_DOMAIN_DEFAULT "stagewire.test"
#define RUN_DEFAULT          "dev"
#define STAGES_MAX           1024
#define HOSTS_MAX            32
#define DAY_S                (24 * 3600)
#define DAYS_DEFAULT         7
#define DAYS_MAX             365
#define CA_DAYS              400 /* longer than any leaf: the CA is used again */
#define WATCHER              "watcher"

enum { KEY_STAGES = 1000, KEY_TRUST_DOMAIN, KEY_DNS, KEY_DAYS, KEY_FORCE };

struct dev {
    const char *who, *folder, *trust_domain, *run;
    const char *hosts[HOSTS_MAX];
    size_t host_count;
    uint32_t stages, days;
    bool replace;
};

static const char *const local_hosts[] = {"localhost", "127.0.0.1", "::1"};

static uint32_t number_from_1(struct argp_state *state, const char *option, const char *word, uint32_t max) {
    uint32_t number = (uint32_t)options_number(state, option, word, max);
    if (number == 0) argp_error(state, "%s 0: must be 1 or more", option);
    return number;
}

static void add_host(struct dev *dev, const char *host, struct argp_state *state) {
    const char *wrong = is_ip_address(host) ? NULL : dns_name_wrong(host, strlen(host));
    if (wrong) argp_error(state, "--dns '%s': %s", host, wrong);
    if (dev->host_count == HOSTS_MAX) argp_error(state, "--dns: at most %d names", HOSTS_MAX);
    dev->hosts[dev->host_count++] = host;
}

static void check_id(const struct dev *dev, struct argp_state *state) {
    char id[PEER_NAME_MAX];
    int size = snprintf(id, sizeof id, "spiffe://%s/stagewire/%s/stage/0", dev->trust_domain, dev->run);
    const char *wrong = size < (int)sizeof id ? spiffe_id_wrong(id, (size_t)size) : "too long";
    if (wrong) argp_error(state, "--trust-domain and --run make '%.200s': %s", id, wrong);
    if (strchr(dev->run, '/'))
        argp_error(state, "--run '%s': a slash would make several parts of it", dev->run);
    if (strchr(dev->trust_domain, '/'))
        argp_error(state, "--trust-domain '%s': has a slash", dev->trust_domain);
}

static error_t parse(int key, char *word, struct argp_state *state) {
    struct dev *dev = state->input;
    switch (key) {
    case 'o':
        dev->folder = word;
        return 0;
    case KEY_STAGES:
        dev->stages = number_from_1(state, "--stages", word, STAGES_MAX);
        return 0;
    case KEY_TRUST_DOMAIN:
        dev->trust_domain = word;
        return 0;
    case 'r':
        dev->run = word;
        return 0;
    case KEY_DNS:
        add_host(dev, word, state);
        return 0;
    case KEY_DAYS:
        dev->days = number_from_1(state, "--days", word, DAYS_MAX);
        return 0;
    case KEY_FORCE:
        dev->replace = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s': there are options only", word);
        return 0;
    case ARGP_KEY_END:
        check_id(dev, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option own_options[] = {
    {"out", 'o', "FOLDER", 0, "Where the files go (" FOLDER_DEFAULT ")", 0},
    {"stages", KEY_STAGES, "N", 0, "How many stages (4)", 0},
    {"run", 'r', "NAME", 0, "The run, as part of each stage's name (" RUN_DEFAULT ")", 0},
    {"trust-domain", KEY_TRUST_DOMAIN, "DOMAIN", 0, "As part of each name (" TRUST_DOMAIN_DEFAULT ")", 0},
    {"dns", KEY_DNS, "NAME", 0,
     "A DNS name or IP address of a stage's machine, besides localhost; may be given several times", 0},
    {"days", KEY_DAYS, "N", 0, "How long the certificates are good (7)", 0},
    {"force", KEY_FORCE, NULL, 0, "Replace the stages' and the watcher's files that are there", 0},
    {0},
};

static const struct argp argp = {
    .options = own_options,
    .parser = parse,
    .doc =
        "Make a throwaway CA, and a certificate for each stage and for one who watches, to try TLS with. A "
        "stage's is named spiffe://DOMAIN/stagewire/NAME/stage/N, the watcher's "
        "spiffe://DOMAIN/stagewire/NAME/watcher. What is there already is kept: run it again with more "
        "stages, and the same CA makes the rest.",
};

static void say_made(const char *path, bool is_kept, const char *what, int64_t until, int64_t now) {
    printf("%-8s %s  %s, until ", is_kept ? "kept" : "made", path, what);
    facts_put_time(stdout, until);
    fputs(" (", stdout);
    facts_put_distance(stdout, until, now);
    fputs(")\n", stdout);
}

static sw_status open_ca(const struct dev *dev, int64_t now, struct throwaway *ret, sw_error *error) {
    char path[PATH_MAX];
    sw_status status = throwaway_open(dev->folder, now, ret, error);
    bool is_kept = status == SW_OK;
    if (status == SW_NOT_FOUND)
        status = throwaway_create(dev->folder, now, now + (int64_t)CA_DAYS * DAY_S, ret, error);
    if (status == SW_OK) status = throwaway_path(ret, "ca", ".pem", path, error);
    if (status == SW_OK) say_made(path, is_kept, "the CA", ret->ca_until, now);
    return status;
}

/* `place` is what follows spiffe://DOMAIN/stagewire/RUN/. */
static sw_status make_leaf(const struct dev *dev, const struct throwaway *at, const char *name,
                           const char *place, bool has_hosts, sw_error *error) {
    char spiffe[PEER_NAME_MAX], path[PATH_MAX];
    snprintf(spiffe, sizeof spiffe, "spiffe://%s/stagewire/%s/%s", dev->trust_domain, dev->run, place);
    int64_t until = at->now + (int64_t)dev->days * DAY_S;
    struct certificate_wish wish = {
        .common_name = name,
        .spiffe = spiffe,
        .hosts = dev->hosts,
        .host_count = has_hosts ? dev->host_count : 0,
        .not_before = at->now - THROWAWAY_BEFORE_S,
        .not_after = until < at->ca_until ? until : at->ca_until,
    };
    bool is_kept;
    sw_status status = throwaway_leaf(at, name, &wish, dev->replace, &is_kept, &until, error);
    if (status == SW_OK) status = throwaway_path(at, name, ".pem", path, error);
    if (status == SW_OK) say_made(path, is_kept, spiffe, until, at->now);
    return status;
}

static sw_status make_leaves(const struct dev *dev, const struct throwaway *at, sw_error *error) {
    for (uint32_t stage = 0; stage < dev->stages; stage++) {
        char name[32], place[32];
        snprintf(name, sizeof name, "stage-%" PRIu32, stage);
        snprintf(place, sizeof place, "stage/%" PRIu32, stage);
        sw_status status = make_leaf(dev, at, name, place, true, error);
        if (status != SW_OK) return status;
    }
    return make_leaf(dev, at, WATCHER, WATCHER, false, error);
}

static void say_how(const struct dev *dev) {
    uint32_t last = dev->stages - 1;
    const char *host = dev->host_count > sizeof local_hosts / sizeof *local_hosts
                           ? dev->hosts[sizeof local_hosts / sizeof *local_hosts]
                           : local_hosts[0];
    printf("\nEach .pem has its .key beside it, for you alone to read. The last stage's endpoint:\n"
           "  stagewired --listen 0.0.0.0:4317 --run-id %s --stage %" PRIu32 " --stages %" PRIu32 " \\\n"
           "    --tls-key %s/stage-%" PRIu32 ".key --tls-cert %s/stage-%" PRIu32 ".pem --tls-ca %s/ca.pem\n",
           dev->run, last, dev->stages, dev->folder, last, dev->folder, last, dev->folder);
    printf("Look at it, and see whether all is well:\n"
           "  export STAGEWIRE_TLS_KEY=%s/" WATCHER ".key STAGEWIRE_TLS_CERT=%s/" WATCHER ".pem "
           "STAGEWIRE_TLS_CA=%s/ca.pem\n"
           "  stagewire doctor %s:4317\n",
           dev->folder, dev->folder, dev->folder, host);
}

enum cli_exit cmd_certs_dev(int argc, char **argv) {
    struct dev dev = {.who = argv[0],
                      .folder = FOLDER_DEFAULT,
                      .trust_domain = TRUST_DOMAIN_DEFAULT,
                      .run = RUN_DEFAULT,
                      .stages = 4,
                      .days = DAYS_DEFAULT,
                      .host_count = sizeof local_hosts / sizeof *local_hosts};
    memcpy(dev.hosts, local_hosts, sizeof local_hosts);
    options_parse(&argp, argc, argv, 0, &dev);

    struct throwaway at;
    sw_error error;
    sw_status status = open_ca(&dev, time(NULL), &at, &error);
    if (status == SW_OK) {
        status = make_leaves(&dev, &at, &error);
        throwaway_close(&at);
    }
    if (status == SW_OK) {
        say_how(&dev);
        return EXIT_OK;
    }
    enum cli_exit code = messages_error(dev.who, &error);
    return code == EXIT_INTERNAL ? code : EXIT_USAGE;
}
