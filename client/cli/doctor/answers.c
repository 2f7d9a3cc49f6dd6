#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/doctor/doctor.h"
#include "client/cli/memory.h"
#include "client/cli/readiness.h"
#include "client/cli/round_trip.h"

#define ROUND_TRIPS 7

static enum cli_exit exit_of(const sw_error *error) {
    if (error->code == SW_UNAUTHENTICATED) return EXIT_TRUST;
    return error->code == SW_DEADLINE_EXCEEDED ? EXIT_UNREACHABLE : exit_code_of(error->code);
}

/* What an answer of the endpoint, or none, means for whoever asked. */
static void say_call_failed(struct doctor *doctor, const char *check, const sw_error *error) {
    struct report *report = &doctor->report;
    report_wrong(report, check, exit_of(error), "%s", error->message);
    if (error->code == SW_PERMISSION_DENIED)
        report_mend(report, "give this identity the right in the endpoint's access table (--access)");
    else if (error->code == SW_UNAUTHENTICATED)
        report_mend(report, "show a certificate that is good: 'stagewire certs show' says what this one is");
    else if (error->code == SW_DEADLINE_EXCEEDED)
        report_mend(report, "the endpoint took the call and does not answer: is it stopped or overloaded?");
}

/* ---- health ---- */

static void say_health(struct doctor *doctor, bool is_ready) {
    struct report *report = &doctor->report;
    if (is_ready) {
        report_ok(report, "health", "serving");
        return;
    }
    report_wrong(report, "health", EXIT_UNREACHABLE, "the endpoint says that it is not serving");
    report_mend(report,
                "it is starting or going down: see its log; wait for it or for the one that follows it");
}

bool check_health(struct doctor *doctor) {
    bool is_ready;
    sw_error error;
    sw_status answer = readiness_ask(doctor->client, doctor_left_ms(doctor), &is_ready, &error);
    if (answer == SW_OK) {
        say_health(doctor, is_ready);
    } else if (answer == SW_UNIMPLEMENTED) {
        report_note(&doctor->report, "health",
                    "the endpoint knows nothing of grpc.health.v1: it is an old one, or none");
    } else {
        say_call_failed(doctor, "health", &error);
        return false;
    }
    return true;
}

/* ---- info ---- */

static void put_features(FILE *out, const sw_info *info) {
    for (uint32_t i = 0; i < info->feature_count; i++) fprintf(out, "%s%s", i ? ", " : "", info->features[i]);
}

bool check_version(struct doctor *doctor) {
    sw_error error;
    if (sw_client_info(doctor->client, doctor_left_ms(doctor), &doctor->info, &error) != SW_OK) {
        say_call_failed(doctor, "version", &error);
        if (error.code == SW_UNIMPLEMENTED)
            report_mend(&doctor->report, "is %s a stagewire endpoint?", doctor->options.endpoint);
        return false;
    }
    char *features;
    size_t size;
    FILE *out = memory_check(open_memstream(&features, &size));
    put_features(out, doctor->info);
    if (fclose(out) != 0) memory_check(NULL);
    if (strcmp(doctor->info->version, STAGEWIRE_VERSION) == 0)
        report_ok(&doctor->report, "version", "%s, as this command; features: %s", STAGEWIRE_VERSION,
                  features);
    else
        report_note(&doctor->report, "version", "%s, and this command is %s; features: %s",
                    doctor->info->version, STAGEWIRE_VERSION, features);
    free(features);
    return true;
}

static uint32_t lost_leases(const sw_info *info, uint32_t *ret_first) {
    uint32_t count = 0;
    for (uint32_t i = info->lease_count; i-- > 0;) {
        if (!info->leases[i].lost) continue;
        count++;
        *ret_first = info->leases[i].stage;
    }
    return count;
}

bool check_run(struct doctor *doctor) {
    struct report *report = &doctor->report;
    const sw_info *info = doctor->info;
    const char *wanted = doctor->options.address.run_id;
    uint32_t stage = 0, lost = lost_leases(info, &stage);
    if (wanted && strcmp(wanted, info->run_id) != 0) {
        report_wrong(report, "run", EXIT_REFUSED, "the endpoint serves the run %s, not %s", info->run_id,
                     wanted);
        report_mend(report, "name an endpoint of that run; or start stagewired with --run-id %s", wanted);
    } else if (info->generation == 0) {
        report_note(report, "run", "%s; no generation has begun: no trainer has attached or published yet",
                    info->run_id);
    } else if (lost > 0) {
        report_note(report, "run",
                    "%s, generation %" PRIu64 "; %" PRIu32 " stages are lost, the first is stage %" PRIu32,
                    info->run_id, info->generation, lost, stage);
        report_mend(report, "their trainers are gone: start them again, or the job");
    } else {
        report_ok(report, "run", "%s, generation %" PRIu64, info->run_id, info->generation);
    }
    return true;
}

static char *words_of(const char *const *words, uint32_t count) {
    char *text;
    size_t size;
    FILE *out = memory_check(open_memstream(&text, &size));
    for (uint32_t i = 0; i < count; i++) fprintf(out, "%s%s", i ? ", " : "", words[i]);
    if (fclose(out) != 0) memory_check(NULL);
    return text;
}

static bool may(const sw_info *info, const char *right) {
    for (uint32_t i = 0; i < info->right_count; i++)
        if (strcmp(info->rights[i], right) == 0) return true;
    return false;
}

bool check_rights(struct doctor *doctor) {
    struct report *report = &doctor->report;
    const sw_info *info = doctor->info;
    if (!info->caller || !*info->caller) {
        report_skipped(report, "rights", "the endpoint does not say: it is an older one");
        return true;
    }
    char *rights = words_of(info->rights, info->right_count);
    char *ids = words_of(info->consumer_ids, info->consumer_id_count);
    const char *as = *ids ? ", as " : " as an observer";
    if (may(info, "pull")) {
        report_ok(report, "rights", "%s may %s; it pulls%s%s", info->caller, rights, as, ids);
    } else {
        report_note(report, "rights", "%s may %s, and not pull", info->caller, *rights ? rights : "nothing");
        report_mend(report, "if it should: a line '%s pull' in the file of the endpoint's --access",
                    info->caller);
    }
    free(rights);
    free(ids);
    return true;
}

static void pass_on(struct doctor *doctor, const char *warning) {
    report_note(&doctor->report, "warnings", "%s", warning);
    report_mend(&doctor->report, "the endpoint goes on with what it had; correct that file on its machine");
}

/* What the endpoint itself complains of. */
bool check_warnings(struct doctor *doctor) {
    const sw_info *info = doctor->info;
    const char *not_taken = info->security.error;
    for (uint32_t i = 0; i < info->warning_count; i++) pass_on(doctor, info->warnings[i]);
    if (not_taken[0]) pass_on(doctor, not_taken);
    if (info->warning_count == 0 && !not_taken[0])
        report_ok(&doctor->report, "warnings", "the endpoint has none about its own files");
    return true;
}

/* ---- how fast ---- */

static int by_size(const void *a, const void *b) {
    int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

bool check_round_trip(struct doctor *doctor) {
    int64_t took[ROUND_TRIPS];
    for (size_t i = 0; i < ROUND_TRIPS; i++) {
        sw_error error;
        if (round_trip(doctor->client, doctor_left_ms(doctor), &took[i], &error) == SW_OK) continue;
        say_call_failed(doctor, "round-trip", &error);
        return true;
    }
    char fastest[DOCTOR_DURATION_BYTES], median[DOCTOR_DURATION_BYTES];
    qsort(took, ROUND_TRIPS, sizeof *took, by_size);
    report_ok(&doctor->report, "round-trip", "a call takes %s; the fastest of %d took %s",
              doctor_duration(took[ROUND_TRIPS / 2], median), ROUND_TRIPS, doctor_duration(took[0], fastest));
    return true;
}
