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

enum { PACKETS_MAX = 16384, AT_ONCE = 64 };

struct packet {
    int64_t due_ns;
    size_t size;
};

/* One way: packets in the order of their arrival, which is that of their departure. */
struct way {
    int from, to;
    struct packet *packets;
    uint8_t *bytes; /* an MTU each */
    uint64_t head, tail;
    int64_t free_ns; /* when the last of them will have been sent */
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

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* ---- the two ends ---- */

static void ask(int control, unsigned long what, struct ifreq *request, const char *name) {
    must(ioctl(control, what, request) == 0, name);
}

static void set_address(int control, struct ifreq *request, unsigned long what, const char *name,
                        const char *address) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    inet_pton(AF_INET, address, &in.sin_addr);
    memcpy(&request->ifr_addr, &in, sizeof in);
    ask(control, what, request, name);
}

static void bring_up(int control, struct ifreq *request) {
    ask(control, SIOCGIFFLAGS, request, "SIOCGIFFLAGS");
    request->ifr_flags |= IFF_UP | IFF_RUNNING;
    ask(control, SIOCSIFFLAGS, request, "SIOCSIFFLAGS");
}

static int open_tun(const char *address, unsigned mtu) {
    int tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI, .ifr_name = "link0"}, lo = {.ifr_name = "lo"};
    must(tun >= 0 && control >= 0, "/dev/net/tun");
    ask(tun, TUNSETIFF, &request, "TUNSETIFF");
    set_address(control, &request, SIOCSIFADDR, "SIOCSIFADDR", address);
    set_address(control, &request, SIOCSIFNETMASK, "SIOCSIFNETMASK", "255.255.255.252");
    request.ifr_mtu = (int)mtu;
    ask(control, SIOCSIFMTU, &request, "SIOCSIFMTU");
    request.ifr_qlen = PACKETS_MAX; /* what waits for this thread is not lost */
    ask(control, SIOCSIFTXQLEN, &request, "SIOCSIFTXQLEN");
    bring_up(control, &request);
    bring_up(control, &lo);
    close(control);
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
    return (link->dice >> 33) % 1000000 < link->options.loss_ppm;
}

static struct packet *packet_at(const struct way *way, uint64_t index) {
    return &way->packets[index % PACKETS_MAX];
}

static uint8_t *bytes_at(const struct link *link, const struct way *way, uint64_t index) {
    return way->bytes + index % PACKETS_MAX * link->options.mtu;
}

/* Its turn comes when all before it have been sent; false if that takes too long. */
static bool queue_up(const struct link *link, struct way *way, size_t size) {
    const struct link_options *options = &link->options;
    int64_t now = now_ns(), turn = way->free_ns > now ? way->free_ns : now;
    if (way->tail - way->head == PACKETS_MAX - 1) return false; /* one is for what comes next */
    if (options->rate_mbit) {
        if (turn - now > options->queue_us * 1000) return false;
        turn += (int64_t)size * 8000 / options->rate_mbit;
    }
    way->free_ns = turn;
    *packet_at(way, way->tail++) = (struct packet){turn + options->delay_us * 1000, size};
    return true;
}

/* One packet, if there is one. */
static bool take(struct link *link, struct way *way) {
    ssize_t size = read(way->from, bytes_at(link, way, way->tail), link->options.mtu);
    if (size <= 0) return false;
    bool lost = is_lost(link), crowded_out = !lost && !queue_up(link, way, (size_t)size);
    pthread_mutex_lock(&link->lock);
    link->counts.packets++;
    link->counts.bytes += (uint64_t)size;
    link->counts.lost += lost;
    link->counts.crowded_out += crowded_out;
    pthread_mutex_unlock(&link->lock);
    return true;
}

static void give_what_is_due(const struct link *link, struct way *way) {
    int64_t now = now_ns();
    for (; way->head < way->tail && packet_at(way, way->head)->due_ns <= now; way->head++) {
        ssize_t n = write(way->to, bytes_at(link, way, way->head), packet_at(way, way->head)->size);
        must(n > 0 || errno == EIO, "a packet"); /* EIO: that end is not up any more */
    }
}

static struct timespec until_due(const struct link *link) {
    int64_t due = INT64_MAX, now = now_ns();
    for (unsigned i = 0; i < 2; i++) {
        const struct way *way = &link->ways[i];
        if (way->head < way->tail && packet_at(way, way->head)->due_ns < due)
            due = packet_at(way, way->head)->due_ns;
    }
    int64_t left = due == INT64_MAX ? 1000000000 : due > now ? due - now : 0;
    return (struct timespec){.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
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
            give_what_is_due(link, &link->ways[i]);
        }
    }
}

static struct way make_way(int from, int to, unsigned mtu) {
    struct way way = {.from = from, .to = to};
    way.packets = malloc(PACKETS_MAX * sizeof *way.packets);
    way.bytes = malloc((size_t)PACKETS_MAX * mtu);
    must(way.packets && way.bytes, "malloc");
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
    int near_tun = open_tun(LINK_NEAR_ADDRESS, options->mtu);
    link->near = this_namespace();
    must(unshare(CLONE_NEWNET) == 0, "unshare");
    int far_tun = open_tun(LINK_FAR_ADDRESS, options->mtu);
    link->far = this_namespace();
    link->ways[0] = make_way(near_tun, far_tun, options->mtu);
    link->ways[1] = make_way(far_tun, near_tun, options->mtu);
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
        free(link->ways[i].packets);
        free(link->ways[i].bytes);
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
