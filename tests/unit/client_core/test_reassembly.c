#include <stdlib.h>
#include <string.h>

#include "proto/base/buffer.h"
#include "tests/support/test.h"
#include "tests/unit/client_core/stream.h"

static const uint64_t sizes[] = {5 * STREAM_BLOCK + 17, 0, 1, 3 * STREAM_BLOCK};
enum { TENSORS = 4 };

static struct item item;
static struct wishes wishes;
static sw_address asked;
static struct reassembly *assembly;
static sw_error error;

static void set_up(void) {
    item_create(&item, sizes, TENSORS, 0);
    asked = item.manifest.address;
}

static void tear_down(void) {
    reassembly_destroy(assembly);
    wishes_destroy(&wishes);
    item_destroy(&item);
}

TestSuite(reassembly, .init = set_up, .fini = tear_down);

static void begin(const sw_tensor_request *requests, uint32_t count, bool manifest_only) {
    cr_assert_eq(wishes_init(&wishes, requests, count, &error), SW_OK, "%s", error.message);
    struct reassembly_options options = {.wishes = &wishes,
                                         .asked = &asked,
                                         .manifest_only = manifest_only,
                                         .allocate = buffer_create,
                                         .allocator = &allocator_system};
    assembly = reassembly_create(&options);
}

static enum reassembly_news take(struct message message) {
    enum reassembly_news news = -1;
    cr_assert_eq(feed(assembly, message, 1 << 20, &news, &error), SW_OK, "%s", error.message);
    return news;
}

static void refuse(struct message message, const char *why) {
    enum reassembly_news news;
    cr_assert_eq(feed(assembly, message, 1 << 20, &news, &error), SW_DATA_LOSS);
    cr_assert_eq(error.reason, SW_REASON_CHECKSUM);
    cr_assert_not_null(strstr(error.message, why), "%s", error.message);
    cr_assert_not_null(strstr(error.message, "stage 3"), "%s", error.message);
}

static void take_all_blocks(void) {
    for (uint32_t tensor = 0; tensor < TENSORS; tensor++)
        for (uint64_t block = 0; block < tensor_blocks(sizes[tensor], STREAM_BLOCK); block++)
            take(item_block(&item, tensor, block));
}

static sw_tensors *finish(void) {
    sw_tensors *tensors;
    cr_assert(reassembly_whole(assembly));
    cr_assert_eq(reassembly_finish(assembly, &tensors, &error), SW_OK, "%s", error.message);
    return tensors;
}

static void check_tensor(const sw_tensors *tensors, uint32_t place, uint32_t index) {
    const sw_tensor_view *view = sw_tensors_view(tensors, place);
    cr_assert_str_eq(sw_tensors_name(tensors, place), item.infos[index].name);
    cr_assert_eq(sw_tensors_find(tensors, item.infos[index].name), view);
    cr_assert_eq(view->dtype, SW_U8);
    cr_assert_eq(view->rank, 1);
    cr_assert_eq(view->shape[0], (int64_t)sizes[index]);
    cr_assert_eq(view->size, sizes[index]);
    cr_assert_not_null(view->data);
    cr_assert_eq(memcmp(view->data, item.bytes[index], sizes[index]), 0);
}

Test(reassembly, an_item_is_put_together_whole) {
    begin(NULL, 0, false);
    cr_assert_null(reassembly_manifest(assembly));
    cr_assert_eq(take(item_manifest(&item)), REASSEMBLY_MANIFEST);
    cr_assert_eq(reassembly_manifest(assembly)->pin, 99);
    cr_assert_not(reassembly_whole(assembly));
    take_all_blocks();
    sw_tensors *tensors = finish();
    cr_assert_eq(sw_tensors_count(tensors), TENSORS);
    for (uint32_t i = 0; i < TENSORS; i++) check_tensor(tensors, i, i);
    cr_assert_eq(sw_tensors_address(tensors)->step, 7);
    cr_assert_eq(sw_tensors_published_unix_ns(tensors), 42);
    cr_assert_null(sw_tensors_view(tensors, TENSORS));
    cr_assert_null(sw_tensors_name(tensors, TENSORS));
    cr_assert_null(sw_tensors_find(tensors, "t9"));
    sw_tensors_destroy(tensors);
}

Test(reassembly, messages_may_be_cut_anywhere_and_blocks_come_in_any_order) {
    static const size_t pieces[] = {1, 2, 3, 7, 64, 1000, 4096};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        begin(NULL, 0, false);
        enum reassembly_news news;
        cr_assert_eq(feed(assembly, item_manifest(&item), pieces[i], &news, &error), SW_OK);
        for (int tensor = TENSORS - 1; tensor >= 0; tensor--)
            for (uint64_t block = tensor_blocks(sizes[tensor], STREAM_BLOCK); block-- > 0;)
                cr_assert_eq(
                    feed(assembly, item_block(&item, (uint32_t)tensor, block), pieces[i], &news, &error),
                    SW_OK);
        sw_tensors *tensors = finish();
        for (uint32_t t = 0; t < TENSORS; t++) check_tensor(tensors, t, t);
        sw_tensors_destroy(tensors);
        reassembly_destroy(assembly);
        assembly = NULL;
        wishes_destroy(&wishes);
    }
}

Test(reassembly, tensors_go_into_the_callers_memory_and_come_in_the_order_of_the_wishes) {
    uint8_t *memory = malloc(sizes[3]);
    begin((sw_tensor_request[]){{"t3", memory, sizes[3]}, {.name = "t1"}, {.name = "t0"}}, 3, false);
    take(item_manifest(&item));
    for (uint64_t i = 0; i < 3; i++) take(item_block(&item, 3, i));
    for (uint64_t i = 0; i < 6; i++) take(item_block(&item, 0, i));
    sw_tensors *tensors = finish();
    cr_assert_eq(sw_tensors_count(tensors), 3);
    check_tensor(tensors, 0, 3);
    check_tensor(tensors, 1, 1);
    check_tensor(tensors, 2, 0);
    cr_assert_eq(sw_tensors_view(tensors, 0)->data, memory);
    sw_tensors_destroy(tensors);
    cr_assert_eq(memcmp(memory, item.bytes[3], sizes[3]), 0, "it stays the caller's");
    free(memory);
}

Test(reassembly, memory_that_does_not_fit_is_not_written) {
    uint8_t memory[2] = {0xaa, 0xaa}, fits[1] = {0xaa};
    begin((sw_tensor_request[]){{"t2", fits, 1}, {"t0", memory, 2}}, 2, false);
    enum reassembly_news news;
    cr_assert_eq(feed(assembly, item_manifest(&item), 99, &news, &error), SW_INVALID_ARGUMENT);
    cr_assert_eq(memory[0], 0xaa);
    cr_assert_eq(fits[0], 0xaa);
}

Test(reassembly, a_manifest_alone_says_everything_but_the_bytes) {
    begin(NULL, 0, true);
    take(item_manifest(&item));
    sw_tensors *tensors = finish();
    cr_assert_eq(sw_tensors_count(tensors), TENSORS);
    for (uint32_t i = 0; i < TENSORS; i++) {
        cr_assert_null(sw_tensors_view(tensors, i)->data);
        cr_assert_eq(sw_tensors_find(tensors, item.infos[i].name)->size, sizes[i]);
    }
    sw_tensors_destroy(tensors);
}

/* Whatever single bit is turned in whatever message: an error, or the very bytes. */
Test(reassembly, a_flipped_bit_never_changes_a_tensor) {
    item_destroy(&item);
    item_create(&item, (uint64_t[]){40, 3}, 2, 0);
    enum { MESSAGES = 3 };
    unsigned refused = 0, passed = 0;
    for (int bent = 0; bent < MESSAGES; bent++) {
        for (size_t bit = 0;; bit++) {
            struct message messages[MESSAGES] = {item_manifest(&item), item_block(&item, 0, 0),
                                                 item_block(&item, 1, 0)};
            bool is_end = bit >= messages[bent].size * 8;
            if (!is_end) messages[bent].data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            begin(NULL, 0, false);
            sw_status status = SW_OK;
            for (int i = 0; i < MESSAGES; i++) {
                enum reassembly_news news;
                sw_status now = feed(assembly, messages[i], 64, &news, &error);
                if (status == SW_OK) status = now;
            }
            sw_tensors *tensors;
            if (status == SW_OK && reassembly_whole(assembly) &&
                reassembly_finish(assembly, &tensors, &error) == SW_OK) {
                cr_assert_eq(memcmp(sw_tensors_view(tensors, 0)->data, item.bytes[0], 40), 0);
                cr_assert_eq(memcmp(sw_tensors_view(tensors, 1)->data, item.bytes[1], 3), 0);
                sw_tensors_destroy(tensors);
                passed++;
            } else {
                refused++;
            }
            reassembly_destroy(assembly);
            assembly = NULL;
            wishes_destroy(&wishes);
            if (is_end) break;
        }
    }
    cr_assert_gt(refused, passed);
}

static struct message bent_block(uint32_t tensor, uint64_t block, size_t byte) {
    struct message message = item_block(&item, tensor, block);
    message.data[message.size - 1 - byte] ^= 1;
    return message;
}

Test(reassembly, a_block_that_does_not_match_its_hash_is_data_loss) {
    begin(NULL, 0, false);
    take(item_manifest(&item));
    refuse(bent_block(0, 2, 5), "block 2 of tensor \"t0\" does not match its hash");
    cr_assert_eq(reassembly_blocks_arrived(assembly), 0);
}

Test(reassembly, a_block_that_does_not_match_its_hash_is_not_written) {
    uint8_t *memory = calloc(1, sizes[3]), *before = calloc(1, sizes[3]);
    begin((sw_tensor_request[]){{"t3", memory, sizes[3]}}, 1, false);
    take(item_manifest(&item));
    refuse(bent_block(3, 1, 5), "block 1 of tensor \"t3\" does not match its hash");
    cr_assert_eq(memcmp(memory, before, sizes[3]), 0);
    free(memory);
    free(before);
}

Test(reassembly, blocks_without_a_hash_are_caught_by_the_digest) {
    begin(NULL, 0, false);
    take(item_manifest(&item));
    take_all_blocks();
    reassembly_destroy(assembly);
    wishes_destroy(&wishes);
    begin((sw_tensor_request[]){{.name = "t2"}}, 1, false);
    take(item_manifest(&item));
    take(block_message(&(struct chunk_header){.tensor = 2, .size = 1}, "?"));
    cr_assert(reassembly_whole(assembly));
    sw_tensors *tensors;
    cr_assert_eq(reassembly_finish(assembly, &tensors, &error), SW_DATA_LOSS);
    cr_assert_eq(error.reason, SW_REASON_CHECKSUM);
    cr_assert_not_null(strstr(error.message, "\"t2\" does not match its digest"));
}

Test(reassembly, a_block_that_nobody_asked_for_or_in_no_place_is_data_loss) {
    static const uint8_t bytes[STREAM_BLOCK];
    begin((sw_tensor_request[]){{.name = "t0"}}, 1, false);
    take(item_manifest(&item));
    refuse(item_block(&item, 3, 0), "not asked for");
    refuse(block_message(&(struct chunk_header){.tensor = 9, .size = 1}, bytes), "not asked for");
    refuse(block_message(&(struct chunk_header){.block = 6, .size = 17}, bytes), "outside");
    refuse(block_message(&(struct chunk_header){.block = UINT64_MAX / STREAM_BLOCK, .size = 17}, bytes),
           "outside");
    refuse(block_message(&(struct chunk_header){.block = 5, .size = 18}, bytes), "wrong size");
    refuse(block_message(&(struct chunk_header){.block = 5, .size = 0}, bytes), "wrong size");
    refuse(block_message(&(struct chunk_header){.block = 4, .size = STREAM_BLOCK - 1}, bytes), "wrong size");
}

Test(reassembly, a_block_that_comes_twice_must_be_the_same) {
    begin(NULL, 0, false);
    take(item_manifest(&item));
    take(item_block(&item, 2, 0));
    take(item_block(&item, 2, 0));
    cr_assert_eq(reassembly_blocks_arrived(assembly), 1);
    cr_assert_gt(reassembly_bytes_arrived(assembly), 0);
    cr_assert_lt(reassembly_bytes_arrived(assembly), reassembly_bytes_in_all(assembly));
    refuse(block_message(&(struct chunk_header){.tensor = 2, .size = 1}, "?"), "twice");
}

Test(reassembly, a_stream_begins_with_one_manifest_and_goes_on_with_blocks) {
    begin(NULL, 0, false);
    refuse(item_block(&item, 0, 0), "does not begin with a manifest");
    take(item_manifest(&item));
    refuse(item_manifest(&item), "not a block");
    struct message empty = {malloc(1), 0};
    refuse(empty, "not a block");
}

Test(reassembly, an_answer_for_another_item_is_refused) {
    const sw_address other[] = {
        {.generation = 1, .has_stage = true, .stage = 3, .channel = "train", .step = 8},
        {.generation = 1, .has_stage = true, .stage = 3, .channel = "train", .step = 7, .call = 1},
        {.generation = 1, .has_stage = true, .stage = 2, .channel = "train", .step = 7},
        {.generation = 1, .has_stage = true, .stage = 3, .channel = "eval", .step = 7},
        {.generation = 2, .has_stage = true, .stage = 3, .channel = "train", .step = 7},
    };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        begin(NULL, 0, false);
        item.manifest.address = other[i];
        refuse(item_manifest(&item), "another item");
        reassembly_destroy(assembly);
        assembly = NULL;
        wishes_destroy(&wishes);
    }
}

/* ---- streams that break ---- */

static const struct tensor_range *ranges_of(struct arena *arena, uint32_t count) {
    const struct tensor_range *ranges;
    uint32_t found;
    cr_assert_eq(reassembly_ranges(assembly, arena, &ranges, &found, &error), SW_OK);
    cr_assert_eq(found, count, "%u", found);
    return ranges;
}

Test(reassembly, the_next_stream_is_asked_for_exactly_what_is_missing) {
    struct arena arena;
    arena_init(&arena, &allocator_system, 1 << 20);
    begin(NULL, 0, false);
    ranges_of(&arena, 0);
    take(item_manifest(&item));
    take(item_block(&item, 0, 0));
    take(item_block(&item, 0, 3));
    take(item_block(&item, 3, 2));
    const struct tensor_range *ranges = ranges_of(&arena, 4);
    cr_assert_str_eq(ranges[0].name, "t0");
    cr_assert_eq(ranges[0].first_block, 1);
    cr_assert_eq(ranges[0].block_count, 2);
    cr_assert_eq(ranges[1].first_block, 4);
    cr_assert_eq(ranges[1].block_count, 2);
    cr_assert_str_eq(ranges[2].name, "t2");
    cr_assert_str_eq(ranges[3].name, "t3");
    cr_assert_eq(ranges[3].block_count, 2);
    arena_destroy(&arena);
}

Test(reassembly, a_stream_cut_after_any_block_goes_on_and_ends_whole) {
    enum { BLOCKS = 10 };
    static const uint32_t order[BLOCKS][2] = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4},
                                              {0, 5}, {2, 0}, {3, 0}, {3, 1}, {3, 2}};
    for (int cut = 0; cut <= BLOCKS; cut++) {
        begin(NULL, 0, false);
        take(item_manifest(&item));
        for (int i = 0; i < cut; i++) take(item_block(&item, order[i][0], order[i][1]));
        reassembly_stream_begins(assembly);
        item.manifest.pin = 100 + (uint64_t)cut;
        cr_assert_eq(take(item_manifest(&item)), REASSEMBLY_MANIFEST);
        cr_assert_eq(reassembly_manifest(assembly)->pin, item.manifest.pin, "the newest pin is the good one");
        for (int i = cut; i < BLOCKS; i++) take(item_block(&item, order[i][0], order[i][1]));
        sw_tensors *tensors = finish();
        for (uint32_t t = 0; t < TENSORS; t++) check_tensor(tensors, t, t);
        sw_tensors_destroy(tensors);
        reassembly_destroy(assembly);
        assembly = NULL;
        wishes_destroy(&wishes);
    }
}

Test(reassembly, other_content_at_the_same_address_starts_over) {
    begin(NULL, 0, false);
    take(item_manifest(&item));
    take_all_blocks();
    item_destroy(&item);
    item_create(&item, sizes, TENSORS, 1);
    reassembly_stream_begins(assembly);
    cr_assert_eq(take(item_manifest(&item)), REASSEMBLY_STARTED_OVER);
    cr_assert_eq(reassembly_blocks_arrived(assembly), 0);
    cr_assert_not(reassembly_whole(assembly));
    reassembly_stream_begins(assembly);
    cr_assert_eq(take(item_manifest(&item)), REASSEMBLY_MANIFEST);
    take_all_blocks();
    sw_tensors *tensors = finish();
    for (uint32_t t = 0; t < TENSORS; t++) check_tensor(tensors, t, t);
    sw_tensors_destroy(tensors);
}

Test(reassembly, without_digests_only_the_pin_says_that_it_is_the_same) {
    for (uint32_t i = 0; i < TENSORS; i++) item.infos[i].digest = 0;
    begin(NULL, 0, false);
    take(item_manifest(&item));
    take(item_block(&item, 2, 0));
    reassembly_stream_begins(assembly);
    cr_assert_eq(take(item_manifest(&item)), REASSEMBLY_MANIFEST);
    item.manifest.pin = 5;
    reassembly_stream_begins(assembly);
    cr_assert_eq(take(item_manifest(&item)), REASSEMBLY_STARTED_OVER);
    item.manifest.pin = 0;
    reassembly_stream_begins(assembly);
    take(item_manifest(&item));
    reassembly_stream_begins(assembly);
    cr_assert_eq(take(item_manifest(&item)), REASSEMBLY_STARTED_OVER, "no pin is no sameness");
}

Test(reassembly, a_stream_that_should_go_on_must_be_of_the_same_item) {
    begin(NULL, 0, false);
    asked.generation = 0;
    take(item_manifest(&item));
    item.manifest.address.generation = 2;
    reassembly_stream_begins(assembly);
    refuse(item_manifest(&item), "another item");
}

Test(reassembly, an_endpoint_that_lacks_what_was_begun_is_asked_for_all) {
    struct arena arena;
    arena_init(&arena, &allocator_system, 1 << 20);
    begin((sw_tensor_request[]){{.name = "t0"}, {.name = "t2"}}, 2, false);
    take(item_manifest(&item));
    take(item_block(&item, 0, 0));
    reassembly_start_over(assembly);
    cr_assert_null(reassembly_manifest(assembly));
    const struct tensor_range *ranges = ranges_of(&arena, 2);
    cr_assert_str_eq(ranges[1].name, "t2");
    cr_assert_eq(ranges[0].block_count, 0);
    arena_destroy(&arena);
}

Test(reassembly, names_that_fill_more_than_half_a_message_are_asked_for_in_turn) {
    enum { COUNT = 6000, NAME = 500 };
    struct arena arena;
    arena_init(&arena, &allocator_system, 16 << 20);
    sw_tensor_request *requests = calloc(COUNT, sizeof *requests);
    char(*long_names)[NAME] = calloc(COUNT, NAME);
    for (int i = 0; i < COUNT; i++) {
        memset(long_names[i], 'x', NAME - 1);
        for (int digit = 0, n = i; digit < 4; digit++, n /= 10) long_names[i][digit] = (char)('0' + n % 10);
        requests[i].name = long_names[i];
    }
    begin(requests, COUNT, false);
    const struct tensor_range *ranges;
    uint32_t count;
    cr_assert_eq(reassembly_ranges(assembly, &arena, &ranges, &count, &error), SW_OK);
    cr_assert_gt(count, 3000);
    cr_assert_lt(count * NAME, SW_MESSAGE_MAX / 2);
    free(requests);
    free(long_names);
    arena_destroy(&arena);
}

/* ---- memory ---- */

struct scarce {
    unsigned left;
};

static void *scarce_allocate(void *context, size_t size) {
    struct scarce *scarce = context;
    return scarce->left > 0 && scarce->left-- ? malloc(size ? size : 1) : NULL;
}

static void *scarce_resize(void *context, void *memory, size_t size) {
    struct scarce *scarce = context;
    return scarce->left > 0 && scarce->left-- ? realloc(memory, size ? size : 1) : NULL;
}

static void scarce_release(void *context, void *memory) {
    (void)context;
    free(memory);
}

/* True if it ended well with this many allocations; else whatever failed said that memory is short. */
static bool assemble_with(unsigned allocations) {
    struct scarce scarce = {allocations};
    const struct allocator allocator = {scarce_allocate, scarce_resize, scarce_release, &scarce};
    cr_assert_eq(wishes_init(&wishes, NULL, 0, &error), SW_OK);
    struct reassembly_options options = {
        .wishes = &wishes, .asked = &asked, .allocate = buffer_create, .allocator = &allocator};
    assembly = reassembly_create(&options);
    sw_status status = assembly ? SW_OK : SW_RESOURCE_EXHAUSTED;
    sw_tensors *tensors = NULL;
    enum reassembly_news news;
    if (status == SW_OK) status = feed(assembly, item_manifest(&item), 100, &news, &error);
    for (uint64_t i = 0; status == SW_OK && i < 6; i++)
        status = feed(assembly, item_block(&item, 0, i), 100, &news, &error);
    if (status == SW_OK) status = feed(assembly, item_block(&item, 2, 0), 100, &news, &error);
    for (uint64_t i = 0; status == SW_OK && i < 3; i++)
        status = feed(assembly, item_block(&item, 3, i), 100, &news, &error);
    if (status == SW_OK) status = reassembly_finish(assembly, &tensors, &error);
    sw_tensors_destroy(tensors);
    reassembly_destroy(assembly);
    assembly = NULL;
    wishes_destroy(&wishes);
    cr_assert(status == SW_OK || status == SW_RESOURCE_EXHAUSTED, "%s", error.message);
    return status == SW_OK;
}

Test(reassembly, whichever_allocation_fails_it_says_so_and_leaves_nothing) {
    unsigned allocations = 0;
    while (!assemble_with(allocations)) allocations++;
    cr_assert_gt(allocations, 5);
}

Test(reassembly, a_manifest_of_more_than_there_is_memory_for_is_an_error) {
    item.infos[0].byte_length = INT64_MAX;
    ((int64_t *)item.infos[0].shape)[0] = INT64_MAX;
    begin((sw_tensor_request[]){{.name = "t0"}}, 1, false);
    enum reassembly_news news;
#if !defined(__SANITIZE_ADDRESS__) /* which ends the process at such a size */
    cr_assert_eq(feed(assembly, item_manifest(&item), 1 << 20, &news, &error), SW_RESOURCE_EXHAUSTED);
    cr_assert_not_null(strstr(error.message, "t0"));
#else
    (void)news;
#endif
}
