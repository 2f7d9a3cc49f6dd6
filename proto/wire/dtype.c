#include <stagewire/tensor.h>

#include <string.h>

const char *sw_dtype_name(sw_dtype dtype) {
    switch (dtype) {
#define DTYPE_NAME(name, number, size)                                                                       \
    case SW_##name:                                                                                          \
        return #name;
        SW_DTYPE_MAP(DTYPE_NAME)
#undef DTYPE_NAME
    }
    return NULL;
}

sw_dtype sw_dtype_from_name(const char *name) {
    static const struct {
        const char *name;
        sw_dtype dtype;
    } names[] = {
#define DTYPE_ROW(name, number, size) {#name, SW_##name},
        SW_DTYPE_MAP(DTYPE_ROW)
#undef DTYPE_ROW
    };
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].name, name) == 0) return names[i].dtype;
    }
    return (sw_dtype)0;
}

size_t sw_dtype_size(sw_dtype dtype) {
    switch (dtype) {
#define DTYPE_SIZE(name, number, size)                                                                       \
    case SW_##name:                                                                                          \
        return size;
        SW_DTYPE_MAP(DTYPE_SIZE)
#undef DTYPE_SIZE
    }
    return 0;
}

/* A dimension of 0 makes the product 0, but what stands beside it must fit all the same: no order of
 * multiplying may decide. */
bool sw_tensor_bytes(sw_dtype dtype, uint32_t rank, const int64_t *shape, uint64_t *ret_bytes) {
    int64_t bytes = (int64_t)sw_dtype_size(dtype);
    bool empty = false;
    if (bytes == 0 || rank > SW_TENSOR_RANK_MAX) return false;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] < 0) return false;
        if (shape[i] == 0)
            empty = true;
        else if (__builtin_mul_overflow(bytes, shape[i], &bytes))
            return false;
    }
    *ret_bytes = empty ? 0 : (uint64_t)bytes;
    return true;
}
