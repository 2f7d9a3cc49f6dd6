#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>

#include "client/cli/certs/facts.h"
#include "client/cli/doctor/tls_words.h"
#include "client/cli/memory.h"
#include "proto/base/clock.h"
#include "proto/transport/peer_identity.h"

#define SOON_S (24 * 3600)

static const unsigned char alpn[] = "\2h2";

static int64_t unix_s(void) {
    return clock_system.unix_ns(NULL) / 1000000000;
}

/* "until 2026-12-07 22:10 UTC (in 6 days)" */
static char *until_in_words(int64_t time) {
    char *text;
    size_t size;
    FILE *out = memory_check(open_memstream(&text, &size));
    fputs("until ", out);
    facts_put_time(out, time);
    fputs(" (", out);
    facts_put_distance(out, time, unix_s());
    fputc(')', out);
    if (fclose(out) != 0) memory_check(NULL);
    return text;
}

/* ---- own files ---- */

/* The client says what is wrong with what it is given; it connects later. */
static sw_status open_client(struct doctor *doctor, sw_error *error) {
    sw_client_options client;
    options_of_client(&doctor->options, &client);
    client.run_id = NULL; /* check_run tells a wrong one */
    return sw_client_open(doctor->options.endpoint, &client, &doctor->client, error);
}

static void say_own(struct doctor *doctor) {
    const struct tls_identity *own = doctor->identity;
    char *until = until_in_words(own->not_after_s);
    if (own->not_after_s - unix_s() > SOON_S) {
        report_ok(&doctor->report, "files", "this side is %s, by %s, %s", own->name, own->issuer, until);
    } else {
        report_note(&doctor->report, "files", "this side is %s, by %s, %s", own->name, own->issuer, until);
        report_mend(&doctor->report, "have new files in place of %s soon", doctor->files.cert);
    }
    free(until);
}

bool check_files(struct doctor *doctor) {
    struct tls_files files;
    sw_error error;
    sw_status status = open_client(doctor, &error);
    bool is_plaintext = doctor->is_unix || !tls_files_given(&doctor->files);
    if (status == SW_OK && is_plaintext) return true;
    if (status == SW_OK) status = tls_files_check(&doctor->files, &files, &error);
    if (status == SW_OK) status = tls_identity_load(&files, TLS_CLIENT, unix_s(), &doctor->identity, &error);
    if (status != SW_OK) {
        report_wrong(&doctor->report, "files", EXIT_TRUST, "%s", error.message);
        report_mend(&doctor->report,
                    "'stagewire certs show FILE...' says what each file holds, and what fits together");
        return false;
    }
    say_own(doctor);
    return true;
}

/* ---- the handshake ---- */

static int note_question(SSL *ssl, void *context) {
    (void)ssl;
    struct doctor *doctor = context;
    doctor->was_asked = true;
    return 1;
}

static bool use_chain(SSL_CTX *context, const char *pem) {
    BIO *in = memory_check(BIO_new_mem_buf(pem, -1));
    X509 *leaf = PEM_read_bio_X509(in, NULL, NULL, NULL), *above;
    bool is_taken = leaf && SSL_CTX_use_certificate(context, leaf) == 1;
    X509_free(leaf);
    while (is_taken && (above = PEM_read_bio_X509(in, NULL, NULL, NULL)))
        is_taken = SSL_CTX_add0_chain_cert(context, above) == 1;
    BIO_free(in);
    ERR_clear_error();
    return is_taken;
}

static bool use_key(SSL_CTX *context, const char *pem) {
    BIO *in = memory_check(BIO_new_mem_buf(pem, -1));
    EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, NULL, NULL);
    bool is_taken = key && SSL_CTX_use_PrivateKey(context, key) == 1;
    EVP_PKEY_free(key);
    BIO_free(in);
    return is_taken;
}

/* Nothing is verified on the way: the whole chain is examined afterwards, so that the reason can be told. */
static SSL *prepare(struct doctor *doctor) {
    SSL_CTX *context = memory_check(SSL_CTX_new(TLS_client_method()));
    SSL *ssl = NULL;
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_cert_cb(context, note_question, doctor);
    if (use_chain(context, doctor->identity->chain_pem) && use_key(context, doctor->identity->key_pem) &&
        SSL_CTX_set_alpn_protos(context, alpn, sizeof alpn - 1) == 0)
        ssl = memory_check(SSL_new(context));
    SSL_CTX_free(context);
    if (ssl && !is_ip_address(doctor->host)) SSL_set_tlsext_host_name(ssl, doctor->host);
    return ssl;
}

/* ---- the peer's chain ---- */

static int keep_first_fault(int is_fine, X509_STORE_CTX *context) {
    struct chain_fault *fault = X509_STORE_CTX_get_app_data(context);
    if (!is_fine && fault->number == X509_V_OK) {
        fault->number = X509_STORE_CTX_get_error(context);
        fault->depth = X509_STORE_CTX_get_error_depth(context);
        fault->certificate = X509_STORE_CTX_get_current_cert(context);
    }
    return 1;
}

static X509_STORE *load_roots(const char *pem) {
    X509_STORE *roots = memory_check(X509_STORE_new());
    BIO *in = memory_check(BIO_new_mem_buf(pem, -1));
    X509 *root;
    while ((root = PEM_read_bio_X509(in, NULL, NULL, NULL))) {
        X509_STORE_add_cert(roots, root);
        X509_free(root);
    }
    BIO_free(in);
    ERR_clear_error();
    return roots;
}

static bool is_chain_good(struct doctor *doctor) {
    X509 *leaf = SSL_get0_peer_certificate(doctor->wire.ssl);
    struct chain_fault fault = {.number = X509_V_OK, .certificate = leaf};
    X509_STORE *roots = load_roots(doctor->identity->roots_pem);
    X509_STORE_CTX *context = memory_check(X509_STORE_CTX_new());
    X509_STORE_CTX_init(context, roots, leaf, SSL_get_peer_cert_chain(doctor->wire.ssl));
    X509_STORE_CTX_set_default(context, "ssl_server");
    X509_STORE_CTX_set_app_data(context, &fault);
    X509_STORE_CTX_set_verify_cb(context, keep_first_fault);
    X509_verify_cert(context);
    if (fault.number != X509_V_OK) say_chain_fault(doctor, &fault);
    X509_STORE_CTX_free(context);
    X509_STORE_free(roots);
    return fault.number == X509_V_OK;
}

/* ---- its names ---- */

static size_t pick(const struct fact_names *names, enum fact_name_kind kind, enum fact_name_kind also,
                   const char **ret) {
    size_t count = 0;
    for (size_t i = 0; i < names->count; i++)
        if (names->names[i].kind == kind || names->names[i].kind == also) ret[count++] = names->names[i].text;
    return count;
}

static bool is_name_right(struct doctor *doctor, const struct fact_names *all) {
    const char **texts = memory_check(calloc(3 * (all->count + 1), sizeof *texts));
    const char **dns = texts + all->count + 1, **ips = dns + all->count + 1;
    struct peer_names names = {.uris = texts, .dns = dns, .ips = ips};
    names.uri_count = pick(all, NAME_SPIFFE, NAME_URI, texts);
    names.dns_count = pick(all, NAME_DNS, NAME_DNS, dns);
    names.ip_count = pick(all, NAME_IP, NAME_IP, ips);
    const char *asked = doctor->options.peer_identity;
    sw_error error;
    sw_status status = peer_names_check(&names, asked && *asked ? asked : doctor->host, &error);
    free(texts);
    if (status == SW_OK) return true;
    report_wrong(&doctor->report, "tls", EXIT_TRUST, "%s", error.message);
    if (names.uri_count == 1 && !asked)
        for (size_t i = 0; i < all->count; i++)
            if (all->names[i].kind == NAME_SPIFFE)
                report_mend(&doctor->report, "if it is meant: --peer-identity %s", all->names[i].text);
    return false;
}

static bool is_still_trusted(struct doctor *doctor, X509 *leaf) {
    BIO *out = memory_check(BIO_new(BIO_s_mem()));
    char *data;
    PEM_write_bio_X509(out, leaf);
    long size = BIO_get_mem_data(out, &data);
    char *pem = memory_text(data, (size_t)size);
    BIO_free(out);
    sw_error error;
    sw_status status = tls_identity_check_peer(doctor->identity, pem, unix_s(), &error);
    free(pem);
    if (status == SW_OK) return true;
    report_wrong(&doctor->report, "tls", EXIT_TRUST, "%s", error.message);
    report_mend(&doctor->report,
                "give the endpoint a certificate that is not on the list %s, or a current list",
                doctor->files.crl);
    return false;
}

static void say_trusted(struct doctor *doctor, X509 *leaf, const struct fact_names *names) {
    char *whose;
    size_t size;
    FILE *out = memory_check(open_memstream(&whose, &size));
    facts_put_names(out, names);
    if (fclose(out) != 0) memory_check(NULL);
    const char *version = SSL_get_version(doctor->wire.ssl);
    int64_t until_s = facts_time(X509_get0_notAfter(leaf));
    char *until = until_in_words(until_s);
    if (until_s - unix_s() > SOON_S) {
        report_ok(&doctor->report, "tls", "%s; the endpoint is %s, %s", version, whose, until);
    } else {
        report_note(&doctor->report, "tls", "%s; the endpoint is %s, %s", version, whose, until);
        report_mend(&doctor->report, "replace the files of the endpoint's --tls-cert and --tls-key soon");
    }
    free(until);
    free(whose);
}

static bool is_peer_good(struct doctor *doctor) {
    X509 *leaf = SSL_get0_peer_certificate(doctor->wire.ssl);
    struct fact_names names = facts_names(leaf);
    bool is_good = is_chain_good(doctor) && is_name_right(doctor, &names) && is_still_trusted(doctor, leaf);
    if (is_good) say_trusted(doctor, leaf, &names);
    facts_names_free(&names);
    return is_good;
}

static bool is_alpn_good(struct doctor *doctor) {
    const unsigned char *chosen;
    unsigned size;
    SSL_get0_alpn_selected(doctor->wire.ssl, &chosen, &size);
    if (size == alpn[0] && memcmp(chosen, alpn + 1, size) == 0) {
        report_ok(&doctor->report, "alpn", "h2");
        return true;
    }
    report_wrong(&doctor->report, "alpn", EXIT_UNREACHABLE, "the peer did not agree to h2, which gRPC needs");
    report_mend(&doctor->report,
                "is this a stagewire endpoint? A proxy that ends TLS in between must offer h2");
    return false;
}

bool check_tls(struct doctor *doctor) {
    if (!doctor->identity) return true; /* check_http2 says whether that was right */
    SSL *ssl = prepare(doctor);
    if (!ssl) {
        report_wrong(&doctor->report, "tls", EXIT_TRUST, "OpenSSL does not take this side's certificate: %s",
                     wire_why(&doctor->wire));
        return false;
    }
    enum wire_end end = wire_handshake(&doctor->wire, ssl, doctor_deadline(doctor));
    if (end == WIRE_OK) return is_peer_good(doctor) && is_alpn_good(doctor);
    if (doctor->was_asked && end != WIRE_TIMED_OUT)
        say_certificate_refused(doctor, wire_alert());
    else
        say_handshake_failed(doctor, end);
    return false;
}
