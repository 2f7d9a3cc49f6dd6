#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/limits.h"
#include "proto/wire/value_codec.h"
#include "tests/support/test.h"
#include "tests/unit/wire/values.h"

static struct arena arena, other_arena;

static void begin(void) {
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
    arena_init(&other_arena, &allocator_system, LIMIT_DECODE_BYTES);
}
static void end(void) {
    arena_destroy(&arena);
    arena_destroy(&other_arena);
}
TestSuite(value, .init = begin, .fini = end);

static const sw_value *there_and_back(const sw_value *value) {
    sw_buffer *bytes;
    sw_error error = {0};
    const sw_value *decoded;
    cr_assert_eq(value_encode(value, false, &bytes, NULL, &error), SW_OK, "%s", error.message);
    cr_assert_eq(value_decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &arena, &decoded, &error), SW_OK,
                 "%s", error.message);
    sw_buffer_unref(bytes);
    return decoded;
}

static const sw_value *metrics_there_and_back(const sw_value *metrics) {
    sw_buffer *bytes;
    sw_error error = {0};
    const sw_value *decoded;
    cr_assert_eq(metrics_encode(metrics, false, &bytes, NULL, &error), SW_OK, "%s", error.message);
    cr_assert_eq(metrics_decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &arena, &decoded, &error),
                 SW_OK, "%s", error.message);
    sw_buffer_unref(bytes);
    return decoded;
}

Test(value, every_kind_stays_what_it_is_to_the_bit_and_in_its_order) {
    cr_assert(values_identical(every_kind(), metrics_there_and_back(every_kind())));
    cr_assert(values_identical(every_kind(), there_and_back(every_kind())));
    for (size_t i = 0; i < every_kind()->dict.count; i++) {
        const sw_value *value = &every_kind()->dict.entries[i].value;
        cr_assert(values_identical(value, there_and_back(value)), "%zu", i);
    }
}

Test(value, a_payload_arrives_in_its_shape) {
    const sw_value empty = sw_dict(NULL, 0);
    const sw_value shapes[] = {sw_list(NULL, 0), empty, sw_list(&empty, 1)};
    struct digest digests[3];
    for (int i = 0; i < 3; i++) {
        sw_buffer *bytes;
        cr_assert(values_identical(&shapes[i], metrics_there_and_back(&shapes[i])));
        cr_assert_eq(metrics_encode(&shapes[i], false, &bytes, &digests[i], NULL), SW_OK);
        sw_buffer_unref(bytes);
    }
    cr_assert_not(digest_equal(digests[0], digests[1]));
    cr_assert_not(digest_equal(digests[1], digests[2]));
    cr_assert_not(digest_equal(digests[0], digests[2]));
}

Test(value, a_list_of_dicts_keeps_each_of_them) {
    const sw_value items[] = {*every_kind(), sw_dict(NULL, 0), *every_kind()};
    const sw_value list = sw_list(items, 3);
    cr_assert(values_identical(&list, metrics_there_and_back(&list)));
}

Test(value, every_dtype_travels_inside_a_value) {
    for (int dtype = 1; dtype <= 21; dtype++) {
        uint8_t data[6 * 16];
        memset(data, dtype, sizeof data);
        sw_value value = {
            .kind = SW_VALUE_TENSOR,
            .tensor = {(sw_dtype)dtype, 2, (int64_t[]){2, 3}, data, 6 * sw_dtype_size((sw_dtype)dtype)}};
        const sw_value *decoded = there_and_back(&value);
        cr_assert(values_identical(&value, decoded));
        cr_assert_eq((uintptr_t)decoded->tensor.data % 16, 0, "aligned for its elements");
    }
}

Test(value, ranks_from_0_to_16_travel_and_17_does_not) {
    int64_t shape[17];
    for (uint32_t rank = 0; rank <= 17; rank++) {
        for (uint32_t i = 0; i < rank; i++) shape[i] = 1;
        sw_value value = {.kind = SW_VALUE_TENSOR, .tensor = {SW_I32, rank, shape, "abcd", 4}};
        sw_error error;
        sw_buffer *bytes;
        if (rank <= 16) {
            cr_assert(values_identical(&value, there_and_back(&value)));
        } else {
            cr_assert_eq(value_encode(&value, false, &bytes, NULL, &error), SW_INVALID_ARGUMENT);
            cr_assert_eq(error.reason, SW_REASON_MALFORMED);
        }
    }
}

Test(value, ten_thousand_keys_keep_their_order) {
    enum { KEYS = 10000 };
    static char names[KEYS][16];
    static sw_entry entries[KEYS];
    for (int i = 0; i < KEYS; i++) {
        snprintf(names[i], sizeof names[i], "key%d", (i * 7919) % KEYS);
        entries[i] = (sw_entry){sw_text_of(names[i]), sw_number(i)};
    }
    const sw_value dict = sw_dict(entries, KEYS);
    cr_assert(values_identical(&dict, metrics_there_and_back(&dict)));
    entries[KEYS - 1].key = sw_text_of(names[3]);
    sw_buffer *bytes;
    sw_error error;
    cr_assert_eq(metrics_encode(&dict, false, &bytes, NULL, &error), SW_INVALID_ARGUMENT);
    char path[40];
    snprintf(path, sizeof path, "metrics.%s", names[3]);
    cr_assert_str_eq(sw_error_metadata(&error, "path"), path);
}

Test(value, depth_16_travels_and_17_does_not) {
    sw_buffer *bytes = NULL;
    sw_error error;
    for (unsigned depth = 1; depth <= 16; depth++) {
        cr_assert(values_identical(nested(depth), metrics_there_and_back(nested(depth))));
        cr_assert(values_identical(nested(depth), there_and_back(nested(depth))));
    }
    cr_assert_eq(metrics_encode(nested(17), false, &bytes, NULL, &error), SW_INVALID_ARGUMENT);
    cr_assert_eq(error.reason, SW_REASON_MALFORMED);
    cr_assert_str_eq(sw_error_metadata(&error, "path"), "metrics.k[0][0].k[0][0].k[0][0].k[0][0]");
    cr_assert_eq(value_encode(nested(17), false, &bytes, NULL, NULL), SW_INVALID_ARGUMENT);
    cr_assert_null(bytes, "written only on success");
}

Test(value, the_dicts_of_a_list_are_the_first_level) {
    sw_buffer *bytes;
    sw_value list = sw_list(nested(16), 1);
    cr_assert(values_identical(&list, metrics_there_and_back(&list)));
    list = sw_list(nested(17), 1);
    cr_assert_eq(metrics_encode(&list, false, &bytes, NULL, NULL), SW_INVALID_ARGUMENT);
}

/* `depth` lists within each other, as wire bytes from the inside out. */
static size_t lists_on_the_wire(unsigned depth, uint8_t *out, size_t room) {
    uint8_t *at = out + room;
    size_t size = 2;
    at -= 2;
    memcpy(at, (uint8_t[]){0x08, 0x00}, 2);
    for (unsigned i = 0; i < depth; i++) {
        for (uint8_t tag = 0x0a; tag != 0; tag = tag == 0x0a ? 0x42 : 0) {
            size_t length = size;
            uint8_t digits[10];
            size_t count = 0;
            for (; length >= 0x80; length >>= 7) digits[count++] = (uint8_t)(length | 0x80);
            digits[count++] = (uint8_t)length;
            at -= count;
            memcpy(at, digits, count);
            *--at = tag;
            size += count + 1;
        }
    }
    memmove(out, at, size);
    return size;
}

Test(value, a_message_that_nests_without_end_is_refused_before_it_costs_anything) {
    enum { ROOM = 1 << 20 };
    uint8_t *data = malloc(ROOM);
    const sw_value *decoded;
    sw_error error;
    size_t size = lists_on_the_wire(16, data, ROOM);
    cr_assert_eq(value_decode(data, size, &arena, &decoded, &error), SW_OK);
    for (unsigned depth = 17; depth < 200000; depth *= 3) {
        size = lists_on_the_wire(depth, data, ROOM);
        struct arena small;
        arena_init(&small, &allocator_system, size + 4096);
        cr_assert_eq(value_decode(data, size, &small, &decoded, &error), SW_INVALID_ARGUMENT);
        cr_assert_eq(error.reason, SW_REASON_MALFORMED);
        cr_assert_str_eq(sw_error_metadata(&error, "path"),
                         "value[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]");
        arena_destroy(&small);
    }
    free(data);
}

Test(value, random_values_come_back_the_same) {
    for (unsigned seed = 1; seed <= 3000; seed++) {
        const sw_value *value = random_value(&other_arena, seed, 40);
        cr_assert(values_identical(value, there_and_back(value)), "seed %u", seed);
        const sw_value *metrics = random_metrics(&other_arena, seed, 40);
        cr_assert(values_identical(metrics, metrics_there_and_back(metrics)), "seed %u", seed);
        end();
        begin();
    }
}

/* ---- sizes ---- */

static sw_value dict_with_text(sw_entry *entry, char *text, size_t size) {
    *entry = (sw_entry){sw_text_of("t"), {.kind = SW_VALUE_TEXT, .bytes = {text, size}}};
    return sw_dict(entry, 1);
}

Test(value, a_payload_of_exactly_the_limit_travels_and_a_byte_more_is_too_large) {
    char *text = malloc(SW_MESSAGE_MAX);
    memset(text, 'x', SW_MESSAGE_MAX);
    sw_entry entry;
    sw_buffer *bytes;
    sw_error error;
    sw_value dict = dict_with_text(&entry, text, SW_MESSAGE_MAX - 23);
    cr_assert_eq(metrics_encode(&dict, false, &bytes, NULL, &error), SW_OK);
    cr_assert_eq(sw_buffer_size(bytes), SW_MESSAGE_MAX);
    sw_buffer_unref(bytes);
    dict = dict_with_text(&entry, text, SW_MESSAGE_MAX - 22);
    cr_assert_eq(metrics_encode(&dict, false, &bytes, NULL, &error), SW_INVALID_ARGUMENT);
    cr_assert_eq(error.reason, SW_REASON_TOO_LARGE);
    cr_assert_eq(value_encode(&dict, false, &bytes, NULL, NULL), SW_INVALID_ARGUMENT);
    cr_assert_eq(metrics_encode(&dict, true, &bytes, NULL, &error), SW_OK, "whatever its size");
    cr_assert_eq(sw_buffer_size(bytes), SW_MESSAGE_MAX + 1);
    sw_buffer_unref(bytes);
    free(text);
}

Test(value, what_is_malformed_is_said_so_however_large_it_is) {
    char *text = calloc(1, 5u << 20);
    const sw_entry entries[] = {{sw_text_of("a"), {.kind = SW_VALUE_TEXT, .bytes = {text, 5u << 20}}},
                                {sw_text_of("b"), sw_text("\xff")}};
    const sw_value dict = sw_dict(entries, 2);
    sw_buffer *bytes;
    sw_error error;
    cr_assert_eq(metrics_encode(&dict, false, &bytes, NULL, &error), SW_INVALID_ARGUMENT);
    cr_assert_eq(error.reason, SW_REASON_MALFORMED);
    cr_assert_str_eq(sw_error_metadata(&error, "path"), "metrics.b");
    free(text);
}

Test(value, sizes_beyond_all_memory_do_not_wrap) {
    sw_value items[4];
    for (int i = 0; i < 4; i++) items[i] = blob_of("x", SIZE_MAX / 4 + 1);
    const sw_value list = sw_list(items, 4);
    sw_buffer *bytes;
    sw_error error;
    cr_assert_eq(value_encode(&list, true, &bytes, NULL, &error), SW_INVALID_ARGUMENT);
    cr_assert_eq(error.reason, SW_REASON_TOO_LARGE);
    items[0] = blob_of("x", SIZE_MAX);
    cr_assert_eq(value_encode(&items[0], true, &bytes, NULL, &error), SW_INVALID_ARGUMENT);
    cr_assert_eq(error.reason, SW_REASON_TOO_LARGE);
}

Test(value, a_message_that_swells_beyond_its_budget_is_too_large) {
    enum { SIZE = 1 << 20 };
    uint8_t *data = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i += 4) memcpy(data + i, (uint8_t[]){0x0a, 0x02, 0x08, 0x00}, 4);
    uint8_t *message = malloc(SIZE + 5);
    memcpy(message, (uint8_t[]){0x42, 0x80, 0x80, 0x40}, 4);
    memcpy(message + 4, data, SIZE);
    struct arena small;
    arena_init(&small, &allocator_system, 2 * SIZE);
    const sw_value *decoded;
    sw_error error;
    cr_assert_eq(value_decode(message, SIZE + 4, &small, &decoded, &error), SW_INVALID_ARGUMENT);
    cr_assert_eq(error.reason, SW_REASON_TOO_LARGE);
    cr_assert_eq(value_decode(message, SIZE + 4, &arena, &decoded, &error), SW_OK);
    cr_assert_eq(decoded->list.count, SIZE / 4);
    arena_destroy(&small);
    free(data);
    free(message);
}

Test(value, the_smallest_values_that_fill_a_message_fit_the_budget_of_decoding) {
    size_t count = (SW_MESSAGE_MAX - 5) / 4;
    sw_value *items = calloc(count, sizeof *items);
    const sw_value list = sw_list(items, count);
    cr_assert(values_identical(&list, there_and_back(&list)));
    free(items);
}
