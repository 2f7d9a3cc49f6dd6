#include <argp.h>
#include <stdlib.h>
#include <time.h>

#include "client/cli/certs/certs.h"
#include "client/cli/certs/show.h"
#include "client/cli/color.h"
#include "client/cli/memory.h"
#include "client/cli/options.h"

struct show {
    bool json;
    char **paths; /* borrowed */
    size_t count;
};

static error_t parse(int key, char *word, struct argp_state *state) {
    struct show *show = state->input;
    switch (key) {
    case 'j':
        show->json = true;
        return 0;
    case ARGP_KEY_ARG:
        show->paths[show->count++] = word;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "FILE is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option own_options[] = {
    {"json", 'j', NULL, 0, "Print JSON, one object a file", 0},
    {0},
};

static const struct argp argp = {
    .options = own_options,
    .parser = parse,
    .args_doc = "FILE...",
    .doc =
        "What PEM files hold: whose certificates they are, for what and until when; keys, revocation lists "
        "and "
        "requests; and whether keys, certificates and CAs belong together, across all the files named. The "
        "exit status is 0 if all is well, and 10 if anything is a problem.",
};

enum cli_exit cmd_certs_show(int argc, char **argv) {
    struct show show = {.paths = memory_check(calloc((size_t)argc, sizeof *show.paths))};
    options_parse(&argp, argc, argv, 0, &show);

    int64_t now = time(NULL);
    bool is_colored = color_fits(stdout), is_good = true;
    struct cert_file *files = memory_check(calloc(show.count, sizeof *files));
    for (size_t i = 0; i < show.count; i++) pem_read(show.paths[i], &files[i]);
    struct file_review *reviews = review_files(files, show.count, now);
    for (size_t i = 0; i < show.count; i++) {
        if (show.json)
            show_file_json(stdout, &reviews[i], now);
        else
            show_file_text(stdout, &reviews[i], now, is_colored);
        is_good &= review_is_good(&reviews[i]);
    }
    reviews_free(reviews, show.count);
    for (size_t i = 0; i < show.count; i++) cert_file_free(&files[i]);
    free(files);
    free(show.paths);
    return is_good ? EXIT_OK : EXIT_TRUST;
}
