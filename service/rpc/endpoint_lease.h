/* A lease that is held in the endpoint's own process. */
#ifndef STAGEWIRE_SERVICE_ENDPOINT_LEASE_H
#define STAGEWIRE_SERVICE_ENDPOINT_LEASE_H

#include <stagewire/endpoint.h>
#include <stagewire/publisher.h>

sw_status endpoint_attach(sw_publisher *publisher, const sw_attachment *attachment, int64_t timeout_ms,
                          sw_lease **ret_lease, uint64_t *ret_generation, sw_error *error);

/* The endpoint closes: its leases end, and are released by their holders later. */
void endpoint_leases_end(sw_endpoint *endpoint);

#endif
