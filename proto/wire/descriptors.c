#include "proto/wire/descriptors.h"

#include <string.h>

/* The fields of descriptor.proto that matter here. */
enum { SET_FILE = 1, NAME = 1, FILE_PACKAGE = 2, FILE_DEPENDENCY = 3 };

enum kind { KIND_FILE, KIND_MESSAGE, KIND_ENUM, KIND_SERVICE, KIND_LEAF };

/* Which field of what declares names, and of what kind. */
static const struct {
    enum kind in;
    uint32_t field;
    enum kind declares;
} declarations[] = {
    {KIND_FILE, 4, KIND_MESSAGE}, {KIND_FILE, 5, KIND_ENUM},    {KIND_FILE, 6, KIND_SERVICE},
    {KIND_FILE, 7, KIND_LEAF},    {KIND_MESSAGE, 2, KIND_LEAF}, {KIND_MESSAGE, 3, KIND_MESSAGE},
    {KIND_MESSAGE, 4, KIND_ENUM}, {KIND_MESSAGE, 6, KIND_LEAF}, {KIND_MESSAGE, 8, KIND_LEAF},
    {KIND_SERVICE, 2, KIND_LEAF}, {KIND_ENUM, 2, KIND_LEAF},
};

static struct span text_of(struct span message, uint32_t number) {
    struct reader reader = reader_over(message);
    struct wire_field field;
    while (reader_next(&reader, &field)) {
        if (field.number == number) return field.bytes;
    }
    return (struct span){(const uint8_t *)"", 0};
}

static bool is_text(struct span span, const char *text) {
    return span.size == strlen(text) && memcmp(span.data, text, span.size) == 0;
}

/* What follows "scope." in a name; NULL if the name is not below it. */
static const char *below(const char *name, struct span scope) {
    if (scope.size == 0) return name;
    bool starts = strncmp(name, (const char *)scope.data, scope.size) == 0 && name[scope.size] == '.';
    return starts ? name + scope.size + 1 : NULL;
}

/* ---- symbols ---- */

static bool declares(struct span scope, enum kind kind, const char *name, enum kind *ret_kind);

static bool is_declared(struct span it, enum kind kind, const char *name, enum kind *ret_kind) {
    struct span own = text_of(it, NAME);
    const char *rest = below(name, own);
    if (is_text(own, name)) {
        *ret_kind = kind;
        return true;
    }
    if (kind == KIND_ENUM) return declares(it, kind, name, ret_kind); /* values are named beside it */
    return rest && declares(it, kind, rest, ret_kind);
}

static bool declares(struct span scope, enum kind kind, const char *name, enum kind *ret_kind) {
    struct reader reader = reader_over(scope);
    struct wire_field field;
    while (reader_next(&reader, &field)) {
        for (size_t i = 0; i < sizeof declarations / sizeof *declarations; i++) {
            if (declarations[i].in != kind || declarations[i].field != field.number) continue;
            if (is_declared(field.bytes, declarations[i].declares, name, ret_kind)) return true;
        }
    }
    return false;
}

static bool file_declares(struct span file, const char *symbol, enum kind *ret_kind) {
    const char *rest = below(symbol, text_of(file, FILE_PACKAGE));
    return rest && declares(file, KIND_FILE, rest, ret_kind);
}

/* ---- files ---- */

static bool find_file(struct span set, struct span name, struct span *ret) {
    struct reader reader = reader_over(set);
    struct wire_field field;
    while (reader_next(&reader, &field)) {
        struct span own = text_of(field.bytes, NAME);
        if (field.number != SET_FILE || own.size != name.size) continue;
        if (memcmp(own.data, name.data, name.size) != 0) continue;
        *ret = field.bytes;
        return true;
    }
    return false;
}

static void add_once(struct descriptor_files *files, struct span file) {
    for (size_t i = 0; i < files->count; i++) {
        if (files->files[i].data == file.data) return;
    }
    if (files->count < DESCRIPTOR_FILES_MAX) files->files[files->count++] = file;
}

static void collect(struct span set, struct span file, struct descriptor_files *ret) {
    *ret = (struct descriptor_files){{file}, 1};
    for (size_t i = 0; i < ret->count; i++) {
        struct reader reader = reader_over(ret->files[i]);
        struct wire_field field;
        struct span imported;
        while (reader_next(&reader, &field)) {
            if (field.number == FILE_DEPENDENCY && find_file(set, field.bytes, &imported))
                add_once(ret, imported);
        }
    }
}

bool descriptors_of_file(struct span set, const char *name, struct descriptor_files *ret) {
    struct span file, wanted = {(const uint8_t *)name, strlen(name)};
    if (!find_file(set, wanted, &file)) return false;
    collect(set, file, ret);
    return true;
}

static bool find_symbol(struct span set, const char *symbol, struct span *ret_file, enum kind *ret_kind) {
    struct reader reader = reader_over(set);
    struct wire_field field;
    while (reader_next(&reader, &field)) {
        if (field.number != SET_FILE || !file_declares(field.bytes, symbol, ret_kind)) continue;
        *ret_file = field.bytes;
        return true;
    }
    return false;
}

bool descriptors_of_symbol(struct span set, const char *symbol, struct descriptor_files *ret) {
    struct span file;
    enum kind kind;
    if (!find_symbol(set, symbol, &file, &kind)) return false;
    collect(set, file, ret);
    return true;
}

bool descriptors_have_message(struct span set, const char *name) {
    struct span file;
    enum kind kind;
    return find_symbol(set, name, &file, &kind) && kind == KIND_MESSAGE;
}
