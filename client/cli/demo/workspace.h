/* A private directory for the stages' sockets, which goes with the demo. */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_WORKSPACE_H
#define STAGEWIRE_CLIENT_CLI_DEMO_WORKSPACE_H

#include <stddef.h>

#include <stagewire/status.h>

#define WORKSPACE_PATH_MAX 80 /* a socket's name, with what follows, has at most 107 bytes */

struct workspace {
    char path[WORKSPACE_PATH_MAX]; /* "": none */
};

/* In $TMPDIR, or /tmp where that is unset or too long. UNAVAILABLE says why there can be none. */
sw_status workspace_create(struct workspace *workspace, sw_error *error);
/* With everything in it. Fine if there is none. */
void workspace_remove(struct workspace *workspace);

#endif
