/* Starts a process a stage, shows what they report, and leaves none behind, whatever happens. */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_LAUNCHER_H
#define STAGEWIRE_CLIENT_CLI_DEMO_LAUNCHER_H

#include "client/cli/demo/demo_options.h"
#include "client/cli/exit_codes.h"

/* Runs shorter than this have not learned enough to be held to it. */
#define LAUNCHER_JUDGED_STEPS 200
#define LAUNCHER_ACCURACY_MIN 0.95

/* `who` begins messages. */
enum cli_exit launcher_run(const char *who, const struct demo_options *options);

#endif
