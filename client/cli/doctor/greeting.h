/* What a peer says to a greeting in plaintext. */
#ifndef STAGEWIRE_CLIENT_CLI_DOCTOR_GREETING_H
#define STAGEWIRE_CLIENT_CLI_DOCTOR_GREETING_H

#include "client/cli/doctor/doctor.h"
#include "client/cli/doctor/first_words.h"

/* Connects anew, says hello in plaintext HTTP/2, and tells who speaks by what comes back. False if nothing
 * does: then *ret_is_silent tells whether the peer only kept quiet, or closed. */
bool greeting_listen(struct doctor *doctor, enum speaker *ret_speaker, bool *ret_is_silent);

#endif
