/* model_store: random operations on the store and on a reference that is too simple to be wrong.
 *
 *   model_store                      the ordinary test: seeds, then every mutant of the reference
 *   model_store --seeds N --first S  N seeds from S on, without the mutants
 *   model_store --mutants            the mutants alone
 *   model_store --show S             the sequence of a seed
 *   --length N                       operations of a sequence (120)
 *
 * STAGEWIRE_MODEL_SEEDS sets the number of seeds of the ordinary test. A seed that fails is printed, shrunk
 * to the few operations that matter, with both answers. MALFORMED and CHECKSUM are the decoder's and the
 * endpoint's to say, so no store does. */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#include <stagewire/status.h>

#include "tests/model/play.h"

#ifndef MODEL_SEEDS
#define MODEL_SEEDS 6000
#endif

enum { LENGTH = 120, MUTANT_SEEDS = 2000, FAILURES_SHOWN = 3 };

struct arguments {
    long seeds, first;
    int length;
    bool run_seeds, run_mutants;
};

static struct sequence sequence;
static int passed, failed;

/* Whatever ends the program in the middle of a sequence: the seed is known. */
static void print_seed(void) {
    char text[64];
    int size = snprintf(text, sizeof text, "\nthis was seed %llu\n", (unsigned long long)sequence.seed);
    if (write(STDERR_FILENO, text, (size_t)size) < 0) _exit(2);
}

#ifdef __SANITIZE_ADDRESS__
static void watch_for_crashes(void) {
    __sanitizer_set_death_callback(print_seed);
}
#else
static void report_crash(int signal_number) {
    print_seed();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void watch_for_crashes(void) {
    signal(SIGABRT, report_crash);
    signal(SIGSEGV, report_crash);
}
#endif

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void report_difference(uint64_t seed) {
    printf("seed %llu differs; shrunk, it is\n", (unsigned long long)seed);
    int differs = shrink(&sequence, MUTANT_NONE);
    sequence_print(&sequence, differs + 1, stdout);
    print_last(stdout);
}

/* What the store alone can't say, or never says. */
static bool is_expected_reason(sw_reason reason) {
    return reason != SW_REASON_NONE && reason != SW_REASON_MALFORMED && reason != SW_REASON_CHECKSUM &&
           reason != SW_REASON_ENDPOINT_LOST && reason != SW_REASON_OUT_OF_STEP;
}

static void report_seen(const struct seen *seen) {
    printf("%ld operations, which settled %ld more; answers: OK %ld, open %ld", seen->operations, seen->notes,
           seen->ok, seen->open);
    for (sw_reason reason = 1; reason < SW_REASON_COUNT; reason++)
        if (is_expected_reason(reason)) printf(", %s %ld", sw_reason_name(reason), seen->reasons[reason]);
    printf("\n");
    for (sw_reason reason = 1; reason < SW_REASON_COUNT; reason++) {
        if (!is_expected_reason(reason) || seen->reasons[reason]) continue;
        printf("no answer was ever %s\n", sw_reason_name(reason));
        failed++;
    }
}

static void run_seeds(const struct arguments *arguments) {
    struct seen seen = {0};
    double start = seconds();
    int shown = 0;
    for (long i = 0; i < arguments->seeds && shown < FAILURES_SHOWN; i++) {
        sequence_generate(&sequence, (uint64_t)(arguments->first + i), arguments->length);
        if (play(&sequence, MUTANT_NONE, &seen) == NO_DIFFERENCE) {
            passed++;
            continue;
        }
        failed++;
        shown++;
        report_difference((uint64_t)(arguments->first + i));
    }
    printf("%d seeds from %ld in %.1f s\n", passed, arguments->first, seconds() - start);
    if (!shown) report_seen(&seen);
}

static const char *const mutant_names[MUTANT_COUNT] = {
#define MUTANT_NAME(name, what) [MUTANT_##name] = what,
    MUTANT_MAP(MUTANT_NAME)
#undef MUTANT_NAME
};

static void run_mutant(enum mutant mutant, const struct arguments *arguments) {
    for (long seed = 0; seed < MUTANT_SEEDS; seed++) {
        sequence_generate(&sequence, (uint64_t)seed, arguments->length);
        if (play(&sequence, mutant, NULL) == NO_DIFFERENCE) continue;
        int differs = shrink(&sequence, mutant);
        printf("  %-55s caught by seed %ld, shrunk to %d operations\n", mutant_names[mutant], seed,
               differs + 1);
        passed++;
        return;
    }
    printf("  %-55s NOT CAUGHT by %d seeds\n", mutant_names[mutant], MUTANT_SEEDS);
    failed++;
}

static void run_mutants(const struct arguments *arguments) {
    double start = seconds();
    for (enum mutant mutant = 1; mutant < MUTANT_COUNT; mutant++) run_mutant(mutant, arguments);
    printf("%d mutants in %.1f s\n", MUTANT_COUNT - 1, seconds() - start);
}

static void show(uint64_t seed, int length) {
    sequence_generate(&sequence, seed, length);
    sequence_print(&sequence, sequence.count, stdout);
    exit(0);
}

static long number(const char *text) {
    char *end;
    long value = strtol(text, &end, 10);
    if (*text && !*end && value >= 0) return value;
    fprintf(stderr, "'%s' is no number\n", text);
    exit(2);
}

static struct arguments parse(int count, char **values) {
    static const struct option options[] = {
        {"seeds", required_argument, NULL, 's'},  {"first", required_argument, NULL, 'f'},
        {"length", required_argument, NULL, 'l'}, {"mutants", no_argument, NULL, 'm'},
        {"show", required_argument, NULL, 'o'},   {NULL, 0, NULL, 0},
    };
    const char *seeds = getenv("STAGEWIRE_MODEL_SEEDS");
    struct arguments a = {.seeds = seeds ? number(seeds) : MODEL_SEEDS,
                          .length = LENGTH,
                          .run_seeds = true,
                          .run_mutants = true};
    for (int option; (option = getopt_long(count, values, "", options, NULL)) != -1;) {
        if (option == 's')
            a.seeds = number(optarg), a.run_mutants = false;
        else if (option == 'f')
            a.first = number(optarg), a.run_mutants = false;
        else if (option == 'l')
            a.length = (int)number(optarg);
        else if (option == 'm')
            a.run_seeds = false, a.run_mutants = true;
        else if (option == 'o')
            show((uint64_t)number(optarg), a.length);
        else
            exit(2);
    }
    return a;
}

int main(int count, char **values) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    watch_for_crashes();
    struct arguments arguments = parse(count, values);
    if (arguments.run_seeds) run_seeds(&arguments);
    if (arguments.run_mutants && !failed) run_mutants(&arguments);
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
