#include "client/cli/json_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "client/cli/base64.h"
#include "client/pipeline/scalars.h"

void json_write_text(FILE *out, sw_bytes text) {
    fputc('"', out);
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte == '"' || byte == '\\')
            fprintf(out, "\\%c", byte);
        else if (byte == '\n')
            fputs("\\n", out);
        else if (byte < 0x20 || byte == 0x7f)
            fprintf(out, "\\u%04x", byte);
        else
            fputc(byte, out);
    }
    fputc('"', out);
}

void json_write_string(FILE *out, const char *text) {
    json_write_text(out, sw_text_of(text));
}

void json_write_member(FILE *out, const char *name, const char *text) {
    fprintf(out, ", \"%s\": ", name);
    if (text)
        json_write_string(out, text);
    else
        fputs("null", out);
}

void json_write_number(FILE *out, double number) {
    if (!isfinite(number)) {
        fputs(isnan(number) ? "\"NaN\"" : number > 0 ? "\"Infinity\"" : "\"-Infinity\"", out);
        return;
    }
    char text[32];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*g", precision, number);
        if (strtod(text, NULL) == number) break;
    }
    fprintf(out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

void json_write_shape(FILE *out, const sw_tensor_view *view) {
    fputc('[', out);
    for (uint32_t i = 0; i < view->rank; i++) fprintf(out, "%s%" PRId64, i ? ", " : "", view->shape[i]);
    fputc(']', out);
}

bool tensor_summarize(const sw_tensor_view *view, struct tensor_summary *ret_summary) {
    size_t element = sw_dtype_size(view->dtype);
    size_t count = element && view->data ? view->size / element : 0;
    struct tensor_summary summary = {INFINITY, -INFINITY, 0};
    for (size_t i = 0; i < count; i++) {
        double number;
        if (!scalar_as_number(scalar_read(view->dtype, view->data, i), &number)) return false;
        if (!(number >= summary.min)) summary.min = number;
        if (!(number <= summary.max)) summary.max = number;
        summary.mean += number;
    }
    if (isnan(summary.mean)) summary.min = summary.max = NAN;
    summary.mean /= (double)count;
    if (count > 0) *ret_summary = summary;
    return count > 0;
}

static void write_tensor(FILE *out, const sw_tensor_view *view) {
    const char *dtype = sw_dtype_name(view->dtype);
    fputs("{\"$tensor\": {\"dtype\": ", out);
    json_write_string(out, dtype ? dtype : "UNKNOWN");
    fputs(", \"shape\": ", out);
    json_write_shape(out, view);
    struct tensor_summary summary;
    if (tensor_summarize(view, &summary)) {
        fputs(", \"min\": ", out);
        json_write_number(out, summary.min);
        fputs(", \"max\": ", out);
        json_write_number(out, summary.max);
        fputs(", \"mean\": ", out);
        json_write_number(out, summary.mean);
    }
    fputs("}}", out);
}

static void write_list(FILE *out, const sw_value *list) {
    fputc('[', out);
    for (size_t i = 0; i < list->list.count; i++) {
        if (i) fputs(", ", out);
        json_write_value(out, &list->list.items[i]);
    }
    fputc(']', out);
}

static void write_dict(FILE *out, const sw_value *dict) {
    fputc('{', out);
    for (size_t i = 0; i < dict->dict.count; i++) {
        if (i) fputs(", ", out);
        json_write_text(out, dict->dict.entries[i].key);
        fputs(": ", out);
        json_write_value(out, &dict->dict.entries[i].value);
    }
    fputc('}', out);
}

static void write_extension(FILE *out, const sw_value *value) {
    fputs("{\"$extension\": ", out);
    json_write_text(out, value->extension.type);
    fputs(", \"value\": ", out);
    json_write_value(out, value->extension.value);
    fputc('}', out);
}

void json_write_value(FILE *out, const sw_value *value) {
    switch (value->kind) {
    case SW_VALUE_NULL:
        fputs("null", out);
        break;
    case SW_VALUE_BOOL:
        fputs(value->boolean ? "true" : "false", out);
        break;
    case SW_VALUE_INTEGER:
        fprintf(out, "%" PRId64, value->integer);
        break;
    case SW_VALUE_NUMBER:
        json_write_number(out, value->number);
        break;
    case SW_VALUE_TEXT:
        json_write_text(out, value->bytes);
        break;
    case SW_VALUE_BLOB:
        fputs("{\"$blob\": \"", out);
        base64_write(out, value->bytes.data, value->bytes.size);
        fputs("\"}", out);
        break;
    case SW_VALUE_TENSOR:
        write_tensor(out, &value->tensor);
        break;
    case SW_VALUE_LIST:
    case SW_VALUE_TUPLE:
        write_list(out, value);
        break;
    case SW_VALUE_DICT:
        write_dict(out, value);
        break;
    case SW_VALUE_EXTENSION:
        write_extension(out, value);
        break;
    }
}
