#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/json_write.h"
#include "client/cli/safetensors.h"
#include "client/cli/safetensors_dtype.h"
#include "proto/base/error.h"

#define SIZE_BYTES 8u
#define ALIGNMENT  8u

struct place {
    const sw_named_tensor *tensor;
    size_t element;
    uint64_t begin, end; /* behind the header */
};

static sw_status wrong(sw_error *error, const char *name, const char *what) {
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "tensor \"%s\": %s", name, what);
}

static sw_status no_memory(sw_error *error) {
    return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory for the file's header");
}

/* ---- where each tensor goes ---- */

/* Larger elements first; the caller's order among the same. */
static int compare_places(const void *left, const void *right) {
    const struct place *a = left, *b = right;
    if (a->element != b->element) return a->element > b->element ? -1 : 1;
    return a->tensor < b->tensor ? -1 : a->tensor > b->tensor;
}

static int compare_names(const void *left, const void *right) {
    const struct place *const *a = left, *const *b = right;
    return strcmp((*a)->tensor->name, (*b)->tensor->name);
}

static sw_status check_names(const struct place *places, size_t count, sw_error *error) {
    const struct place **by_name = calloc(count + 1, sizeof *by_name);
    if (!by_name) return no_memory(error);
    for (size_t i = 0; i < count; i++) by_name[i] = &places[i];
    qsort(by_name, count, sizeof *by_name, compare_names);
    sw_status status = SW_OK;
    for (size_t i = 0; status == SW_OK && i < count; i++) {
        const char *name = by_name[i]->tensor->name;
        if (strcmp(name, SAFETENSORS_METADATA) == 0)
            status = wrong(error, name, "no tensor can have this name in a safetensors file");
        else if (i > 0 && strcmp(name, by_name[i - 1]->tensor->name) == 0)
            status = wrong(error, name, "there are two of this name");
    }
    free(by_name);
    return status;
}

static sw_status place_all(struct place *places, const sw_named_tensor *tensors, size_t count,
                           uint64_t *ret_bytes, sw_error *error) {
    for (size_t i = 0; i < count; i++)
        places[i] = (struct place){.tensor = &tensors[i], .element = sw_dtype_size(tensors[i].view.dtype)};
    qsort(places, count, sizeof *places, compare_places);
    uint64_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const sw_tensor_view *view = &places[i].tensor->view;
        uint64_t bytes;
        if (!sw_tensor_bytes(view->dtype, view->rank, view->shape, &bytes))
            return wrong(error, places[i].tensor->name, "its shape and type can't be");
        if (__builtin_add_overflow(at, bytes, &places[i].end) ||
            places[i].end > INT64_MAX - SAFETENSORS_HEADER_MAX - SIZE_BYTES)
            return wrong(error, places[i].tensor->name, "with it there are more bytes than a file can have");
        places[i].begin = at;
        at = places[i].end;
    }
    *ret_bytes = at;
    return check_names(places, count, error);
}

/* ---- the header ---- */

static void put_shape(FILE *out, const sw_tensor_view *view) {
    bool is_f4 = view->dtype == SW_F4_E2M1FN_X2 && safetensors_has(view);
    size_t more = safetensors_has(view) ? 1 : sw_dtype_size(view->dtype);
    fputc('[', out);
    for (uint32_t i = 0; i < view->rank; i++)
        fprintf(out, "%s%" PRId64, i ? "," : "", view->shape[i] * (is_f4 && i + 1 == view->rank ? 2 : 1));
    if (more > 1) fprintf(out, "%s%zu", view->rank ? "," : "", more);
    fputc(']', out);
}

static void put_tensor(FILE *out, const struct place *place) {
    const sw_tensor_view *view = &place->tensor->view;
    json_write_string(out, place->tensor->name);
    fprintf(out, ":{\"dtype\":\"%s\",\"shape\":",
            safetensors_has(view) ? safetensors_dtype_name(view->dtype) : "U8");
    put_shape(out, view);
    fprintf(out, ",\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", place->begin, place->end);
}

/* Returns how many there were. */
static size_t put_notes(FILE *out, const struct safetensors_note *notes, size_t note_count,
                        const struct place *places, size_t count) {
    size_t put = 0;
    for (size_t i = 0; i < note_count; i++) {
        fputs(put++ ? "," : "\"" SAFETENSORS_METADATA "\":{", out);
        json_write_string(out, notes[i].key);
        fputc(':', out);
        json_write_string(out, notes[i].text);
    }
    for (size_t i = 0; i < count; i++) {
        const sw_named_tensor *tensor = places[i].tensor;
        char key[sizeof SAFETENSORS_DTYPE_NOTE + SW_TENSOR_NAME_MAX];
        if (safetensors_has(&tensor->view)) continue;
        fputs(put++ ? "," : "\"" SAFETENSORS_METADATA "\":{", out);
        snprintf(key, sizeof key, SAFETENSORS_DTYPE_NOTE "%s", tensor->name);
        json_write_string(out, key);
        fprintf(out, ":\"%s\"", sw_dtype_name(tensor->view.dtype));
    }
    if (put) fputc('}', out);
    return put;
}

static void put_header(FILE *out, const struct safetensors_note *notes, size_t note_count,
                       const struct place *places, size_t count) {
    static const char no_size[SIZE_BYTES];
    fwrite(no_size, 1, sizeof no_size, out);
    fputc('{', out);
    bool noted = put_notes(out, notes, note_count, places, count) > 0;
    for (size_t i = 0; i < count; i++) {
        if (noted || i > 0) fputc(',', out);
        put_tensor(out, &places[i]);
    }
    fputc('}', out);
    while (ftell(out) % ALIGNMENT != 0) fputc(' ', out);
}

static sw_status make_start(struct safetensors_layout *layout, const struct safetensors_note *notes,
                            size_t note_count, const struct place *places, size_t count, sw_error *error) {
    FILE *out = open_memstream(&layout->start, &layout->start_size);
    if (!out) return no_memory(error);
    put_header(out, notes, note_count, places, count);
    if (fclose(out) != 0) return no_memory(error);
    uint64_t size = layout->start_size - SIZE_BYTES;
    if (size > SAFETENSORS_HEADER_MAX)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "a header of %" PRIu64 " bytes; a safetensors file may have %u: take fewer "
                              "tensors at once",
                              size, SAFETENSORS_HEADER_MAX);
    for (unsigned i = 0; i < SIZE_BYTES; i++) layout->start[i] = (char)(size >> 8 * i);
    return SW_OK;
}

static sw_status lay_out(struct place *places, const sw_named_tensor *tensors, size_t count,
                         const struct safetensors_note *notes, size_t note_count,
                         struct safetensors_layout *layout, sw_error *error) {
    uint64_t bytes = 0;
    sw_status status = place_all(places, tensors, count, &bytes, error);
    if (status == SW_OK) status = make_start(layout, notes, note_count, places, count, error);
    if (status != SW_OK) return status;
    for (size_t i = 0; i < count; i++)
        layout->offsets[places[i].tensor - tensors] = layout->start_size + places[i].begin;
    layout->file_size = layout->start_size + bytes;
    return SW_OK;
}

sw_status safetensors_lay_out(const sw_named_tensor *tensors, size_t count,
                              const struct safetensors_note *notes, size_t note_count,
                              struct safetensors_layout *ret, sw_error *error) {
    struct safetensors_layout layout = {.offsets = calloc(count + 1, sizeof *layout.offsets)};
    struct place *places = calloc(count + 1, sizeof *places);
    sw_status status = layout.offsets && places
                           ? lay_out(places, tensors, count, notes, note_count, &layout, error)
                           : no_memory(error);
    free(places);
    if (status == SW_OK)
        *ret = layout;
    else
        safetensors_layout_destroy(&layout);
    return status;
}

void safetensors_layout_destroy(struct safetensors_layout *layout) {
    free(layout->start);
    free(layout->offsets);
}
