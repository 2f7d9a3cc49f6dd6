#include <stdio.h>
#include <string.h>

#include "proto/base/buffer.h"
#include "proto/wire/tensors.h"
#include "tests/support/test.h"
#include "tests/unit/wire/failing.h"

Test(dtype, each_has_its_name_and_size_and_no_other_number_has) {
    static const struct {
        sw_dtype dtype;
        const char *name;
        size_t size;
    } rows[] = {
        {1, "BOOL", 1},          {2, "U8", 1},           {3, "I8", 1},           {4, "U16", 2},
        {5, "I16", 2},           {6, "U32", 4},          {7, "I32", 4},          {8, "U64", 8},
        {9, "I64", 8},           {10, "F16", 2},         {11, "BF16", 2},        {12, "F32", 4},
        {13, "F64", 8},          {14, "C64", 8},         {15, "C128", 16},       {16, "F8_E4M3FN", 1},
        {17, "F8_E5M2", 1},      {18, "F8_E4M3FNUZ", 1}, {19, "F8_E5M2FNUZ", 1}, {20, "F8_E8M0FNU", 1},
        {21, "F4_E2M1FN_X2", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert_str_eq(sw_dtype_name(rows[i].dtype), rows[i].name);
        cr_assert_eq(sw_dtype_from_name(rows[i].name), rows[i].dtype);
        cr_assert_eq(sw_dtype_size(rows[i].dtype), rows[i].size);
    }
    cr_assert_null(sw_dtype_name((sw_dtype)0));
    cr_assert_null(sw_dtype_name((sw_dtype)22));
    cr_assert_eq(sw_dtype_size((sw_dtype)22), 0);
    cr_assert_eq((int)sw_dtype_from_name("F33"), 0);
    cr_assert_eq((int)sw_dtype_from_name(NULL), 0);
}

Test(dtype, a_shape_of_every_rank_up_to_16_has_its_bytes) {
    int64_t shape[SW_TENSOR_RANK_MAX + 1];
    uint64_t bytes;
    for (uint32_t rank = 0; rank <= SW_TENSOR_RANK_MAX; rank++) {
        for (uint32_t i = 0; i < rank; i++) shape[i] = 2;
        cr_assert(sw_tensor_bytes(SW_F32, rank, shape, &bytes));
        cr_assert_eq(bytes, UINT64_C(4) << rank);
    }
    shape[SW_TENSOR_RANK_MAX] = 2;
    cr_assert_not(sw_tensor_bytes(SW_F32, SW_TENSOR_RANK_MAX + 1, shape, &bytes));
}

Test(dtype, a_product_that_does_not_fit_is_refused_wherever_a_zero_stands) {
    uint64_t bytes = 7;
    cr_assert_not(sw_tensor_bytes(SW_U8, 1, (int64_t[]){-1}, &bytes));
    cr_assert_not(sw_tensor_bytes(SW_U8, 2, (int64_t[]){-1, -1}, &bytes));
    cr_assert_not(sw_tensor_bytes(SW_U8, 1, (int64_t[]){INT64_MIN}, &bytes));
    cr_assert_not(sw_tensor_bytes(SW_U16, 1, (int64_t[]){INT64_MAX}, &bytes));
    cr_assert_not(sw_tensor_bytes(SW_U8, 2, (int64_t[]){INT64_C(1) << 32, INT64_C(1) << 32}, &bytes));
    cr_assert_not(sw_tensor_bytes(SW_U16, 3, (int64_t[]){0, INT64_MAX, 1}, &bytes));
    cr_assert_not(sw_tensor_bytes(SW_U16, 3, (int64_t[]){INT64_MAX, 1, 0}, &bytes));
    cr_assert_eq(bytes, 7, "written only on success");
    cr_assert(sw_tensor_bytes(SW_U8, 1, (int64_t[]){INT64_MAX}, &bytes));
    cr_assert_eq(bytes, INT64_MAX);
    cr_assert(sw_tensor_bytes(SW_C128, 3, (int64_t[]){3, 0, 1000}, &bytes));
    cr_assert_eq(bytes, 0);
}

Test(tensors, a_tensor_is_cut_into_blocks_of_which_the_last_is_shorter) {
    cr_assert_eq(tensor_blocks(0, 1024), 0);
    cr_assert_eq(tensor_blocks(1, 1024), 1);
    cr_assert_eq(tensor_blocks(1024, 1024), 1);
    cr_assert_eq(tensor_blocks(1025, 1024), 2);
    cr_assert_eq(tensor_blocks(UINT64_MAX, 1024), UINT64_C(1) << 54);
    cr_assert_eq(tensor_block_size(1025, 1024, 0), 1024);
    cr_assert_eq(tensor_block_size(1025, 1024, 1), 1);
    cr_assert_eq(tensor_block_size(2048, 1024, 1), 1024);
}

static const int64_t shape[] = {3, 1000};

static struct tensor_info info_of(const char *name) {
    return (struct tensor_info){name, SW_U8, 2, shape, 3000, 0};
}

static struct tensor_set *set_of(const struct tensor_info *infos, uint32_t count) {
    struct tensor_set *set = tensor_set_create(infos, count, 1024, &allocator_system);
    cr_assert_not_null(set);
    return set;
}

static void fill(struct tensor *tensor, int byte) {
    void *data;
    cr_assert_eq(buffer_create(tensor->info.byte_length, &tensor->bytes, &data, NULL), SW_OK);
    memset(data, byte, tensor->info.byte_length);
    tensor_hash(tensor, 1024);
}

Test(tensors, a_set_has_copies_of_its_infos) {
    char name[] = "weight";
    struct tensor_info info = info_of(name);
    struct tensor_set *set = set_of(&info, 1);
    name[0] = 'X';
    cr_assert_str_eq(set->tensors[0].info.name, "weight");
    cr_assert_neq(set->tensors[0].info.shape, shape);
    cr_assert_eq(set->tensors[0].info.shape[1], 1000);
    cr_assert_eq(set->byte_length, 3000);
    cr_assert_null(set->tensors[0].bytes);
    cr_assert_eq(set->tensors[0].block_hashes[2], 0);
    tensor_set_unref(tensor_set_ref(set));
    tensor_set_unref(set);
    tensor_set_unref(NULL);
}

Test(tensors, each_of_many_is_found_by_its_name) {
    enum { COUNT = 3000 };
    static char names[COUNT][16];
    static struct tensor_info infos[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "layer.%u", i);
        infos[i] = (struct tensor_info){names[i], SW_U8, 0, NULL, 1, 0};
    }
    struct tensor_set *set = set_of(infos, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) cr_assert_eq(tensor_set_find(set, names[i], strlen(names[i])), i);
    cr_assert_eq(tensor_set_find(set, "layer.", 6), -1);
    cr_assert_eq(tensor_set_find(set, "", 0), -1);
    cr_assert_eq(tensor_set_find(set, "layer.12345", 7), 1, "the size counts, not the NUL");
    tensor_set_unref(set);
    set = set_of(NULL, 0);
    cr_assert_eq(tensor_set_find(set, "x", 1), -1);
    tensor_set_unref(set);
}

/* From the xxHash reference implementation: XXH3-64 with seed 0. */
Test(tensors, blocks_are_hashed_with_xxh3) {
    cr_assert_eq(block_hash("", 0), UINT64_C(0x2D06800538D394C2));
    cr_assert_eq(block_hash("a", 1), UINT64_C(0xE6C632B61E964E1F));
    cr_assert_eq(block_hash("abc", 3), UINT64_C(0x78AF5F94892F3950));
}

Test(tensors, the_digest_is_the_hash_of_the_block_hashes) {
    struct tensor_info infos[] = {info_of("a"), {"empty", SW_F32, 1, (int64_t[]){0}, 0, 0}};
    struct tensor_set *set = set_of(infos, 2);
    struct tensor *tensor = &set->tensors[0];
    fill(tensor, 7);
    fill(&set->tensors[1], 7);
    const uint8_t *data = sw_buffer_data(tensor->bytes);
    uint64_t hashes[3] = {block_hash(data, 1024), block_hash(data + 1024, 1024),
                          block_hash(data + 2048, 952)};
    cr_assert_eq(memcmp(hashes, tensor->block_hashes, sizeof hashes), 0);
    cr_assert_eq(tensor->info.digest, block_hash(hashes, sizeof hashes));
    cr_assert_eq(set->tensors[1].info.digest, block_hash("", 0));
    tensor_set_unref(set);
}

static struct digest digest_of(const struct tensor_info *infos, uint32_t count, uint32_t block_bytes) {
    struct tensor_set *set = tensor_set_create(infos, count, block_bytes, &allocator_system);
    cr_assert_not_null(set);
    struct digest digest = tensor_set_digest(set);
    tensor_set_unref(set);
    return digest;
}

Test(tensors, the_digest_of_a_set_does_not_know_its_order) {
    struct tensor_info a = info_of("a"), b = info_of("b");
    a.digest = 1, b.digest = 2;
    struct digest first = digest_of((struct tensor_info[]){a, b}, 2, 1024);
    cr_assert(digest_equal(first, digest_of((struct tensor_info[]){b, a}, 2, 1024)));
    a.digest = 2, b.digest = 1;
    cr_assert_not(digest_equal(first, digest_of((struct tensor_info[]){a, b}, 2, 1024)));
}

Test(tensors, the_digest_of_a_set_knows_everything_else) {
    const struct tensor_info plain = info_of("a");
    struct tensor_info changed[6] = {plain, plain, plain, plain, plain, plain};
    changed[0].name = "b";
    changed[1].dtype = SW_I8;
    changed[2].shape = (int64_t[]){1000, 3};
    changed[3].digest = 1;
    changed[4].rank = 1;
    changed[5].byte_length = 1;
    struct digest digest = digest_of(&plain, 1, 1024);
    for (size_t i = 0; i < 6; i++)
        cr_assert_not(digest_equal(digest, digest_of(&changed[i], 1, 1024)), "%zu", i);
    cr_assert_not(digest_equal(digest, digest_of(&plain, 1, 2048)));
    cr_assert_not(digest_equal(digest, digest_of(&plain, 0, 1024)));
}

Test(tensors, without_memory_there_is_no_set_and_no_leak) {
    static struct tensor_info infos[100];
    for (size_t i = 0; i < 100; i++) infos[i] = info_of("some name that takes room in the set");
    for (size_t n = 0;; n++) {
        struct failing failing;
        failing_init(&failing, n);
        struct tensor_set *set = tensor_set_create(infos, 100, 1024, &failing.allocator);
        bool done = set != NULL;
        tensor_set_unref(set);
        cr_assert_eq(failing.out, 0);
        if (done) break;
        cr_assert_lt(n, 100);
    }
}

Test(tensors, a_length_beyond_all_memory_is_refused_and_a_sum_does_not_wrap) {
    struct tensor_info info = {"a", SW_U8, 0, NULL, UINT64_MAX, 0};
    cr_assert_null(tensor_set_create(&info, 1, 1, &allocator_system));
}
