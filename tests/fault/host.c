#include "tests/fault/host.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void start(struct host *host) {
    host->daemon = daemon_start((const char *const[]){
        "--listen", "127.0.0.1:0", "--listen", host->socket, "--run-id", RUN_ID, "--stage", "3", "--stages",
        "4", "--keep-steps", "30", "--drain-grace", "400ms", "--publisher-grace", "60s", NULL});
    if (!host->daemon) exit(2);
}

/* Only the trainer comes by the socket: on loopback nobody may publish. */
static const char *target_of(const struct host *host, unsigned relay) {
    return relay == RELAY_TRAINER ? host->socket : daemon_target(host->daemon, 0);
}

void host_open(struct host *host) {
    *host = (struct host){.folder = "/tmp/stagewire-faults-XXXXXX"};
    if (!mkdtemp(host->folder)) abort();
    snprintf(host->socket, sizeof host->socket, "unix:%s/s", host->folder);
    start(host);
    for (unsigned i = 0; i < RELAYS; i++) host->relays[i] = relay_open(target_of(host, i));
}

void host_close(struct host *host) {
    static const char *const left[] = {"s", "s.lock"};
    char path[128];
    for (unsigned i = 0; i < RELAYS; i++) relay_close(host->relays[i]);
    daemon_destroy(host->daemon);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        snprintf(path, sizeof path, "%s/%s", host->folder, left[i]);
        unlink(path);
    }
    rmdir(host->folder);
}

void host_restart(struct host *host) {
    daemon_destroy(host->daemon);
    start(host);
    for (unsigned i = 0; i < RELAYS; i++) relay_retarget(host->relays[i], target_of(host, i));
}

static unsigned entries(pid_t pid, const char *folder) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)(pid ? pid : getpid()), folder);
    DIR *listing = opendir(path);
    unsigned count = 0;
    while (listing && readdir(listing)) count++;
    if (listing) closedir(listing);
    return count;
}

unsigned host_descriptors(pid_t pid) {
    return entries(pid, "fd");
}

unsigned host_threads(pid_t pid) {
    return entries(pid, "task");
}
