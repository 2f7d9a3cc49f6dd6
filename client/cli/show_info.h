/* An endpoint as 'stagewire info' prints it. */
#ifndef STAGEWIRE_CLIENT_CLI_SHOW_INFO_H
#define STAGEWIRE_CLIENT_CLI_SHOW_INFO_H

#include <stdio.h>

#include <stagewire/client.h>

/* Three tables: the endpoint itself, its leases, its channels. */
void show_info_tables(FILE *out, const char *endpoint, const sw_info *info);

/* One line with the same: {"run_id": …, "leases": […], "channels": […], "load": {…}, …}. */
void show_info_json(FILE *out, const sw_info *info);

#endif
