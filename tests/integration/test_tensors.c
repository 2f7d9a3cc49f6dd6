/* Tensors of every kind and size through a real daemon, published and pulled by the library: what arrives is
 * byte for byte what was published. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stagewire/client.h>

#include "tests/support/daemon.h"
#include "tests/support/test.h"

#define MIB (1ull << 20)

static struct daemon *daemon_under_test;
static sw_client *publishing, *pulling;
static char socket_target[64];

static sw_client *connect_to(const char *target) {
    sw_client *client;
    sw_error error;
    cr_assert(sw_client_open(target, NULL, &client, &error) == SW_OK, "%s", error.message);
    return client;
}

static void open_all(void) {
    snprintf(socket_target, sizeof socket_target, "unix:/tmp/stagewire-tensors-%d", (int)getpid());
    daemon_under_test = daemon_start((const char *const[]){"--listen", "127.0.0.1:0", "--listen",
                                                           socket_target, "--run-id", "run-a", "--stage", "1",
                                                           "--stages", "2", "--store-bytes", "3g", NULL});
    cr_assert_not_null(daemon_under_test);
    publishing = connect_to(daemon_target(daemon_under_test, 1));
    pulling = connect_to(daemon_target(daemon_under_test, 0));
}

static void close_all(void) {
    sw_client_close(publishing);
    sw_client_close(pulling);
    daemon_destroy(daemon_under_test);
    unlink(socket_target + strlen("unix:"));
}

TestSuite(tensors, .init = open_all, .fini = close_all, .timeout = 300);

static void publish(uint64_t step, const sw_named_tensor *tensors, size_t count) {
    sw_error error;
    sw_status status =
        sw_publish_tensors(sw_client_publisher(publishing), &(sw_address){.channel = "t", .step = step},
                           tensors, count, 0, NULL, &error);
    cr_assert(status == SW_OK, "%s", error.message);
}

static sw_tensors *pull(uint64_t step, const sw_tensor_request *requests, uint32_t count) {
    sw_tensors *tensors;
    sw_error error;
    sw_pull what = {.address = {.channel = "t", .step = step}};
    sw_status status = sw_client_get_tensors(pulling, &what, requests, count, &tensors, &error);
    cr_assert(status == SW_OK, "%s", error.message);
    return tensors;
}

static uint8_t *random_bytes(size_t size) {
    uint8_t *bytes = malloc(size + 1);
    uint64_t state = size * 2654435761u + 1;
    for (size_t i = 0; i < size; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t)(state >> 56);
    }
    return bytes;
}

static void arrives_as_published(uint64_t step, const sw_named_tensor *tensor) {
    publish(step, tensor, 1);
    sw_tensors *got = pull(step, NULL, 0);
    const sw_tensor_view *view = sw_tensors_find(got, tensor->name);
    cr_assert_not_null(view);
    cr_assert_eq(view->dtype, tensor->view.dtype);
    cr_assert_eq(view->rank, tensor->view.rank);
    for (uint32_t i = 0; i < view->rank; i++) cr_assert_eq(view->shape[i], tensor->view.shape[i]);
    cr_assert_eq(view->size, tensor->view.size);
    cr_assert(view->size == 0 || memcmp(view->data, tensor->view.data, view->size) == 0);
    sw_tensors_destroy(got);
}

Test(tensors, of_every_dtype_arrive_bit_for_bit) {
    uint64_t step = 0;
#define ONE(name, number, size)                                                                              \
    {                                                                                                        \
        const int64_t shape[] = {7, 11};                                                                     \
        uint8_t *bytes = random_bytes(77 * size);                                                            \
        arrives_as_published(step++,                                                                         \
                             &(sw_named_tensor){#name, {SW_##name, 2, shape, bytes, 77 * size}, NULL});      \
        free(bytes);                                                                                         \
    }
    SW_DTYPE_MAP(ONE)
#undef ONE
    cr_assert_eq(step, 21);
}

Test(tensors, scalars_empty_ones_and_those_of_rank_16_keep_their_shape) {
    const double scalar = -0.0;
    arrives_as_published(0, &(sw_named_tensor){"scalar", {SW_F64, 0, NULL, &scalar, sizeof scalar}, NULL});
    const int64_t empty[] = {4, 0, 9};
    arrives_as_published(1, &(sw_named_tensor){"empty", {SW_F32, 3, empty, NULL, 0}, NULL});
    int64_t deep[16];
    for (int i = 0; i < 16; i++) deep[i] = i % 4 == 0 ? 3 : 1;
    uint8_t *bytes = random_bytes(81);
    arrives_as_published(2, &(sw_named_tensor){"deep", {SW_U8, 16, deep, bytes, 81}, NULL});
    free(bytes);
}

Test(tensors, around_4_mib_and_around_a_block_arrive_whole) {
    const uint64_t sizes[] = {MIB / 2 - 1, MIB / 2,     MIB / 2 + 1, 4 * MIB - 1,
                              4 * MIB,     4 * MIB + 1, 1,           33 * MIB + 5};
    for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t shape[] = {(int64_t)sizes[i]};
        uint8_t *bytes = random_bytes(sizes[i]);
        arrives_as_published(i, &(sw_named_tensor){"t", {SW_U8, 1, shape, bytes, sizes[i]}, NULL});
        free(bytes);
    }
}

Test(tensors, a_thousand_of_a_step_arrive_together) {
    static sw_named_tensor tensors[1000];
    static char names[1000][32];
    static int64_t shapes[1000];
    for (int i = 0; i < 1000; i++) {
        snprintf(names[i], sizeof names[i], "layer.%d.weight", i);
        shapes[i] = i * 7;
        tensors[i] = (sw_named_tensor){
            names[i], {SW_I8, 1, &shapes[i], random_bytes((size_t)i * 7), (size_t)i * 7}, NULL};
    }
    publish(0, tensors, 1000);
    sw_tensors *got = pull(0, NULL, 0);
    cr_assert_eq(sw_tensors_count(got), 1000);
    for (int i = 0; i < 1000; i++) {
        const sw_tensor_view *view = sw_tensors_find(got, names[i]);
        cr_assert(view && view->size == (size_t)i * 7 &&
                  memcmp(view->data, tensors[i].view.data, view->size) == 0);
        free((void *)tensors[i].view.data);
    }
    sw_tensors_destroy(got);
}

// Not under ThreadSanitizer, whose shadow of it would take all of the memory.
#ifndef STAGEWIRE_PLAIN_TESTS
Test(tensors, larger_than_2_gib_arrive_whole) {
    const uint64_t size = 2048 * MIB + 12345;
    const int64_t shape[] = {(int64_t)size};
    const int protection = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint8_t *sparse = mmap(NULL, size, protection, flags, -1, 0),
            *into = mmap(NULL, size, protection, flags, -1, 0);
    cr_assert(sparse != MAP_FAILED && into != MAP_FAILED);
    const uint64_t marks[] = {0, 2047 * MIB, 2048 * MIB + 1, size - 1};
    for (int i = 0; i < 4; i++) sparse[marks[i]] = (uint8_t)(i + 1);
    publish(0, &(sw_named_tensor){"t", {SW_U8, 1, shape, sparse, size}, NULL}, 1);
    munmap(sparse, size);
    sw_tensors_destroy(pull(0, &(sw_tensor_request){"t", into, size}, 1));
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(into[marks[i]], i + 1);
        into[marks[i]] = 0;
    }
    cr_assert(into[0] == 0 && memcmp(into, into + 1, size - 1) == 0, "all else is zero, as it was");
    munmap(into, size);
}
#endif

Test(tensors, the_caller_may_change_its_memory_as_soon_as_the_publish_returns) {
    const int64_t shape[] = {1000};
    uint8_t *bytes = malloc(1000);
    memset(bytes, 1, 1000);
    publish(0, &(sw_named_tensor){"t", {SW_U8, 1, shape, bytes, 1000}, NULL}, 1);
    memset(bytes, 2, 1000);
    sw_tensors *got = pull(0, NULL, 0);
    const uint8_t *data = sw_tensors_view(got, 0)->data;
    cr_assert(data[0] == 1 && data[999] == 1);
    sw_tensors_destroy(got);
    free(bytes);
}

Test(tensors, are_matched_by_name_and_only_those_asked_for_are_sent) {
    const int64_t shape[] = {3};
    const sw_named_tensor both[] = {{"a", {SW_U8, 1, shape, "aaa", 3}, NULL},
                                    {"b", {SW_U8, 1, shape, "bbb", 3}, NULL}};
    publish(0, both, 2);
    char into[4] = "";
    sw_tensors *got = pull(0, (sw_tensor_request[]){{"b", into, 3}}, 1);
    cr_assert_str_eq(into, "bbb");
    cr_assert_eq(sw_tensors_count(got), 1);
    sw_tensors_destroy(got);
}

Test(tensors, memory_that_does_not_fit_is_refused_and_left_alone) {
    const int64_t shape[] = {3};
    publish(0, &(sw_named_tensor){"a", {SW_U8, 1, shape, "aaa", 3}, NULL}, 1);
    char into[8] = "1234567";
    sw_tensors *got;
    sw_error error;
    sw_pull what = {.address = {.channel = "t"}};
    sw_status status =
        sw_client_get_tensors(pulling, &what, &(sw_tensor_request){"a", into, 7}, 1, &got, &error);
    cr_assert_eq(status, SW_INVALID_ARGUMENT);
    cr_assert(strstr(error.message, "7") && strstr(error.message, "3"), "%s", error.message);
    cr_assert_str_eq(into, "1234567");
}
