/* Files of tensors: what is read lies in the file, and is the same once it was written and read again. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/safetensors.h"
#include "tests/fuzz/common/fuzz.h"

static void lies_within(const struct safetensors *file, const uint8_t *data, size_t size) {
    for (size_t i = 0; i < file->count; i++) {
        const sw_tensor_view *view = &file->tensors[i].view;
        const uint8_t *bytes = view->data;
        uint64_t needed;
        HOLDS(sw_tensor_bytes(view->dtype, view->rank, view->shape, &needed) && needed == view->size);
        HOLDS(bytes >= data + 8 && view->size <= size && bytes + view->size <= data + size);
    }
}

/* The file that safetensors_lay_out describes. */
static uint8_t *written(const struct safetensors *file, size_t *ret_size) {
    struct safetensors_layout layout;
    HOLDS(safetensors_lay_out(file->tensors, file->count, NULL, 0, &layout, NULL) == SW_OK);
    uint8_t *bytes = malloc(layout.file_size);
    HOLDS(bytes && layout.start_size <= layout.file_size);
    memcpy(bytes, layout.start, layout.start_size);
    for (size_t i = 0; i < file->count; i++) {
        const sw_tensor_view *view = &file->tensors[i].view;
        HOLDS(layout.offsets[i] >= layout.start_size && layout.offsets[i] + view->size <= layout.file_size);
        if (view->size > 0) memcpy(bytes + layout.offsets[i], view->data, view->size);
    }
    *ret_size = layout.file_size;
    safetensors_layout_destroy(&layout);
    return bytes;
}

static const sw_tensor_view *find(const struct safetensors *file, const char *name) {
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i].view;
    return NULL;
}

static void is_read_as_written(const struct safetensors *file) {
    size_t size;
    uint8_t *bytes = written(file, &size);
    struct safetensors again;
    HOLDS(safetensors_read(bytes, size, &again, NULL) == SW_OK);
    HOLDS(again.count == file->count);
    for (size_t i = 0; i < file->count; i++) {
        const sw_tensor_view *was = &file->tensors[i].view, *is = find(&again, file->tensors[i].name);
        HOLDS(is && is->dtype == was->dtype && is->rank == was->rank && is->size == was->size);
        HOLDS(is->rank == 0 || memcmp(is->shape, was->shape, is->rank * sizeof *is->shape) == 0);
        HOLDS(is->size == 0 || memcmp(is->data, was->data, is->size) == 0);
    }
    safetensors_destroy(&again);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct safetensors file;
    sw_error error = {0};
    sw_status status = safetensors_read(data, size, &file, &error);
    if (status != SW_OK) {
        HOLDS(status == SW_INVALID_ARGUMENT && error.message[0]);
        return 0;
    }
    lies_within(&file, data, size);
    is_read_as_written(&file);
    safetensors_destroy(&file);
    return 0;
}
