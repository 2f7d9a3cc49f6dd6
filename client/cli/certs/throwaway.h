/* The folder of 'stagewire certs dev': ca.pem, ca.key, crl.pem, and NAME.pem with NAME.key for each leaf. */
#ifndef STAGEWIRE_CLIENT_CLI_CERTS_THROWAWAY_H
#define STAGEWIRE_CLIENT_CLI_CERTS_THROWAWAY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <stagewire/status.h>

#include "client/cli/certs/issue.h"

#define THROWAWAY_BEFORE_S 3600 /* good so long before now: for peers whose clock is behind */

struct throwaway {
    const char *folder;
    int64_t now; /* Unix seconds */
    struct issued ca;
    int64_t ca_until;
};

/* FOLDER/NAME, or INVALID_ARGUMENT where that is too long. */
sw_status throwaway_path(const struct throwaway *at, const char *name, const char *suffix,
                         char ret_path[PATH_MAX], sw_error *error);

/* Reads the CA; NOT_FOUND where the folder has neither of its files, FAILED_PRECONDITION where they are no
 * use: one of them is missing or wrong, they don't match, or the CA has expired. */
sw_status throwaway_open(const char *folder, int64_t now, struct throwaway *ret, sw_error *error);
/* Makes folder, CA and an empty revocation list. */
sw_status throwaway_create(const char *folder, int64_t now, int64_t until, struct throwaway *ret,
                           sw_error *error);
void throwaway_close(struct throwaway *at);

/* Writes NAME.key and NAME.pem. Without `replace` a leaf of that name that is for the same SPIFFE id and
 * still good is kept; one that isn't is ALREADY_EXISTS. `ret_until` is the end of the one that is there now.
 */
sw_status throwaway_leaf(const struct throwaway *at, const char *name, const struct certificate_wish *wish,
                         bool replace, bool *ret_kept, int64_t *ret_until, sw_error *error);

/* Puts the certificate on the list; INVALID_ARGUMENT where the CA has not issued it. */
sw_status throwaway_revoke(const struct throwaway *at, X509 *certificate, char ret_path[PATH_MAX],
                           sw_error *error);

#endif
