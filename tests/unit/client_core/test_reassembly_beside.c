/* Streams that bring the blocks of one pull at the same time. */
#include <string.h>

#include "proto/base/buffer.h"
#include "tests/support/test.h"
#include "tests/unit/client_core/stream.h"

enum { TENSORS = 2, BLOCKS = 4 };
static const uint64_t sizes[] = {BLOCKS * STREAM_BLOCK, 1};

static struct item item;
static struct wishes wishes;
static sw_address asked;
static struct reassembly *assembly;
static sw_error error;

static void set_up(void) {
    enum reassembly_news news;
    item_create(&item, sizes, TENSORS, 0);
    asked = item.manifest.address;
    cr_assert_eq(wishes_init(&wishes, NULL, 0, &error), SW_OK);
    struct reassembly_options options = {
        .wishes = &wishes, .asked = &asked, .allocate = buffer_create, .allocator = &allocator_system};
    assembly = reassembly_create(&options);
    cr_assert_eq(feed(assembly, item_manifest(&item), 1 << 20, &news, &error), SW_OK, "%s", error.message);
}

static void tear_down(void) {
    reassembly_destroy(assembly);
    wishes_destroy(&wishes);
    item_destroy(&item);
}

TestSuite(reassembly_beside, .init = set_up, .fini = tear_down);

static void take(uint32_t tensor, uint64_t block) {
    enum reassembly_news news;
    cr_assert_eq(feed(assembly, item_block(&item, tensor, block), 1 << 20, &news, &error), SW_OK);
    cr_assert_eq(news, REASSEMBLY_BLOCK);
}

static void take_beside(bool is_first, struct message message) {
    cr_assert_eq(feed_beside(assembly, is_first, message, &error), SW_OK, "%s", error.message);
}

static void refuse_beside(bool is_first, struct message message, const char *why) {
    cr_assert_eq(feed_beside(assembly, is_first, message, &error), SW_DATA_LOSS);
    cr_assert_eq(error.reason, SW_REASON_CHECKSUM);
    cr_assert_not_null(strstr(error.message, why), "%s", error.message);
}

Test(reassembly_beside, blocks_of_several_streams_come_mixed_and_are_whole) {
    sw_tensors *tensors;
    take(0, 0);
    take_beside(true, item_manifest(&item));
    take_beside(false, item_block(&item, 0, 3));
    take(0, 1);
    take_beside(true, item_manifest(&item));
    take_beside(false, item_block(&item, 0, 2));
    take(1, 0);
    cr_assert(reassembly_whole(assembly));
    cr_assert_eq(reassembly_finish(assembly, &tensors, &error), SW_OK, "%s", error.message);
    cr_assert_eq(memcmp(sw_tensors_view(tensors, 0)->data, item.bytes[0], sizes[0]), 0);
    sw_tensors_destroy(tensors);
}

Test(reassembly_beside, a_stream_of_other_content_changes_nothing) {
    take(0, 0);
    struct item other;
    item_create(&other, sizes, TENSORS, 1);
    refuse_beside(true, item_manifest(&other), "of other content");
    other.manifest.address.step++;
    refuse_beside(true, item_manifest(&other), "another item");
    item_destroy(&other);
    cr_assert_eq(reassembly_blocks_arrived(assembly), 1);
    take_beside(true, item_manifest(&item));
    take_beside(false, item_block(&item, 0, 1));
}

Test(reassembly_beside, a_stream_begins_with_a_manifest_and_goes_on_with_blocks) {
    refuse_beside(true, item_block(&item, 0, 1), "does not begin with a manifest");
    refuse_beside(false, item_manifest(&item), "is not a block");
    cr_assert_eq(reassembly_blocks_arrived(assembly), 0);
}

Test(reassembly_beside, a_block_that_does_not_match_its_hash_is_data_loss_whoever_brings_it) {
    struct message message = item_block(&item, 0, 1);
    message.data[message.size - 1] ^= 1;
    refuse_beside(false, message, "does not match its hash");
}
