/* Blocks that come as memory which was handed over: the same checks as for chunks, and no copy where there
 * need be none. */
#include <string.h>

#include "proto/base/buffer.h"
#include "tests/support/test.h"
#include "tests/unit/client_core/stream.h"

#define LARGE (5 * STREAM_BLOCK + 17)
#define START 100 /* of the large tensor in its memory */
#define TOKEN 7

static const uint64_t sizes[] = {LARGE, 0, 2 * STREAM_BLOCK};

static struct item item;
static struct wishes wishes;
static struct reassembly *assembly;
static sw_error error;
static uint8_t memory[START + LARGE];
static uint8_t into[LARGE + 1];
static unsigned mapped;
static bool maps;

static bool is_there(uint64_t token, uint64_t offset, size_t size) {
    return token == TOKEN && offset <= sizeof memory && size <= sizeof memory - offset;
}

static void unmap(void *context) {
    (void)context;
    mapped--;
}

static bool map(void *context, uint64_t token, uint64_t offset, size_t size, sw_buffer **ret_buffer) {
    (void)context;
    if (!maps || !is_there(token, offset, size)) return false;
    mapped++;
    return sw_buffer_wrap(memory + offset, size, unmap, NULL, ret_buffer, NULL) == SW_OK;
}

static bool read(void *context, uint64_t token, uint64_t offset, void *out, size_t size) {
    (void)context;
    if (!is_there(token, offset, size)) return false;
    memcpy(out, memory + offset, size);
    return true;
}

static void set_up(void) {
    item_create(&item, sizes, 3, 0);
    memcpy(memory + START, item.bytes[0], LARGE);
    mapped = 0;
    maps = true;
}

static void tear_down(void) {
    reassembly_destroy(assembly);
    wishes_destroy(&wishes);
    item_destroy(&item);
    cr_assert_eq(mapped, 0);
}

TestSuite(reassembly_runs, .init = set_up, .fini = tear_down);

static void begin(const sw_tensor_request *requests, uint32_t count) {
    enum reassembly_news news;
    cr_assert_eq(wishes_init(&wishes, requests, count, &error), SW_OK, "%s", error.message);
    struct reassembly_options options = {.wishes = &wishes,
                                         .asked = &item.manifest.address,
                                         .allocate = buffer_create,
                                         .allocator = &allocator_system,
                                         .memory = {map, read, NULL}};
    assembly = reassembly_create(&options);
    cr_assert_eq(feed(assembly, item_manifest(&item), 1 << 20, &news, &error), SW_OK, "%s", error.message);
}

static sw_status send(const struct shared_run *run) {
    enum reassembly_news news = -1;
    uint8_t data[SHARED_RUN_MAX];
    const struct chunk_piece piece = {data, shared_run_encode(run, data)};
    sw_status status = reassembly_take(assembly, &piece, 1, &news, &error);
    if (status == SW_OK) cr_assert_eq(news, REASSEMBLY_BLOCK);
    return status;
}

static sw_status send_run(uint64_t first_block, uint64_t size) {
    return send(&(struct shared_run){.first_block = first_block,
                                     .byte_length = size,
                                     .token = TOKEN,
                                     .offset = START + first_block * STREAM_BLOCK});
}

static sw_status send_block(uint32_t tensor, uint64_t block) {
    enum reassembly_news news;
    return feed(assembly, item_block(&item, tensor, block), 1 << 20, &news, &error);
}

static void refuse(sw_status status, const char *why) {
    cr_assert_eq(status, SW_DATA_LOSS);
    cr_assert_eq(error.reason, SW_REASON_CHECKSUM);
    cr_assert_not_null(strstr(error.message, why), "%s", error.message);
}

static sw_tensors *finish(void) {
    sw_tensors *tensors;
    cr_assert(reassembly_whole(assembly));
    cr_assert_eq(reassembly_finish(assembly, &tensors, &error), SW_OK, "%s", error.message);
    return tensors;
}

static void send_small(void) {
    cr_assert_eq(send_block(2, 0), SW_OK);
    cr_assert_eq(send_block(2, 1), SW_OK);
}

Test(reassembly_runs, a_whole_tensor_stays_in_the_memory_that_was_handed_over) {
    begin(NULL, 0);
    cr_assert_eq(send_run(3, LARGE - 3 * STREAM_BLOCK), SW_OK, "%s", error.message);
    cr_assert_not(reassembly_whole(assembly));
    cr_assert_eq(send_run(0, 3 * STREAM_BLOCK), SW_OK, "%s", error.message);
    cr_assert_eq(mapped, 1);
    send_small();
    cr_assert_eq(reassembly_bytes_arrived(assembly), LARGE + 2 * STREAM_BLOCK);
    sw_tensors *tensors = finish();
    cr_assert_eq(sw_tensors_view(tensors, 0)->data, memory + START);
    cr_assert_eq(memcmp(sw_tensors_view(tensors, 2)->data, item.bytes[2], sizes[2]), 0);
    sw_tensors_destroy(tensors);
}

Test(reassembly_runs, into_memory_of_the_callers_it_is_copied) {
    begin(&(sw_tensor_request){"t0", into, LARGE}, 1);
    cr_assert_eq(send_run(0, LARGE), SW_OK, "%s", error.message);
    cr_assert_eq(mapped, 0);
    sw_tensors_destroy(finish());
    cr_assert_eq(memcmp(into, item.bytes[0], LARGE), 0);
    cr_assert_eq(into[LARGE], 0);
}

Test(reassembly_runs, what_can_not_be_mapped_is_copied) {
    begin(NULL, 0);
    maps = false;
    cr_assert_eq(send_run(0, LARGE), SW_OK, "%s", error.message);
    send_small();
    sw_tensors *tensors = finish();
    cr_assert_eq(memcmp(sw_tensors_view(tensors, 0)->data, item.bytes[0], LARGE), 0);
    sw_tensors_destroy(tensors);
}

Test(reassembly_runs, after_chunks_the_rest_is_copied_beside_them) {
    begin(NULL, 0);
    cr_assert_eq(send_block(0, 1), SW_OK);
    cr_assert_eq(send_run(0, STREAM_BLOCK), SW_OK);
    cr_assert_eq(send_run(2, LARGE - 2 * STREAM_BLOCK), SW_OK);
    cr_assert_eq(mapped, 0);
    send_small();
    sw_tensors *tensors = finish();
    cr_assert_eq(memcmp(sw_tensors_view(tensors, 0)->data, item.bytes[0], LARGE), 0);
    sw_tensors_destroy(tensors);
}

/* A stream that broke, and goes on with an endpoint that has no memory to hand over: what is mapped is only
 * to be read, and all of it is there already. */
Test(reassembly_runs, chunks_of_a_tensor_that_is_mapped_are_checked_and_not_written) {
    begin(NULL, 0);
    cr_assert_eq(send_run(0, STREAM_BLOCK), SW_OK);
    for (uint64_t block = 1; block < 6; block++)
        cr_assert_eq(send_block(0, block), SW_OK, "%s", error.message);
    send_small();
    sw_tensors *tensors = finish();
    cr_assert_eq(sw_tensors_view(tensors, 0)->data, memory + START);
    sw_tensors_destroy(tensors);
}

Test(reassembly_runs, a_chunk_of_a_tensor_that_is_mapped_must_be_what_is_there) {
    begin(NULL, 0);
    cr_assert_eq(send_run(0, STREAM_BLOCK), SW_OK);
    memory[START + STREAM_BLOCK] ^= 1;
    refuse(send_block(0, 1), "does not match its hash");
}

Test(reassembly_runs, memory_with_other_bytes_than_the_digest_says_is_refused) {
    sw_tensors *tensors;
    begin(NULL, 0);
    memory[START + LARGE - 1] ^= 1;
    cr_assert_eq(send_run(0, LARGE), SW_OK);
    send_small();
    cr_assert(reassembly_whole(assembly));
    refuse(reassembly_finish(assembly, &tensors, &error), "does not match its digest");
}

Test(reassembly_runs, memory_that_is_not_there_is_refused) {
    begin(NULL, 0);
    refuse(send(&(struct shared_run){.byte_length = LARGE, .token = TOKEN + 1}), "is not in memory");
    refuse(send(&(struct shared_run){.byte_length = LARGE, .token = TOKEN, .offset = START + 1}),
           "is not in memory");
}

Test(reassembly_runs, a_run_of_no_tensor_or_beyond_one_is_refused) {
    begin(&(sw_tensor_request){"t0", NULL, 0}, 1);
    refuse(send(&(struct shared_run){.tensor = 2, .byte_length = 2048, .token = TOKEN}), "was not asked for");
    refuse(send(&(struct shared_run){.tensor = 9, .byte_length = 2048, .token = TOKEN}), "was not asked for");
    refuse(send_run(6, 1), "lies outside the tensor");
    refuse(send_run(UINT64_MAX, 1), "lies outside the tensor");
    refuse(send_run(0, LARGE + 1), "has the wrong size");
    refuse(send_run(0, STREAM_BLOCK + 1), "has the wrong size");
    refuse(send_run(0, 0), "can't");
    refuse(send_run(0, UINT64_MAX), "can't");
}
