#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/certs/certs.h"
#include "client/cli/certs/facts.h"
#include "client/cli/certs/pem_read.h"
#include "client/cli/certs/throwaway.h"
#include "client/cli/memory.h"
#include "client/cli/messages.h"
#include "client/cli/options.h"
#include "proto/base/error.h"

struct revoke {
    const char *leaf, *folder;
};

static error_t parse(int key, char *word, struct argp_state *state) {
    struct revoke *revoke = state->input;
    switch (key) {
    case 'o':
        revoke->folder = word;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) argp_error(state, "'%s' is one argument too many", word);
        revoke->leaf = word;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "LEAF is missing: the certificate's file");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option own_options[] = {
    {"out", 'o', "FOLDER", 0, "Where 'stagewire certs dev' put its CA (LEAF's own folder)", 0},
    {0},
};

static const struct argp argp = {
    .options = own_options,
    .parser = parse,
    .args_doc = "LEAF",
    .doc =
        "Put a certificate on the revocation list of the throwaway CA that 'stagewire certs dev' made, and "
        "write the list to crl.pem in the CA's folder.",
};

static sw_status revoke_leaf(const struct revoke *revoke, X509 *certificate, sw_error *error) {
    struct throwaway at;
    char path[PATH_MAX];
    sw_status status = throwaway_open(revoke->folder, time(NULL), &at, error);
    if (status != SW_OK) return status;
    status = throwaway_revoke(&at, certificate, path, error);
    throwaway_close(&at);
    if (status != SW_OK) return status;
    char *subject = facts_subject(X509_get_subject_name(certificate));
    printf("%s is on the list %s; who checks it is told with --tls-crl %s\n", subject, path, path);
    free(subject);
    return SW_OK;
}

static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return memory_check(strdup("."));
    return slash == path ? memory_text("/", 1) : memory_text(path, (size_t)(slash - path));
}

enum cli_exit cmd_certs_revoke(int argc, char **argv) {
    struct revoke revoke = {0};
    options_parse(&argp, argc, argv, 0, &revoke);
    char *own_folder = folder_of(revoke.leaf);
    if (!revoke.folder) revoke.folder = own_folder;

    struct cert_file file;
    sw_error error;
    enum cli_exit code = EXIT_OK;
    pem_read(revoke.leaf, &file);
    struct cert_block *leaf = cert_file_find(&file, PEM_CERTIFICATE);
    if (!leaf) {
        const char *why = file.problem ? file.problem : "holds no certificate";
        code = messages_say(argv[0], EXIT_USAGE, "%s: %s", revoke.leaf, why);
    } else if (revoke_leaf(&revoke, leaf->certificate, &error) != SW_OK) {
        code = messages_error(argv[0], &error);
        if (code != EXIT_INTERNAL) code = EXIT_USAGE;
    }
    cert_file_free(&file);
    free(own_folder);
    return code;
}
