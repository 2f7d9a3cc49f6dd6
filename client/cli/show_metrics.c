#include "client/cli/show_metrics.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/json_write.h"
#include "client/cli/text_table.h"
#include "proto/base/error.h"

void show_place_json(FILE *out, const sw_address *address) {
    fputs("\"run_id\": ", out);
    json_write_string(out, address->run_id ? address->run_id : "");
    fprintf(out,
            ", \"generation\": %" PRIu64 ", \"stage\": %" PRIu32 ", \"group\": %" PRIu32 ", \"channel\": ",
            address->generation, address->stage, address->group);
    json_write_string(out, address->channel ? address->channel : "");
}

void show_address_json(FILE *out, const sw_address *address) {
    show_place_json(out, address);
    fprintf(out, ", \"step\": %" PRIu64 ", \"call\": %" PRIu32, address->step, address->call);
}

static void put_heading(FILE *out, const sw_address *address, sw_item_kind kind) {
    char words[ADDRESS_WORDS_MAX];
    fprintf(out, "%s\n", address_in_words(words, sizeof words, address, kind));
}

void show_metrics_json(FILE *out, const sw_metrics *metrics) {
    fputc('{', out);
    show_address_json(out, sw_metrics_address(metrics));
    fprintf(out,
            ", \"published_unix_ns\": %" PRId64 ", \"metrics\": ", sw_metrics_published_unix_ns(metrics));
    json_write_value(out, sw_metrics_value(metrics));
    fputs("}\n", out);
}

static void add_value(struct text_table *table, const sw_value *value) {
    struct text_table_cell cell;
    FILE *out = text_table_cell_open(&cell);
    if (value) json_write_value(out, value);
    text_table_cell_close(table, &cell);
}

static void add_key(struct text_table *table, sw_bytes key) {
    struct text_table_cell cell;
    fwrite(key.data, 1, key.size, text_table_cell_open(&cell));
    text_table_cell_close(table, &cell);
}

static void put_dict(FILE *out, const sw_value *dict) {
    struct text_table table;
    text_table_init(&table, 2, (const char *const[]){"name", "value"});
    for (size_t i = 0; i < dict->dict.count; i++) {
        const sw_entry *entry = &dict->dict.entries[i];
        add_key(&table, entry->key);
        add_value(&table, &entry->value);
    }
    text_table_print(&table, out);
    text_table_destroy(&table);
}

static bool same(sw_bytes a, sw_bytes b) {
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* Dicts of one list mostly have the same keys in the same order: so it is looked for at `likely` first. */
static const sw_value *find(const sw_value *dict, sw_bytes key, size_t likely) {
    const sw_entry *entries = dict->dict.entries;
    if (likely < dict->dict.count && same(entries[likely].key, key)) return &entries[likely].value;
    for (size_t i = 0; i < dict->dict.count; i++)
        if (same(entries[i].key, key)) return &entries[i].value;
    return NULL;
}

static bool is_known(const sw_bytes *keys, size_t count, sw_bytes key, size_t likely) {
    if (likely < count && same(keys[likely], key)) return true;
    for (size_t i = 0; i < count; i++)
        if (same(keys[i], key)) return true;
    return false;
}

/* The keys of all dicts, each once, in the order in which they first appear; the caller frees it. */
static sw_bytes *collect_keys(const sw_value *list, size_t *ret_count) {
    size_t most = 1, count = 0;
    for (size_t i = 0; i < list->list.count; i++) most += list->list.items[i].dict.count;
    sw_bytes *keys = calloc(most, sizeof *keys);
    for (size_t i = 0; keys && i < list->list.count; i++) {
        const sw_value *dict = &list->list.items[i];
        for (size_t k = 0; k < dict->dict.count; k++) {
            sw_bytes key = dict->dict.entries[k].key;
            bool first_dict = count == k && i == 0; /* whose keys differ */
            if (first_dict || !is_known(keys, count, key, k)) keys[count++] = key;
        }
    }
    *ret_count = count;
    return keys;
}

static void put_list(FILE *out, const sw_value *list) {
    size_t columns;
    sw_bytes *keys = collect_keys(list, &columns);
    if (!keys) return;
    struct text_table table;
    text_table_init(&table, columns + 1, NULL);
    text_table_add(&table, "item");
    for (size_t k = 0; k < columns; k++) add_key(&table, keys[k]);
    for (size_t i = 0; i < list->list.count; i++) {
        text_table_add(&table, "%zu", i);
        for (size_t k = 0; k < columns; k++) add_value(&table, find(&list->list.items[i], keys[k], k));
    }
    text_table_print(&table, out);
    text_table_destroy(&table);
    free(keys);
}

void show_metrics_table(FILE *out, const sw_metrics *metrics) {
    const sw_value *value = sw_metrics_value(metrics);
    put_heading(out, sw_metrics_address(metrics), SW_METRICS);
    if (value->kind == SW_VALUE_DICT)
        put_dict(out, value);
    else
        put_list(out, value);
}

void show_manifest_json(FILE *out, const sw_tensors *tensors) {
    fputc('{', out);
    show_address_json(out, sw_tensors_address(tensors));
    fprintf(out, ", \"published_unix_ns\": %" PRId64 ", \"tensors\": [",
            sw_tensors_published_unix_ns(tensors));
    for (uint32_t i = 0; i < sw_tensors_count(tensors); i++) {
        const sw_tensor_view *view = sw_tensors_view(tensors, i);
        fprintf(out, "%s{\"name\": ", i ? ", " : "");
        json_write_string(out, sw_tensors_name(tensors, i));
        fprintf(out, ", \"dtype\": \"%s\", \"shape\": ", sw_dtype_name(view->dtype));
        json_write_shape(out, view);
        fprintf(out, ", \"bytes\": %zu}", view->size);
    }
    fputs("]}\n", out);
}

void show_manifest_table(FILE *out, const sw_tensors *tensors) {
    put_heading(out, sw_tensors_address(tensors), SW_TENSORS);
    struct text_table table;
    text_table_init(&table, 4, (const char *const[]){"name", "dtype", "shape", "bytes"});
    for (uint32_t i = 0; i < sw_tensors_count(tensors); i++) {
        const sw_tensor_view *view = sw_tensors_view(tensors, i);
        struct text_table_cell cell;
        text_table_add(&table, "%s", sw_tensors_name(tensors, i));
        text_table_add(&table, "%s", sw_dtype_name(view->dtype));
        json_write_shape(text_table_cell_open(&cell), view);
        text_table_cell_close(&table, &cell);
        text_table_add(&table, "%zu", view->size);
    }
    text_table_print(&table, out);
    text_table_destroy(&table);
}
