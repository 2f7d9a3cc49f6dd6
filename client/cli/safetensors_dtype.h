/* Types as safetensors names them. Part of safetensors. */
#ifndef STAGEWIRE_CLIENT_CLI_SAFETENSORS_DTYPE_H
#define STAGEWIRE_CLIENT_CLI_SAFETENSORS_DTYPE_H

#include <stagewire/tensor.h>

#define SAFETENSORS_METADATA   "__metadata__"
#define SAFETENSORS_DTYPE_NOTE "stagewire.dtype."
#define SAFETENSORS_RANK_MAX   (SW_TENSOR_RANK_MAX + 1) /* with the bytes of a type that is written as U8 */

/* The format's name, or NULL if it has none; 0 for a name that is none of ours. */
const char *safetensors_dtype_name(sw_dtype dtype);
sw_dtype safetensors_dtype_from_name(const char *name);

#endif
