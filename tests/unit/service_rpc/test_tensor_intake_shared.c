/* Tensors that come as memory that was handed over: held as it is where it is no larger than the tensor, and
 * never believed. */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/base/error.h"
#include "proto/device/sealed.h"
#include "proto/device/shared.h"
#include "service/rpc/tensor_intake.h"
#include "tests/support/test.h"

#define BLOCK 1024u
#define SIZE  (20 * BLOCK + 7)
#define TOKEN 77

static uint8_t bytes[SIZE];
static const int64_t shape[] = {SIZE}, no_shape[] = {0};
static struct tensor_info infos[] = {
    {.name = "t", .dtype = SW_U8, .rank = 1, .shape = shape, .byte_length = SIZE},
    {.name = "none", .dtype = SW_U8, .rank = 1, .shape = no_shape},
};
static struct manifest manifest = {.tensor_count = 2, .tensors = infos, .block_bytes = BLOCK};
static struct tensor_intake intake;
static sw_error error;
static int memory;

static void setup(void) {
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (uint8_t)(i * 7 + i / 256);
    memory = -1;
    cr_assert_eq(tensor_intake_open(&intake, &manifest, true, &error), SW_OK);
}
static void wait_until_all_is_given_back(void) {
    while (shared_count() > 0) sched_yield();
}
static void teardown(void) {
    tensor_intake_close(&intake);
    if (memory >= 0) close(memory);
    wait_until_all_is_given_back();
}
TestSuite(intake_shared, .init = setup, .fini = teardown, .timeout = 30);

/* The tensor's bytes from `start` on in a memory of `size` bytes. */
static void hand_over(size_t size, size_t start) {
    memory = sealed_create(size);
    cr_assert_eq(pwrite(memory, bytes, SIZE, (off_t)start), (ssize_t)SIZE);
    cr_assert(sealed_seal(memory));
}

static int find(void *context, uint64_t token) {
    (void)context;
    return token == TOKEN ? memory : -1;
}

static sw_status send(uint64_t first_block, uint64_t size, uint64_t offset, uint64_t token) {
    const struct shared_run run = {
        .first_block = first_block, .byte_length = size, .token = token, .offset = offset};
    uint8_t data[SHARED_RUN_MAX];
    const struct chunk_piece piece = {data, shared_run_encode(&run, data)};
    return tensor_intake_take(&intake, &piece, 1, find, NULL, &error);
}

static void expect(sw_status status, sw_reason reason, const char *path) {
    cr_assert_eq(status, sw_reason_status(reason), "%s", error.message);
    cr_assert_eq(error.reason, reason);
    cr_assert_str_eq(sw_error_metadata(&error, "path"), path);
}

static void is_whole(bool in_place) {
    struct digest digest;
    int fd;
    uint64_t offset;
    cr_assert_eq(tensor_intake_finish(&intake, &digest, &error), SW_OK, "%s", error.message);
    const struct tensor *tensor = &intake.set->tensors[0];
    cr_assert_eq(memcmp(sw_buffer_data(tensor->bytes), bytes, SIZE), 0);
    cr_assert_eq(shared_memory_of(tensor->bytes, &fd, &offset), in_place);
    for (uint64_t i = 0; i < 21; i++)
        cr_assert_eq(tensor->block_hashes[i],
                     block_hash(bytes + i * BLOCK, tensor_block_size(SIZE, BLOCK, i)));
}

Test(intake_shared, memory_of_the_tensors_own_size_is_held_as_it_is) {
    hand_over(SIZE, 0);
    cr_assert_eq(send(8, SIZE - 8 * BLOCK, 8 * BLOCK, TOKEN), SW_OK, "%s", error.message);
    cr_assert_eq(send(0, 8 * BLOCK, 0, TOKEN), SW_OK, "%s", error.message);
    cr_assert_eq(shared_count(), 1);
    is_whole(true);
}

Test(intake_shared, it_may_begin_within_a_page_of_its_memory) {
    hand_over(SIZE + 4096, 4096);
    cr_assert_eq(send(0, SIZE, 4096, TOKEN), SW_OK, "%s", error.message);
    is_whole(true);
}

/* What is held is then what counts for the budget. */
Test(intake_shared, memory_that_is_larger_than_the_tensor_is_copied_from) {
    hand_over(SIZE + 100000, 50000);
    cr_assert_eq(send(0, SIZE, 50000, TOKEN), SW_OK, "%s", error.message);
    cr_assert_eq(shared_count(), 0);
    is_whole(false);
}

Test(intake_shared, a_known_item_is_hashed_and_dropped) {
    struct digest kept, dropped;
    hand_over(SIZE, 0);
    cr_assert_eq(send(0, SIZE, 0, TOKEN), SW_OK);
    cr_assert_eq(tensor_intake_finish(&intake, &kept, &error), SW_OK);
    tensor_intake_close(&intake);
    wait_until_all_is_given_back();
    cr_assert_eq(tensor_intake_open(&intake, &manifest, false, &error), SW_OK);
    cr_assert_eq(send(0, SIZE, 0, TOKEN), SW_OK);
    cr_assert_eq(shared_count(), 0);
    cr_assert_eq(tensor_intake_finish(&intake, &dropped, &error), SW_OK);
    cr_assert(digest_equal(kept, dropped));
}

Test(intake_shared, a_digest_of_the_manifest_must_be_that_of_the_memory) {
    struct digest digest;
    hand_over(SIZE, 0);
    cr_assert_eq(send(0, SIZE, 0, TOKEN), SW_OK);
    infos[0].digest = 1;
    expect(tensor_intake_finish(&intake, &digest, &error), SW_REASON_CHECKSUM, "manifest.tensors[0].digest");
    infos[0].digest = 0;
}

Test(intake_shared, memory_that_may_still_be_written_to_is_refused) {
    memory = sealed_create(SIZE);
    expect(send(0, SIZE, 0, TOKEN), SW_REASON_MALFORMED, "shared.token");
    void *writable = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    cr_assert_eq(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE), 0);
    expect(send(0, SIZE, 0, TOKEN), SW_REASON_MALFORMED, "shared.token");
    munmap(writable, SIZE);
}

Test(intake_shared, a_pipe_is_refused) {
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    memory = ends[0];
    expect(send(0, SIZE, 0, TOKEN), SW_REASON_MALFORMED, "shared.token");
    close(ends[1]);
}

Test(intake_shared, memory_that_is_shorter_than_it_is_said_to_be_is_refused) {
    memory = sealed_create(SIZE - 1);
    cr_assert(sealed_seal(memory));
    expect(send(0, SIZE, 0, TOKEN), SW_REASON_MALFORMED, "shared.offset");
    expect(send(20, 7, SIZE - 7, TOKEN), SW_REASON_MALFORMED, "shared.offset");
    expect(send(0, BLOCK, UINT64_MAX, TOKEN), SW_REASON_MALFORMED, "shared.offset");
    expect(send(0, BLOCK, UINT64_MAX - BLOCK + 1, TOKEN), SW_REASON_MALFORMED, "shared.offset");
}

Test(intake_shared, memory_that_is_not_there_is_a_limit_so_that_chunks_are_sent) {
    cr_assert_eq(send(0, SIZE, 0, TOKEN + 1), SW_RESOURCE_EXHAUSTED);
    cr_assert_eq(error.reason, SW_REASON_LIMIT);
    cr_assert_str_eq(sw_error_metadata(&error, "limit"), "hand-over");
}

Test(intake_shared, a_run_of_no_or_of_too_many_bytes_is_refused) {
    hand_over(SIZE, 0);
    expect(send(0, 0, 0, TOKEN), SW_REASON_MALFORMED, "shared.byte_length");
    expect(send(0, UINT64_MAX, 0, TOKEN), SW_REASON_MALFORMED, "shared.byte_length");
}

Test(intake_shared, a_run_that_is_no_whole_blocks_or_not_within_the_tensor_is_refused) {
    hand_over(SIZE, 0);
    expect(send(0, BLOCK + 1, 0, TOKEN), SW_REASON_MALFORMED, "chunk.data");
    expect(send(1, SIZE, 0, TOKEN), SW_REASON_MALFORMED, "chunk.data");
    expect(send(21, 1, 0, TOKEN), SW_REASON_MALFORMED, "chunk.block");
    expect(send(UINT64_MAX, 1, 0, TOKEN), SW_REASON_MALFORMED, "chunk.block");
}

Test(intake_shared, a_block_that_came_twice_is_refused) {
    hand_over(SIZE, 0);
    cr_assert_eq(send(0, 2 * BLOCK, 0, TOKEN), SW_OK);
    expect(send(1, 2 * BLOCK, BLOCK, TOKEN), SW_REASON_MALFORMED, "chunk.block");
}

/* The memory is only to be read. */
Test(intake_shared, a_tensor_that_began_in_memory_does_not_go_on_as_chunks) {
    hand_over(SIZE, 0);
    cr_assert_eq(send(0, BLOCK, 0, TOKEN), SW_OK);
    uint8_t head[CHUNK_HEADER_MAX];
    struct chunk_header header = {.block = 1, .size = BLOCK};
    const struct chunk_piece pieces[2] = {{head, chunk_encode_header(&header, head)}, {bytes + BLOCK, BLOCK}};
    expect(tensor_intake_take(&intake, pieces, 2, find, NULL, &error), SW_REASON_MALFORMED, "part");
}

Test(intake_shared, a_tensor_that_began_as_chunks_goes_on_in_memory_by_copying) {
    hand_over(SIZE, 0);
    uint8_t head[CHUNK_HEADER_MAX];
    struct chunk_header header = {.size = BLOCK};
    const struct chunk_piece pieces[2] = {{head, chunk_encode_header(&header, head)}, {bytes, BLOCK}};
    cr_assert_eq(tensor_intake_take(&intake, pieces, 2, find, NULL, &error), SW_OK);
    cr_assert_eq(send(1, SIZE - BLOCK, BLOCK, TOKEN), SW_OK, "%s", error.message);
    is_whole(false);
}
