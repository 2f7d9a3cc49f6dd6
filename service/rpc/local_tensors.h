/* Tensors from the endpoint's own process: by reference where they were handed over, else copied once. */
#ifndef STAGEWIRE_SERVICE_LOCAL_TENSORS_H
#define STAGEWIRE_SERVICE_LOCAL_TENSORS_H

#include <stagewire/publisher.h>

sw_status local_publish_tensors(sw_publisher *publisher, const sw_address *address,
                                const sw_named_tensor *tensors, size_t count, int64_t timeout_ms,
                                bool *ret_duplicate, sw_error *error);

#endif
