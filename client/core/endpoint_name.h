/* How an endpoint is called: "HOST:PORT" or "unix:PATH". */
#ifndef STAGEWIRE_CLIENT_CORE_ENDPOINT_NAME_H
#define STAGEWIRE_CLIENT_CORE_ENDPOINT_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include <stagewire/status.h>

#define ENDPOINT_NAME_MAX 512

bool endpoint_name_is_unix(const char *name);

/* Checks the name and writes gRPC's form of it (`size` bytes, ENDPOINT_NAME_MAX suffice). INVALID_ARGUMENT
 * says what is wrong. Names are not looked up. */
sw_status endpoint_name_target(const char *name, char *ret_target, size_t size, sw_error *error);

#endif
