/* What the files hold is taken while it runs, once all of it fits; what doesn't leaves the old and is told.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "proto/transport/tls_source.h"
#include "tests/support/certs.h"
#include "tests/support/test.h"

static char folder[64], paths[3][96];
static struct tls_files files;
static struct cert *root, *leaf;
static struct tls_source *source;
static sw_error error;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static unsigned takes, failures;

static void changed(void *context, bool taken) {
    (void)context;
    pthread_mutex_lock(&lock);
    if (taken)
        takes++;
    else
        failures++;
    pthread_cond_broadcast(&told);
    pthread_mutex_unlock(&lock);
}

static void await(const unsigned *count, unsigned until) {
    pthread_mutex_lock(&lock);
    while (*count < until) pthread_cond_wait(&told, &lock);
    pthread_mutex_unlock(&lock);
}

/* A whole look that finds the same again says nothing; one that finds it broken again does. */
static void await_another_failure(void) {
    pthread_mutex_lock(&lock);
    unsigned before = failures;
    while (failures == before) pthread_cond_wait(&told, &lock);
    pthread_mutex_unlock(&lock);
}

static void open_source(void) {
    const struct tls_source_watch watch = {.look_ms = 10, .changed = changed};
    cr_assert_eq(tls_source_open(&files, TLS_SERVER, &source, &error), SW_OK, "%s", error.message);
    cr_assert_eq(tls_source_watch(source, &watch, &error), SW_OK, "%s", error.message);
}

static void setup(void) {
    static const char *const names[] = {"tls.key", "tls.crt", "ca.crt"};
    strcpy(folder, "/tmp/stagewire-tls-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    for (size_t i = 0; i < 3; i++) snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
    files = (struct tls_files){paths[0], paths[1], paths[2], NULL};
    root = cert_ca("root");
    leaf = cert_leaf(root, "spiffe://job.example/first");
    cert_write_folder(folder, leaf, root);
}

static void teardown(void) {
    tls_source_close(source);
    cert_free(root);
    cert_free(leaf);
    for (size_t i = 0; i < 3; i++) unlink(paths[i]);
    rmdir(folder);
}

TestSuite(tls_source, .init = setup, .fini = teardown, .timeout = 60);

static void expect_name(const char *name) {
    struct tls_identity *identity = tls_source_current(source);
    cr_assert_str_eq(identity->name, name);
    tls_identity_unref(identity);
}

static void expect_state(uint64_t taken, uint64_t failed, const char *words) {
    struct tls_source_state state;
    tls_source_state(source, &state);
    cr_assert_eq(state.taken, taken);
    cr_assert_eq(state.failed, failed);
    cr_assert_eq(state.failed_s != 0, words[0] != 0);
    cr_assert_not_null(strstr(state.error, words), "%s", state.error);
    if (!words[0]) cr_assert_str_eq(state.error, "");
    tls_identity_unref(state.identity);
}

static struct cert *another(const char *name) {
    struct cert *made = cert_leaf(root, name);
    cert_free(leaf);
    leaf = made;
    return made;
}

Test(tls_source, files_that_do_not_fit_do_not_open) {
    cert_write(paths[0], (const char *const[]){NULL});
    cr_assert_eq(tls_source_open(&files, TLS_SERVER, &source, &error), SW_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.message, paths[0]), "%s", error.message);
}

Test(tls_source, files_written_over_are_taken) {
    open_source();
    expect_state(1, 0, "");
    cert_write_folder(folder, another("spiffe://job.example/second"), NULL);
    await(&takes, 1);
    expect_name("spiffe://job.example/second");
    cr_assert_eq(tls_source_generation(source), 2);
}

Test(tls_source, a_link_that_is_exchanged_as_kubernetes_does_is_seen) {
    char link[128], next[128], data[128], keys[3][160];
    snprintf(link, sizeof link, "%s/..data", folder);
    snprintf(next, sizeof next, "%s/..data_tmp", folder);
    cr_assert_eq(symlink(".", link), 0);
    for (size_t i = 0; i < 3; i++) snprintf(keys[i], sizeof keys[i], "%s%s", link, strrchr(paths[i], '/'));
    files = (struct tls_files){keys[0], keys[1], keys[2], NULL};
    open_source();
    strcpy(data, "/tmp/stagewire-tls-XXXXXX");
    cr_assert_not_null(mkdtemp(data));
    cert_write_folder(data, another("spiffe://job.example/second"), root);
    cr_assert_eq(symlink(data, next), 0);
    cr_assert_eq(rename(next, link), 0);
    await(&takes, 1);
    expect_name("spiffe://job.example/second");
    expect_state(2, 0, "");
    unlink(link);
    for (size_t i = 0; i < 3; i++) {
        snprintf(keys[i], sizeof keys[i], "%s%s", data, strrchr(paths[i], '/'));
        unlink(keys[i]);
    }
    rmdir(data);
}

Test(tls_source, half_of_a_pair_leaves_the_old_until_the_other_half_is_there) {
    open_source();
    struct cert *next = another("spiffe://job.example/second");
    char *key = cert_key_pem(next), *pem = cert_pem(next);
    cert_write(paths[0], (const char *const[]){key, NULL});
    await(&failures, 1);
    expect_name("spiffe://job.example/first");
    expect_state(1, 1, "does not belong to the certificate");
    await_another_failure();
    expect_state(1, 1, "does not belong to the certificate");
    cert_write(paths[1], (const char *const[]){pem, NULL});
    await(&takes, 1);
    expect_name("spiffe://job.example/second");
    expect_state(2, 1, "");
    free(key);
    free(pem);
}

Test(tls_source, an_empty_key_file_leaves_the_old) {
    open_source();
    cert_write(paths[0], (const char *const[]){NULL});
    await(&failures, 1);
    expect_name("spiffe://job.example/first");
    expect_state(1, 1, "is empty");
}

Test(tls_source, files_that_are_as_before_again_are_no_error_and_no_change) {
    open_source();
    char *pem = cert_pem(root);
    unlink(paths[2]);
    await(&failures, 1);
    cert_write(paths[2], (const char *const[]){pem, NULL});
    cert_write_folder(folder, another("spiffe://job.example/second"), NULL);
    await(&takes, 1);
    expect_state(2, 1, "");
    free(pem);
}

static void write_list(const char *path, const struct cert *revoked) {
    char *list = cert_crl_pem(root, &revoked, revoked ? 1 : 0, 0, 0);
    cert_write(path, (const char *const[]){list, NULL});
    free(list);
}

static bool is_revoked(const struct cert *peer) {
    struct tls_identity *identity = tls_source_current(source);
    char *pem = cert_pem(peer);
    bool is_cut_off = tls_identity_check_peer(identity, pem, time(NULL), &error) != SW_OK;
    tls_identity_unref(identity);
    free(pem);
    return is_cut_off;
}

Test(tls_source, a_list_that_is_written_over_in_the_folder_of_lists_is_taken) {
    char lists[96], list[128];
    snprintf(lists, sizeof lists, "%s/lists", folder);
    snprintf(list, sizeof list, "%s/root.pem", lists);
    cr_assert_eq(mkdir(lists, 0700), 0);
    write_list(list, NULL);
    files.crl = lists;
    open_source();
    cr_assert_not(is_revoked(leaf));
    struct tls_files_state before = tls_files_state(&files);
    write_list(list, leaf);
    cr_assert_neq(tls_files_state(&files).digest, before.digest, "seen also where it isn't fresh");
    await(&takes, 1);
    cr_assert(is_revoked(leaf));
    unlink(list);
    rmdir(lists);
}
