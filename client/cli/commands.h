/* The subcommands, a file each: cmd_NAME.c. */
#ifndef STAGEWIRE_CLIENT_CLI_COMMANDS_H
#define STAGEWIRE_CLIENT_CLI_COMMANDS_H

#include <stddef.h>

#include "client/cli/exit_codes.h"

struct command {
    const char *name;
    const char *arguments;
    const char *summary; /* NULL: not for people, and left out of --help */
    /* argv[0] is how messages call it ("stagewire get"), the rest its own arguments. */
    enum cli_exit (*run)(int argc, char **argv);
};

extern const struct command commands[]; /* up to one without a name */

const struct command *command_find(const char *name); /* or NULL */
/* The name that was probably meant, or NULL if none is near. */
const char *command_suggest(const char *name);

enum cli_exit cmd_info(int argc, char **argv);
enum cli_exit cmd_get(int argc, char **argv);
enum cli_exit cmd_publish(int argc, char **argv);
enum cli_exit cmd_demo(int argc, char **argv);
enum cli_exit cmd_demo_stage(int argc, char **argv);

#endif
