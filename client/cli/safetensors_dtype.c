#include "client/cli/safetensors_dtype.h"

#include <string.h>

#include "client/cli/safetensors.h"

static const struct {
    sw_dtype dtype;
    const char *name;
} names[] = {
    {SW_BOOL, "BOOL"},
    {SW_U8, "U8"},
    {SW_I8, "I8"},
    {SW_U16, "U16"},
    {SW_I16, "I16"},
    {SW_U32, "U32"},
    {SW_I32, "I32"},
    {SW_U64, "U64"},
    {SW_I64, "I64"},
    {SW_F16, "F16"},
    {SW_BF16, "BF16"},
    {SW_F32, "F32"},
    {SW_F64, "F64"},
    {SW_C64, "C64"},
    {SW_F8_E4M3FN, "F8_E4M3"},
    {SW_F8_E5M2, "F8_E5M2"},
    {SW_F8_E4M3FNUZ, "F8_E4M3FNUZ"},
    {SW_F8_E5M2FNUZ, "F8_E5M2FNUZ"},
    {SW_F8_E8M0FNU, "F8_E8M0"},
    {SW_F4_E2M1FN_X2, "F4"},
};

#define NAMES (sizeof names / sizeof *names)

const char *safetensors_dtype_name(sw_dtype dtype) {
    for (size_t i = 0; i < NAMES; i++)
        if (names[i].dtype == dtype) return names[i].name;
    return NULL;
}

sw_dtype safetensors_dtype_from_name(const char *name) {
    for (size_t i = 0; i < NAMES; i++)
        if (strcmp(names[i].name, name) == 0) return names[i].dtype;
    return (sw_dtype)0;
}

/* A single byte of two F4, or a dimension that cannot be doubled, has no form as F4. */
bool safetensors_has(const sw_tensor_view *view) {
    if (!safetensors_dtype_name(view->dtype)) return false;
    return view->dtype != SW_F4_E2M1FN_X2 || (view->rank > 0 && view->shape[view->rank - 1] <= INT64_MAX / 2);
}
