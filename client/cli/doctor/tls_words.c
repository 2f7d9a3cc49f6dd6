#include "client/cli/doctor/tls_words.h"

#include <stdlib.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "client/cli/certs/facts.h"
#include "client/cli/doctor/greeting.h"
#include "client/cli/memory.h"
#include "proto/base/clock.h"

/* ---- the peer's certificate ---- */

static char *when_in_words(const ASN1_TIME *time) {
    char *text;
    size_t size;
    FILE *out = memory_check(open_memstream(&text, &size));
    int64_t seconds = facts_time(time);
    facts_put_time(out, seconds);
    fputs(", ", out);
    facts_put_distance(out, seconds, clock_system.unix_ns(NULL) / 1000000000);
    if (fclose(out) != 0) memory_check(NULL);
    return text;
}

static void say_expired(struct doctor *doctor, const char *whose, X509 *certificate) {
    char *when = when_in_words(X509_get0_notAfter(certificate));
    report_wrong(&doctor->report, "tls", EXIT_TRUST, "expired: the certificate of %s was good until %s",
                 whose, when);
    report_mend(&doctor->report,
                "replace the files of the endpoint's --tls-cert and --tls-key: it takes new ones "
                "by itself; if the date is wrong, set this machine's clock ('timedatectl')");
    free(when);
}

static void say_not_yet(struct doctor *doctor, const char *whose, X509 *certificate) {
    char *when = when_in_words(X509_get0_notBefore(certificate));
    report_wrong(&doctor->report, "tls", EXIT_TRUST,
                 "clock skew: by this machine's clock the certificate of %s is good only from %s", whose,
                 when);
    report_mend(&doctor->report,
                "compare the clocks of this machine, the endpoint's and the CA's ('timedatectl'), "
                "and set the one that is wrong");
    free(when);
}

static void say_unknown_ca(struct doctor *doctor, X509 *certificate) {
    char *issuer = facts_subject(X509_get_issuer_name(certificate));
    char *subject = facts_subject(X509_get_subject_name(certificate));
    const char *ca = doctor->files.ca ? doctor->files.ca : doctor->files.cert;
    report_wrong(&doctor->report, "tls", EXIT_TRUST,
                 "unknown CA: the certificate of %s was issued by %s, and none of the CAs in %s signed it",
                 subject, issuer, ca);
    report_mend(&doctor->report,
                "name the file of that CA with --tls-ca; 'stagewire certs show %s' says whose are "
                "in this one",
                ca);
    free(issuer);
    free(subject);
}

void say_chain_fault(struct doctor *doctor, const struct chain_fault *fault) {
    char *subject = facts_subject(X509_get_subject_name(fault->certificate));
    switch (fault->number) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        say_expired(doctor, subject, fault->certificate);
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        say_not_yet(doctor, subject, fault->certificate);
        break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        say_unknown_ca(doctor, fault->certificate);
        break;
    case X509_V_ERR_INVALID_PURPOSE:
        report_wrong(&doctor->report, "tls", EXIT_TRUST, "the certificate of %s may not stand for a server",
                     subject);
        report_mend(&doctor->report, "the endpoint's --tls-cert needs serverAuth in its extended key usage");
        break;
    default:
        report_wrong(&doctor->report, "tls", EXIT_TRUST, "the certificate of %s: %s", subject,
                     X509_verify_cert_error_string(fault->number));
    }
    free(subject);
}

/* ---- the own certificate ---- */

static bool is_issued_by(SSL *ssl, const X509_NAME *name) {
    STACK_OF(X509) *chain = NULL;
    if (X509_NAME_cmp(name, X509_get_issuer_name(SSL_get_certificate(ssl))) == 0) return true;
    SSL_get0_chain_certs(ssl, &chain);
    for (int i = 0; i < sk_X509_num(chain); i++)
        if (X509_NAME_cmp(name, X509_get_issuer_name(sk_X509_value(chain, i))) == 0) return true;
    return false;
}

/* The CAs that the peer names, unless the own certificate comes from one of them. */
static char *other_cas(struct doctor *doctor) {
    const STACK_OF(X509_NAME) *names = SSL_get0_peer_CA_list(doctor->wire.ssl);
    if (!SSL_get_certificate(doctor->wire.ssl) || sk_X509_NAME_num(names) <= 0) return NULL;
    char *text;
    size_t size;
    FILE *out = memory_check(open_memstream(&text, &size));
    bool is_among = false;
    for (int i = 0; i < sk_X509_NAME_num(names); i++) {
        const X509_NAME *name = sk_X509_NAME_value(names, i);
        is_among |= is_issued_by(doctor->wire.ssl, name);
        char *subject = facts_subject(name);
        fprintf(out, "%s%s", i ? ", " : "", subject);
        free(subject);
    }
    if (fclose(out) != 0) memory_check(NULL);
    if (!is_among) return text;
    free(text);
    return NULL;
}

void say_certificate_refused(struct doctor *doctor, int alert) {
    struct report *report = &doctor->report;
    char *cas = other_cas(doctor);
    if (!SSL_get_certificate(doctor->wire.ssl)) {
        report_wrong(report, "tls", EXIT_TRUST,
                     "no client certificate: the endpoint asks for one, and none was shown");
        report_mend(report,
                    "name your own with --tls-cert and --tls-key (or STAGEWIRE_TLS_CERT, STAGEWIRE_TLS_KEY)");
    } else if (cas) {
        report_wrong(
            report, "accepted", EXIT_TRUST,
            "unknown CA: the endpoint refused this side's certificate; it takes those of %s, and this one "
            "is of %s",
            cas, doctor->identity->issuer);
        report_mend(report,
                    "add this side's CA to the endpoint's --tls-ca file, or show a certificate of one of "
                    "those CAs");
    } else {
        report_wrong(report, "accepted", EXIT_TRUST, "the endpoint refused this side's certificate (%s)%s%s",
                     doctor->identity->name, alert >= 0 ? ": " : " and did not say why",
                     alert >= 0 ? SSL_alert_desc_string_long(alert) : "");
        report_mend(report,
                    "the endpoint's log says why ('Handshake failed'); is its --tls-ca file the one that has "
                    "this side's CA, and is its clock right?");
    }
    free(cas);
}

/* ---- the handshake ---- */

static void say_plaintext_peer(struct doctor *doctor, enum speaker speaker) {
    struct report *report = &doctor->report;
    report_wrong(report, "tls", EXIT_TRUST, "the peer speaks %s, not TLS", speaker_name(speaker));
    if (speaker == SPEAKS_HTTP2)
        report_mend(report,
                    "give stagewired its certificates (--tls-cert, --tls-key, --tls-ca); or, if plaintext is "
                    "meant, leave them out here");
    else
        report_mend(report, "is %s the port of a stagewire endpoint?", doctor->port);
}

void say_handshake_failed(struct doctor *doctor, enum wire_end end) {
    struct report *report = &doctor->report;
    int alert = wire_alert();
    char why[256];
    snprintf(why, sizeof why, "%s", wire_why(&doctor->wire));
    enum speaker speaker;
    bool is_silent;
    if (end == WIRE_TIMED_OUT) {
        report_wrong(report, "tls", EXIT_UNREACHABLE, "the peer took the connection and says nothing to TLS");
        report_mend(
            report,
            "is that process stopped or stuck, or is something in between (a proxy, a port forward)?");
        return;
    }
    if (alert < 0 && greeting_listen(doctor, &speaker, &is_silent) && speaker != SPEAKS_TLS) {
        say_plaintext_peer(doctor, speaker);
    } else if (alert == SSL_AD_NO_APPLICATION_PROTOCOL) {
        report_wrong(report, "alpn", EXIT_UNREACHABLE, "the peer speaks TLS and no HTTP/2");
        report_mend(report, "is %s the port of a stagewire endpoint, and not of a web server?", doctor->port);
    } else if (alert == SSL_AD_PROTOCOL_VERSION) {
        report_wrong(report, "tls", EXIT_TRUST, "the peer has no version of TLS in common with this side");
        report_mend(report, "stagewire speaks TLS 1.3; what is in between must, too");
    } else if (end == WIRE_CLOSED) {
        report_wrong(report, "tls", EXIT_UNREACHABLE, "the peer closed the connection during the handshake");
        report_mend(report,
                    "it may have too many connections (--max-connections), or something in between expects "
                    "something else; see the endpoint's log");
    } else {
        report_wrong(report, "tls", EXIT_TRUST, "the handshake failed: %s", why);
        report_mend(report, "see the endpoint's log for its side of it");
    }
}
