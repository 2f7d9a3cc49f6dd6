/* The file format safetensors: 8 bytes with the header's size N, little-endian; N bytes of JSON that begin
 * with
 * '{' and may end in blanks; then the tensors' bytes, one after the other without holes.
 *
 *     {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {"KEY": "TEXT"}}
 *
 * Both ways are functions of bytes: no file is touched here. A type of ours that the format lacks (C128) is
 * written as U8, with its bytes as one more dimension, and named in __metadata__ under
 * "stagewire.dtype.NAME"; it reads back as itself. Two F4 share a byte, and the format counts them singly:
 * F4_E2M1FN_X2 of shape [3, 4] is F4 of shape [3, 8]. */
#ifndef STAGEWIRE_CLIENT_CLI_SAFETENSORS_H
#define STAGEWIRE_CLIENT_CLI_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/tensor.h>

#include "proto/wire/arena.h"

#define SAFETENSORS_HEADER_MAX 100000000u /* bytes; the format's own limit */

/* The format has a type for it. */
bool safetensors_has(const sw_tensor_view *view);

/* ---- reading ---- */

struct safetensors {
    sw_named_tensor *tensors; /* in the order of their bytes; views point into what was read */
    size_t count;
    struct arena arena; /* what the above lies in */
};

/* `data` stays the caller's, and must outlive the views. INVALID_ARGUMENT says what is wrong and where,
 * without a file's name; RESOURCE_EXHAUSTED without memory. */
sw_status safetensors_read(const void *data, size_t size, struct safetensors *ret, sw_error *error);
void safetensors_destroy(struct safetensors *file);

/* ---- writing ---- */

struct safetensors_note {
    const char *key, *text; /* of __metadata__; UTF-8 */
};

struct safetensors_layout {
    char *start; /* the file's first bytes: size and header */
    size_t start_size;
    uint64_t *offsets; /* of each tensor in the file, in the caller's order */
    uint64_t file_size;
};

/* Where each tensor goes, larger elements first, so that all lie aligned. Of the views dtype, rank and shape
 * count. INVALID_ARGUMENT for names twice or "__metadata__", shapes that can't be, or more than a file can
 * hold; RESOURCE_EXHAUSTED. */
sw_status safetensors_lay_out(const sw_named_tensor *tensors, size_t count,
                              const struct safetensors_note *notes, size_t note_count,
                              struct safetensors_layout *ret, sw_error *error);
void safetensors_layout_destroy(struct safetensors_layout *layout);

#endif
