#include "tests/link/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PACKET_MAX = 2048, QUEUE_MAX = 8192, AT_ONCE = 64 };

struct packet {
    int64_t due_us;
    uint32_t size;
    uint8_t bytes[PACKET_MAX];
};

/* One way: packets in the order of their arrival, which is that of their departure. */
struct way {
    int from, to;
    struct packet *queue;
    uint64_t head, tail;
};

struct link {
    struct link_options options;
    int near, far, wake; /* the namespaces */
    struct way ways[2];
    uint64_t dice;
    pthread_t thread;
    pthread_mutex_t lock;
    struct link_counts counts;
};

static void must(bool holds, const char *what) {
    if (holds) return;
    perror(what);
    abort();
}

static int64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

/* ---- the two ends ---- */

static void set_up(const char *name, const char *address, const char *netmask) {
    struct ifreq request = {0};
    struct sockaddr_in in = {.sin_family = AF_INET};
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    must(control >= 0, "socket");
    snprintf(request.ifr_name, IFNAMSIZ, "%s", name);
    if (address) {
        inet_pton(AF_INET, address, &in.sin_addr);
        memcpy(&request.ifr_addr, &in, sizeof in);
        must(ioctl(control, SIOCSIFADDR, &request) == 0, "SIOCSIFADDR");
        inet_pton(AF_INET, netmask, &in.sin_addr);
        memcpy(&request.ifr_netmask, &in, sizeof in);
        must(ioctl(control, SIOCSIFNETMASK, &request) == 0, "SIOCSIFNETMASK");
    }
    must(ioctl(control, SIOCGIFFLAGS, &request) == 0, "SIOCGIFFLAGS");
    request.ifr_flags |= IFF_UP | IFF_RUNNING;
    must(ioctl(control, SIOCSIFFLAGS, &request) == 0, "SIOCSIFFLAGS");
    close(control);
}

static int open_tun(const char *address) {
    int tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI, .ifr_name = "link0"};
    must(tun >= 0 && ioctl(tun, TUNSETIFF, &request) == 0, "TUNSETIFF");
    set_up("link0", address, "255.255.255.252");
    set_up("lo", NULL, NULL);
    return tun;
}

static int this_namespace(void) {
    int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    must(fd >= 0, "/proc/thread-self/ns/net");
    return fd;
}

/* ---- the link ---- */

static bool is_lost(struct link *link) {
    link->dice = link->dice * 6364136223846793005u + 1442695040888963407u;
    return (link->dice >> 33) % 1000 < link->options.loss_permille;
}

/* One packet, if there is one. */
static bool take(struct link *link, struct way *way) {
    bool has_room = way->tail - way->head < QUEUE_MAX;
    struct packet crowded, *packet = has_room ? &way->queue[way->tail % QUEUE_MAX] : &crowded;
    ssize_t size = read(way->from, packet->bytes, PACKET_MAX);
    if (size <= 0) return false;
    packet->size = (uint32_t)size;
    packet->due_us = now_us() + link->options.delay_us;
    pthread_mutex_lock(&link->lock);
    bool lost = is_lost(link);
    link->counts.packets++;
    link->counts.bytes += packet->size;
    link->counts.lost += lost;
    link->counts.crowded_out += !lost && !has_room;
    pthread_mutex_unlock(&link->lock);
    if (has_room && !lost) way->tail++;
    return true;
}

static void give_what_is_due(struct way *way) {
    int64_t now = now_us();
    for (; way->head < way->tail && way->queue[way->head % QUEUE_MAX].due_us <= now; way->head++) {
        const struct packet *packet = &way->queue[way->head % QUEUE_MAX];
        if (write(way->to, packet->bytes, packet->size) < 0 && errno != EIO) continue; /* lost after all */
    }
}

static struct timespec until_due(const struct link *link) {
    int64_t due = INT64_MAX, now = now_us();
    for (unsigned i = 0; i < 2; i++) {
        const struct way *way = &link->ways[i];
        if (way->head == way->tail) continue;
        int64_t first = way->queue[way->head % QUEUE_MAX].due_us;
        if (first < due) due = first;
    }
    int64_t left = due == INT64_MAX ? 1000000 : due > now ? due - now : 0;
    return (struct timespec){.tv_sec = left / 1000000, .tv_nsec = left % 1000000 * 1000};
}

static void *run(void *argument) {
    struct link *link = argument;
    for (;;) {
        struct pollfd waits[3] = {{.fd = link->wake, .events = POLLIN},
                                  {.fd = link->ways[0].from, .events = POLLIN},
                                  {.fd = link->ways[1].from, .events = POLLIN}};
        struct timespec left = until_due(link);
        ppoll(waits, 3, &left, NULL);
        if (waits[0].revents) return NULL;
        for (unsigned i = 0; i < 2; i++) {
            for (unsigned n = 0; n < AT_ONCE && take(link, &link->ways[i]); n++) continue;
            give_what_is_due(&link->ways[i]);
        }
    }
}

static struct way make_way(int from, int to) {
    struct way way = {.from = from, .to = to, .queue = malloc(QUEUE_MAX * sizeof(struct packet))};
    must(way.queue != NULL, "malloc");
    return way;
}

static const char *why_not(void) {
    if (access("/dev/net/tun", R_OK | W_OK) != 0) return "no /dev/net/tun that may be opened";
    if (unshare(CLONE_NEWNET) != 0) return "no network namespace of its own: it takes root";
    return NULL;
}

struct link *link_open(const struct link_options *options, const char **ret_why) {
    *ret_why = why_not();
    if (*ret_why) return NULL;
    struct link *link = calloc(1, sizeof *link);
    must(link != NULL, "calloc");
    link->options = *options;
    link->dice = options->seed;
    int near_tun = open_tun(LINK_NEAR_ADDRESS);
    link->near = this_namespace();
    must(unshare(CLONE_NEWNET) == 0, "unshare");
    int far_tun = open_tun(LINK_FAR_ADDRESS);
    link->far = this_namespace();
    link->ways[0] = make_way(near_tun, far_tun);
    link->ways[1] = make_way(far_tun, near_tun);
    link->wake = eventfd(0, EFD_CLOEXEC);
    pthread_mutex_init(&link->lock, NULL);
    must(pthread_create(&link->thread, NULL, run, link) == 0, "pthread_create");
    return link;
}

void link_close(struct link *link) {
    eventfd_write(link->wake, 1);
    pthread_join(link->thread, NULL);
    pthread_mutex_destroy(&link->lock);
    close(link->wake);
    close(link->near);
    close(link->far);
    for (unsigned i = 0; i < 2; i++) {
        close(link->ways[i].from);
        free(link->ways[i].queue);
    }
    free(link);
}

void link_go_near(const struct link *link) {
    must(setns(link->near, CLONE_NEWNET) == 0, "setns");
}

void link_go_far(const struct link *link) {
    must(setns(link->far, CLONE_NEWNET) == 0, "setns");
}

struct link_counts link_count(struct link *link) {
    pthread_mutex_lock(&link->lock);
    struct link_counts counts = link->counts;
    pthread_mutex_unlock(&link->lock);
    return counts;
}
