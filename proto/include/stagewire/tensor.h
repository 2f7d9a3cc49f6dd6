/* Tensors: element types, shapes and bytes. Bytes are little-endian, contiguous and row-major; a BOOL is one
 * byte, 0 or 1. Types are named as PyTorch and safetensors name them; the numbers are the wire's. */
#ifndef STAGEWIRE_TENSOR_H
#define STAGEWIRE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/buffer.h>
#include <stagewire/export.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SW_TENSOR_RANK_MAX 16
#define SW_TENSOR_NAME_MAX 512 /* bytes of UTF-8; not "__metadata__" */

/* X(name, number, bytes an element) */
#define SW_DTYPE_MAP(X)                                                                                      \
    X(BOOL, 1, 1)                                                                                            \
    X(U8, 2, 1)                                                                                              \
    X(I8, 3, 1)                                                                                              \
    X(U16, 4, 2)                                                                                             \
    X(I16, 5, 2)                                                                                             \
    X(U32, 6, 4)                                                                                             \
    X(I32, 7, 4)                                                                                             \
    X(U64, 8, 8)                                                                                             \
    X(I64, 9, 8)                                                                                             \
    X(F16, 10, 2)                                                                                            \
    X(BF16, 11, 2)                                                                                           \
    X(F32, 12, 4)                                                                                            \
    X(F64, 13, 8)                                                                                            \
    X(C64, 14, 8)                                                                                            \
    X(C128, 15, 16)                                                                                          \
    X(F8_E4M3FN, 16, 1)                                                                                      \
    X(F8_E5M2, 17, 1)                                                                                        \
    X(F8_E4M3FNUZ, 18, 1)                                                                                    \
    X(F8_E5M2FNUZ, 19, 1)                                                                                    \
    X(F8_E8M0FNU, 20, 1)                                                                                     \
    X(F4_E2M1FN_X2, 21, 1)

typedef enum sw_dtype {
#define SW_DTYPE_ENUM(name, number, size) SW_##name = number,
    SW_DTYPE_MAP(SW_DTYPE_ENUM)
#undef SW_DTYPE_ENUM
} sw_dtype;

/* A tensor as its owner sees it: borrowed, read only. */
typedef struct sw_tensor_view {
    sw_dtype dtype;
    uint32_t rank;        /* 0: a scalar */
    const int64_t *shape; /* rank dimensions, each from 0; F4_E2M1FN_X2 counts bytes */
    const void *data;     /* sw_tensor_bytes(…) bytes */
    size_t size;          /* of data, in bytes */
} sw_tensor_view;

/* "F32", or NULL for a number that is none of them; 0 for a name that is none. */
SW_API const char *sw_dtype_name(sw_dtype dtype);
SW_API sw_dtype sw_dtype_from_name(const char *name);
SW_API size_t sw_dtype_size(sw_dtype dtype);

/* shape × element size, with every overflow checked. False where dtype or rank are out of range, a dimension
 * is negative, or the product does not fit 2^63-1. */
SW_API bool sw_tensor_bytes(sw_dtype dtype, uint32_t rank, const int64_t *shape, uint64_t *ret_bytes);

/* A named tensor to publish. With `buffer` the bytes are handed over by reference (the library takes a
 * reference of its own; the caller must not change them until it is released); else `view.data` is copied
 * before the call returns. */
typedef struct sw_named_tensor {
    const char *name;
    sw_tensor_view view; /* where buffer is set, data and size are taken from it */
    sw_buffer *buffer;
} sw_named_tensor;

#ifdef __cplusplus
}
#endif
#endif
