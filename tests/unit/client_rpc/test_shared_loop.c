/* Clients that never reach anybody: what they share in this process. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <stagewire/client.h>

#include "tests/support/test.h"

static bool is_loop(const char *thread) {
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    bool read = fgets(name, sizeof name, file) != NULL;
    fclose(file);
    return read && strcmp(name, "stagewire-loop\n") == 0;
}

static int loops(void) {
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    cr_assert(tasks);
    for (struct dirent *entry; (entry = readdir(tasks));) count += is_loop(entry->d_name);
    closedir(tasks);
    return count;
}

static sw_client *open_client(void) {
    sw_client *client;
    sw_error error;
    cr_assert_eq(sw_client_open("unix:/nonexistent/socket", NULL, &client, &error), SW_OK);
    return client;
}

/* A call that the loop must end: nobody is there, and 1 ms is soon over. */
static void expect_alive(sw_client *client) {
    sw_metrics *metrics;
    sw_error error;
    const sw_pull pull = {.address = {.channel = "train", .step = 1}, .timeout_ms = 1};
    cr_assert_neq(sw_client_get_metrics(client, &pull, &metrics, &error), SW_OK);
}

Test(shared_loop, all_clients_of_a_process_are_served_by_one_thread) {
    sw_client *first = open_client(), *second = open_client(), *third = open_client();
    expect_alive(first);
    expect_alive(third);
    while (loops() == 0) usleep(100); /* a thread's name is its own first work */
    cr_assert_eq(loops(), 1);
    sw_client_close(first);
    expect_alive(second);
    cr_assert_eq(loops(), 1);
    sw_client_close(second);
    sw_client_close(third);
    cr_assert_eq(loops(), 0);
}

Test(shared_loop, after_the_last_was_closed_another_one_works) {
    for (int i = 0; i < 3; i++) {
        sw_client *client = open_client();
        expect_alive(client);
        sw_client_close(client);
    }
}
