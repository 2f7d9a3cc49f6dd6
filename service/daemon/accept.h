/* What stands between the kernel and gRPC 1.51 when a connection comes in. This program defines accept4 and
 * close for all of its libraries: gRPC's listener dies for good of one EMFILE (CVE-2023-4785), and it has no
 * limit of connections.
 *
 * Where descriptors or memory run out, whoever connects is closed at once; where there are too many
 * connections, too.
 */
#ifndef STAGEWIRE_DAEMON_ACCEPT_H
#define STAGEWIRE_DAEMON_ACCEPT_H

#include <stagewire/status.h>

#include "service/daemon/connections.h"

/* Before anything listens. Fewer connections where there are too few descriptors for them, which is logged.
 */
sw_status accept_begin(struct connections_limits limits, sw_error *error);

#endif
