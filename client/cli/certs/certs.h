/* 'stagewire certs': the commands below it. */
#ifndef STAGEWIRE_CLIENT_CLI_CERTS_CERTS_H
#define STAGEWIRE_CLIENT_CLI_CERTS_CERTS_H

#include "client/cli/exit_codes.h"

enum cli_exit cmd_certs_dev(int argc, char **argv);
enum cli_exit cmd_certs_show(int argc, char **argv);
enum cli_exit cmd_certs_revoke(int argc, char **argv);

#endif
