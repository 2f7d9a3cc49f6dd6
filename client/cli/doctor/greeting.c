#include "client/cli/doctor/greeting.h"

#include <string.h>

#include "client/cli/doctor/h2.h"
#include "client/cli/doctor/tls_words.h"
#include "client/cli/stopwatch.h"

static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

bool greeting_listen(struct doctor *doctor, enum speaker *ret_speaker, bool *ret_is_silent) {
    struct wire wire;
    char words[FIRST_WORDS_MAX];
    size_t size = 0;
    enum wire_end end = doctor_connect_again(doctor, &wire);
    if (end == WIRE_OK) end = wire_write(&wire, hello, sizeof hello - 1, doctor_deadline(doctor));
    if (end == WIRE_OK) end = wire_peek(&wire, words, sizeof words, &size, doctor_deadline(doctor));
    wire_close(&wire);
    *ret_is_silent = end == WIRE_TIMED_OUT;
    if (end != WIRE_OK) return false;
    *ret_speaker = first_words(words, size);
    return true;
}

/* ---- in plaintext ---- */

static void say_plaintext(struct doctor *doctor) {
    if (doctor->is_unix) {
        report_skipped(&doctor->report, "tls", "a Unix socket needs none: its file's rights guard it");
    } else if (doctor->is_near) {
        report_skipped(&doctor->report, "tls", "no certificates were named; it is on this machine");
    } else {
        report_note(&doctor->report, "tls",
                    "no certificates were named, so it is plaintext: all on the way can read and change it");
        report_mend(&doctor->report, "--tls-cert, --tls-key and --tls-ca, here and for stagewired");
    }
}

static bool is_tls_peer(struct doctor *doctor) {
    struct wire wire;
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = context ? SSL_new(context) : NULL;
    SSL_CTX_free(context);
    if (!ssl) return false;
    static const unsigned char alpn[] = "\2h2";
    SSL_set_alpn_protos(ssl, alpn, sizeof alpn - 1);
    bool spoke = false;
    if (doctor_connect_again(doctor, &wire) == WIRE_OK) {
        enum wire_end end = wire_handshake(&wire, ssl, doctor_deadline(doctor));
        spoke = end == WIRE_OK || SSL_get0_peer_certificate(ssl) || wire_alert() >= 0;
    } else {
        SSL_free(ssl);
    }
    wire_close(&wire);
    return spoke;
}

static void say_tls_peer(struct doctor *doctor) {
    report_wrong(
        &doctor->report, "tls", EXIT_TRUST,
        "no client certificate: the peer speaks TLS, and this side has no certificates to speak it with");
    report_mend(&doctor->report,
                "name them with --tls-cert, --tls-key and --tls-ca (or STAGEWIRE_TLS_CERT, "
                "STAGEWIRE_TLS_KEY, STAGEWIRE_TLS_CA); 'stagewire certs dev' makes some to try");
}

static void say_stranger(struct doctor *doctor, enum speaker speaker) {
    report_wrong(&doctor->report, "http2", EXIT_UNREACHABLE, "the peer speaks %s, not HTTP/2",
                 speaker_name(speaker));
    report_mend(&doctor->report, "is %s a stagewire endpoint, and this its port?", doctor->options.endpoint);
}

static void say_plain_failed(struct doctor *doctor, enum h2_end end, enum wire_end on_wire) {
    struct report *report = &doctor->report;
    enum speaker speaker;
    bool is_silent = end == H2_WIRE && on_wire == WIRE_TIMED_OUT;
    bool spoke = !is_silent && greeting_listen(doctor, &speaker, &is_silent);
    if (is_silent) {
        report_wrong(report, "http2", EXIT_UNREACHABLE, "the peer took the connection and says nothing");
        report_mend(report, "is that process stopped or stuck, or is it no stagewire endpoint?");
    } else if (spoke && speaker != SPEAKS_TLS && speaker != SPEAKS_HTTP2) {
        say_stranger(doctor, speaker);
    } else if ((spoke && speaker == SPEAKS_TLS) || is_tls_peer(doctor)) {
        say_tls_peer(doctor);
    } else if (end == H2_SENT_AWAY) {
        report_wrong(report, "http2", EXIT_UNREACHABLE,
                     "the peer speaks HTTP/2 and sends new connections away");
        report_mend(report, "it may be going down, or have too many connections; see its log");
    } else {
        report_wrong(report, "http2", EXIT_UNREACHABLE, "the peer closes the connection without a word");
        report_mend(report,
                    "it may have too many connections (--max-connections), or be no stagewire endpoint; see "
                    "its log");
    }
}

/* ---- in TLS ---- */

static void say_tls_failed(struct doctor *doctor, enum h2_end end, enum wire_end on_wire) {
    struct report *report = &doctor->report;
    if (end == H2_WIRE && on_wire == WIRE_TIMED_OUT) {
        report_wrong(report, "http2", EXIT_UNREACHABLE,
                     "the peer ended the handshake and says nothing since");
        report_mend(report, "is that process stopped or stuck, or is it no stagewire endpoint?");
    } else if (end == H2_WIRE && doctor->was_asked) {
        say_certificate_refused(doctor, wire_alert());
    } else if (end == H2_SENT_AWAY) {
        report_wrong(report, "http2", EXIT_UNREACHABLE, "the peer sends new connections away");
        report_mend(report, "it may be going down, or have too many connections; see its log");
    } else {
        report_wrong(report, "http2", EXIT_UNREACHABLE, "the peer %s",
                     end == H2_STRANGE ? "speaks no HTTP/2 in TLS"
                                       : "closes the connection after the handshake");
        report_mend(report, "is %s a stagewire endpoint, and this its port?", doctor->options.endpoint);
    }
}

bool check_http2(struct doctor *doctor) {
    enum wire_end on_wire = WIRE_OK;
    int64_t begun = stopwatch_ns();
    enum h2_end end = h2_greet(&doctor->wire, &on_wire, doctor_deadline(doctor));
    if (end != H2_FINE) {
        if (doctor->wire.ssl)
            say_tls_failed(doctor, end, on_wire);
        else
            say_plain_failed(doctor, end, on_wire);
        return false;
    }
    char took[DOCTOR_DURATION_BYTES];
    doctor_duration(stopwatch_ns() - begun, took);
    if (doctor->wire.ssl && doctor->was_asked)
        report_ok(&doctor->report, "accepted", "the endpoint took this side's certificate");
    else if (!doctor->wire.ssl)
        say_plaintext(doctor);
    else
        report_note(&doctor->report, "accepted",
                    "the endpoint did not ask who this is, so anybody may connect: it is "
                    "no stagewired, or something in between ends TLS");
    report_ok(&doctor->report, "http2", "the peer said hello in %s", took);
    return true;
}

bool check_keepalive(struct doctor *doctor) {
    enum wire_end on_wire = WIRE_OK;
    int64_t begun = stopwatch_ns();
    enum h2_end end = h2_ping(&doctor->wire, &on_wire, doctor_deadline(doctor));
    char took[DOCTOR_DURATION_BYTES];
    doctor_duration(stopwatch_ns() - begun, took);
    if (end == H2_FINE) {
        report_ok(&doctor->report, "keepalive", "a ping came back after %s", took);
    } else {
        report_wrong(&doctor->report, "keepalive", EXIT_UNREACHABLE, "a ping did not come back: %s",
                     end == H2_SENT_AWAY         ? "the peer sent this side away"
                     : on_wire == WIRE_TIMED_OUT ? "no answer in time"
                                                 : "the connection ended");
        report_mend(&doctor->report,
                    "what is in between (a proxy, a load balancer) must let HTTP/2 pings through; "
                    "connections would be cut off");
    }
    wire_close(&doctor->wire);
    return true;
}
