#include "tests/support/measure.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define METRICS 20

sw_client *measure_open(const char *target) {
    sw_client *client;
    sw_error error;
    bench_must(sw_client_open(target, NULL, &client, &error), &error);
    return client;
}

void measure_apart(void (*measure)(void *context), void *context) {
    int status;
    pid_t process = fork();
    bench_must_have(process >= 0, "fork");
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        measure(context);
        exit(0);
    }
    bench_must_have(waitpid(process, &status, 0) == process, "waitpid");
    if (status != 0) exit(1); /* it has said why */
}

void measure_publish(sw_client *client, const char *channel, const void *bytes, uint64_t size) {
    const int64_t shape[] = {(int64_t)size};
    const sw_named_tensor tensor = {"t", {SW_U8, 1, shape, bytes, size}, NULL};
    sw_error error;
    bench_must(sw_publish_tensors(sw_client_publisher(client), &(sw_address){.channel = channel}, &tensor, 1,
                                  0, NULL, &error),
               &error);
}

double measure_pull(sw_client *client, const char *channel, void *into, uint64_t size) {
    const sw_tensor_request request = {"t", into, size};
    const sw_pull pull = {.address = {.channel = channel}};
    sw_tensors *tensors;
    sw_error error;
    double begun = bench_now_us();
    bench_must(sw_client_get_tensors(client, &pull, &request, 1, &tensors, &error), &error);
    double took = bench_now_us() - begun;
    sw_tensors_destroy(tensors);
    return took;
}

void measure_publish_metrics(sw_client *client, uint64_t step) {
    sw_entry entries[METRICS];
    char names[METRICS][48];
    for (int i = 0; i < METRICS; i++) {
        snprintf(names[i], sizeof names[i], "train/policy/some_loss_component_no_%02d", i);
        entries[i] = (sw_entry){sw_text_of(names[i]), sw_number(bench_now_us())};
    }
    const sw_value metrics = sw_dict(entries, METRICS);
    sw_error error;
    bench_must(sw_publish_metrics(sw_client_publisher(client),
                                  &(sw_address){.channel = "train", .step = step}, &metrics, 0, NULL, &error),
               &error);
}
