/* The subcommands, a file each: cmd_NAME.c. */
#ifndef STAGEWIRE_CLIENT_CLI_COMMANDS_H
#define STAGEWIRE_CLIENT_CLI_COMMANDS_H

#include <argp.h>
#include <stddef.h>

#include "client/cli/exit_codes.h"

struct command {
    const char *name;
    const char *summary;     /* NULL: not for people, and left out of --help */
    const struct argp *argp; /* its arguments, options and help; NULL only without a summary */
    /* argv[0] is how messages call it ("stagewire get"), the rest its own arguments. */
    enum cli_exit (*run)(int argc, char **argv);
};

extern const struct command commands[]; /* up to one without a name */

const struct command *command_find(const char *name); /* or NULL */
/* The name that was probably meant, or NULL if none is near. */
const char *command_suggest(const char *name);

extern const struct argp cmd_info_argp, cmd_get_argp, cmd_publish_argp, cmd_stream_argp, cmd_watch_argp,
    cmd_wait_argp, cmd_close_argp, cmd_abort_argp, cmd_explain_argp, cmd_demo_argp;

enum cli_exit cmd_info(int argc, char **argv);
enum cli_exit cmd_get(int argc, char **argv);
enum cli_exit cmd_publish(int argc, char **argv);
enum cli_exit cmd_stream(int argc, char **argv);
enum cli_exit cmd_watch(int argc, char **argv);
enum cli_exit cmd_wait(int argc, char **argv);
enum cli_exit cmd_close(int argc, char **argv);
enum cli_exit cmd_abort(int argc, char **argv);
enum cli_exit cmd_explain(int argc, char **argv);
enum cli_exit cmd_demo(int argc, char **argv);
enum cli_exit cmd_demo_stage(int argc, char **argv);
enum cli_exit cmd_complete(int argc, char **argv);
enum cli_exit cmd_man_page(int argc, char **argv);

extern const struct argp cmd_certs_argp;
enum cli_exit cmd_certs(int argc, char **argv);
extern const struct argp cmd_bench_argp;
enum cli_exit cmd_bench(int argc, char **argv);
extern const struct argp cmd_doctor_argp;
enum cli_exit cmd_doctor(int argc, char **argv);

#endif
