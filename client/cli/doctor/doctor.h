/* An examination of an endpoint: one check after the other, each of which measures and says what it found. A
 * check returns false where nothing that follows could work. */
#ifndef STAGEWIRE_CLIENT_CLI_DOCTOR_DOCTOR_H
#define STAGEWIRE_CLIENT_CLI_DOCTOR_DOCTOR_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <stagewire/client.h>

#include "client/cli/doctor/report.h"
#include "client/cli/doctor/wire.h"
#include "client/cli/options.h"
#include "proto/transport/tls_identity.h"

#define DOCTOR_STEP_MS  5000 /* a check that takes longer has found something */
#define DOCTOR_HOST_MAX 256

struct doctor {
    struct options options;
    int64_t end_ms; /* of all checks; clock_system's monotonic milliseconds */
    struct report report;

    bool is_unix;
    char host[DOCTOR_HOST_MAX], port[8]; /* or, with is_unix, none */
    const char *path;
    struct addrinfo *found; /* the name's addresses */

    struct sockaddr_storage address; /* the one that was reached */
    socklen_t address_size;
    bool is_near; /* on this machine */

    struct tls_files files;
    struct tls_identity *identity; /* NULL: plaintext */
    struct wire wire;
    bool was_asked; /* the peer asked for a certificate */

    sw_client *client;
    sw_info *info;
};

/* Splits the endpoint's name, which options have checked. */
void doctor_init(struct doctor *doctor);
void doctor_close(struct doctor *doctor);

int64_t doctor_deadline(const struct doctor *doctor); /* of one step */
int64_t doctor_left_ms(const struct doctor *doctor);  /* the same, from now; at least 1 */

/* "3.2 ms", "1.5 s" */
#define DOCTOR_DURATION_BYTES 32
const char *doctor_duration(int64_t ns, char text[DOCTOR_DURATION_BYTES]);

/* reach.c */
bool check_name(struct doctor *doctor);
bool check_connection(struct doctor *doctor);
/* Connects to what was reached again. */
enum wire_end doctor_connect_again(struct doctor *doctor, struct wire *wire);

/* files.c, tls.c */
bool check_files(struct doctor *doctor);
bool check_tls(struct doctor *doctor);

/* greeting.c */
bool check_http2(struct doctor *doctor);
bool check_keepalive(struct doctor *doctor);

/* answers.c */
bool check_health(struct doctor *doctor);
bool check_version(struct doctor *doctor);
bool check_run(struct doctor *doctor);
bool check_rights(struct doctor *doctor);
bool check_warnings(struct doctor *doctor);
bool check_round_trip(struct doctor *doctor);

/* throughput.c */
bool check_throughput(struct doctor *doctor);

#endif
