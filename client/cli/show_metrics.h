/* Items as 'stagewire get' prints them. */
#ifndef STAGEWIRE_CLIENT_CLI_SHOW_METRICS_H
#define STAGEWIRE_CLIENT_CLI_SHOW_METRICS_H

#include <stdio.h>

#include <stagewire/client.h>

/* A line that names the item, then a row a key of a dict, or a row a dict of a list. */
void show_metrics_table(FILE *out, const sw_metrics *metrics);
/* One line: {"run_id": …, "generation": …, "stage": …, "group": …, "channel": …, "step": …, "call": …,
 * "published_unix_ns": …, "metrics": …} */
void show_metrics_json(FILE *out, const sw_metrics *metrics);

/* The same with a row a tensor, and "tensors": [{"name": …, "dtype": …, "shape": …, "bytes": …}]. */
void show_manifest_table(FILE *out, const sw_tensors *tensors);
void show_manifest_json(FILE *out, const sw_tensors *tensors);

/* The members of an address, up to "channel"; up to "call". */
void show_place_json(FILE *out, const sw_address *address);
void show_address_json(FILE *out, const sw_address *address);

#endif
