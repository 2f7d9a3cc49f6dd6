/* How often the bytes of a tensor are copied in user space, between an endpoint and a client of one process
 * that talk over TCP: every large memcpy and memmove is counted, gRPC's too. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <stagewire/client.h>
#include <stagewire/endpoint.h>

#include "tests/support/test.h"

#define SIZE  (7u << 20) /* more is copied past the caches, by no function of libc's */
#define LARGE 2048u
#define ROOM  (SIZE / 20) /* for what is no tensor */

static atomic_size_t copied;

static void *copy(void *to, const void *from, size_t size) {
    char *target = to;
    const char *source = from;
    if (size >= LARGE) atomic_fetch_add(&copied, size);
    for (size_t i = 0; i < size; i++) {
        target[i] = source[i];
        __asm__ volatile("" : : : "memory"); /* else the compiler makes a memcpy of it */
    }
    return to;
}

/* In place of libc's, for this program and the libraries it loads. */
void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    return copy(to, from, size);
}

void *memmove(void *to, const void *from, size_t size) {
    if ((char *)to <= (const char *)from || (char *)to >= (const char *)from + size)
        return copy(to, from, size);
    for (size_t i = size; i > 0; i--) ((char *)to)[i - 1] = ((const char *)from)[i - 1];
    return to;
}

static sw_endpoint *endpoint;
static sw_client *client;
static sw_error error;
static uint8_t *bytes, *into;
static const int64_t shape[] = {SIZE};
static const sw_address address = {.channel = "train", .step = 1};

static void set_up(void) {
    sw_endpoint_options options;
    sw_endpoint_options_init(&options);
    options.run_id = "copies";
    options.listen = (const char *const[]){"127.0.0.1:0"};
    options.listen_count = 1;
    cr_assert_eq(sw_endpoint_open(&options, &endpoint, &error), SW_OK, "%s", error.message);
    cr_assert_eq(sw_client_open(sw_endpoint_address(endpoint, 0), NULL, &client, &error), SW_OK);
    bytes = malloc(SIZE);
    into = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (uint8_t)(i * 7 >> 3);
}

static void tear_down(void) {
    sw_client_close(client);
    sw_endpoint_close(endpoint, 0);
    free(bytes);
    free(into);
}

TestSuite(copies, .init = set_up, .fini = tear_down);

static void publish(sw_buffer *buffer) {
    const sw_named_tensor tensor = {"t", {SW_U8, 1, shape, bytes, SIZE}, buffer};
    cr_assert_eq(sw_publish_tensors(sw_endpoint_publisher(endpoint), &address, &tensor, 1, 0, NULL, &error),
                 SW_OK, "%s", error.message);
}

static void pull(void) {
    const sw_tensor_request request = {"t", into, SIZE};
    const sw_pull asked = {.address = address};
    sw_tensors *tensors;
    cr_assert_eq(sw_client_get_tensors(client, &asked, &request, 1, &tensors, &error), SW_OK, "%s",
                 error.message);
    cr_assert(memcmp(into, bytes, SIZE) == 0);
    sw_tensors_destroy(tensors);
}

static void nothing_to_release(void *context) {
    (void)context;
}

Test(copies, what_is_handed_over_is_copied_by_none_but_the_receiver_and_once) {
    sw_buffer *buffer;
    cr_assert_eq(sw_buffer_wrap(bytes, SIZE, nothing_to_release, NULL, &buffer, &error), SW_OK);
    publish(buffer);
    sw_buffer_unref(buffer);
    cr_assert_leq(atomic_load(&copied), ROOM, "the publisher copied %zu bytes", atomic_load(&copied));
    pull();
    cr_assert_geq(atomic_load(&copied), SIZE - ROOM, "%zu bytes were copied, fewer than arrived",
                  atomic_load(&copied));
    cr_assert_leq(atomic_load(&copied), SIZE + ROOM, "%zu bytes were copied", atomic_load(&copied));
}

Test(copies, what_is_published_from_memory_that_may_change_is_copied_once_on_each_side) {
    publish(NULL);
    cr_assert_geq(atomic_load(&copied), SIZE - ROOM, "%zu bytes were copied, fewer than arrived",
                  atomic_load(&copied));
    pull();
    cr_assert_leq(atomic_load(&copied), 2 * SIZE + ROOM, "%zu bytes were copied", atomic_load(&copied));
}
