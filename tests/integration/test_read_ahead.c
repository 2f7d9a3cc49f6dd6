/* How much of a pull is under way at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <stagewire/client.h>

#include "tests/support/client.h"
#include "tests/support/test.h"

enum { LARGE = 256 << 20, PAGE = 4096 };

static struct bench b;

static void open_all(void) {
    bench_open(&b, NULL);
}
static void close_all(void) {
    bench_close(&b);
}

TestSuite(read_ahead, .init = open_all, .fini = close_all, .timeout = 60);

static const sw_pull asked = {.address = {.channel = "tensors", .step = 1}};

static void publish(const sw_named_tensor *tensors, uint32_t count) {
    sw_client *beside = bench_client_of(&b, b.socket, 30000);
    bench_ok(&b, sw_publish_tensors(sw_client_publisher(beside), &asked.address, tensors, count, 0, NULL,
                                    &b.error));
    sw_client_close(beside);
}

#ifndef STAGEWIRE_PLAIN_TESTS /* sanitizers keep what was freed */
static double status_mib(const char *field) {
    char line[256];
    double kib = -1;
    FILE *file = fopen("/proc/self/status", "re");
    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0) kib = atof(line + strlen(field));
    fclose(file);
    cr_assert_geq(kib, 0);
    return kib / 1024;
}

static void forget_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "we");
    cr_assert_not_null(file);
    cr_assert(fputs("5", file) >= 0 && fclose(file) == 0);
}

static const sw_tensor_request *publish_large(void) {
    static sw_tensor_request request;
    const int64_t shape[] = {LARGE};
    uint8_t *bytes = malloc(LARGE);
    memset(bytes, 0x5a, LARGE);
    publish(&(sw_named_tensor){.name = "t", .view = {SW_U8, 1, shape, bytes, LARGE}}, 1);
    memset(bytes, 0, LARGE);
    request = (sw_tensor_request){"t", bytes, LARGE};
    return &request;
}

static void pull_large(sw_client *client, const sw_tensor_request *into) {
    sw_tensors *tensors;
    bench_ok(&b, sw_client_get_tensors(client, &asked, into, 1, &tensors, &b.error));
    sw_tensors_destroy(tensors);
}

/* The client's first pull, too: then it knows nothing of the link. */
Test(read_ahead, a_pull_takes_no_more_than_32_MiB_besides_its_tensors) {
    const sw_tensor_request *into = publish_large();
    sw_client *client = bench_client(&b, "");
    double before = status_mib("VmRSS:");
    for (int i = 0; i < 3; i++) {
        forget_peak();
        pull_large(client, into);
        cr_assert_lt(status_mib("VmHWM:") - before, 32);
    }
    const uint8_t *bytes = into->into;
    cr_assert(bytes[0] == 0x5a && memcmp(bytes, bytes + 1, LARGE - 1) == 0);
    sw_client_close(client);
}

static long pages_touched(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* In a program that leaves malloc as it is. */
Test(read_ahead, a_pull_is_read_into_memory_that_was_there_before) {
    const sw_tensor_request *into = publish_large();
    sw_client *client = bench_client(&b, "");
    pull_large(client, into);
    long before = pages_touched();
    for (int i = 0; i < 3; i++) pull_large(client, into);
    cr_assert_lt(pages_touched() - before, 3 * LARGE / PAGE / 8);
    sw_client_close(client);
}
#endif

/* More than a first share of them, and too small to be shared out. */
Test(read_ahead, many_small_tensors_come_whole) {
    enum { COUNT = 300, SIZE = 40000 };
    static uint8_t bytes[COUNT + SIZE];
    static char names[COUNT][16];
    static sw_named_tensor tensors[COUNT];
    const int64_t shape[] = {SIZE};
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 2654435761u >> 11);
    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        tensors[i] = (sw_named_tensor){.name = names[i], .view = {SW_U8, 1, shape, bytes + i, SIZE}};
    }
    publish(tensors, COUNT);
    for (int round = 0; round < 2; round++) {
        sw_tensors *got;
        bench_ok(&b, sw_client_get_tensors(b.client, &asked, NULL, 0, &got, &b.error));
        cr_assert_eq(sw_tensors_count(got), COUNT);
        for (int i = 0; i < COUNT; i++)
            cr_assert_eq(memcmp(sw_tensors_find(got, names[i])->data, bytes + i, SIZE), 0);
        sw_tensors_destroy(got);
    }
}
