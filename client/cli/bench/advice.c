#include "client/cli/bench/advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MIB            (UINT64_C(1) << 20)
#define WORTH_IT       1.3 /* less is noise */
#define A_CORE_IS_BUSY 0.9 /* of one core */
#define HUGE_PAGES     "/sys/kernel/mm/transparent_hugepage/shmem_enabled"

struct list {
    struct advice *advice;
    size_t count;
};

static struct advice *add(struct list *list) {
    return &list->advice[list->count++];
}

#define CHANGE(advice, ...) snprintf((advice)->change, sizeof(advice)->change, __VA_ARGS__)
#define REASON(advice, ...) snprintf((advice)->reason, sizeof(advice)->reason, __VA_ARGS__)

static void advise_socket(const struct bench_results *results, struct list *list) {
    if (!results->is_near || results->link == BENCH_UNIX) return;
    struct advice *advice = add(list);
    CHANGE(advice, "stagewired --listen unix:PATH, beside %s, and call it by that name", results->endpoint);
    REASON(
        advice,
        "both ends are on this machine: a Unix socket needs no TLS, and large tensors are passed over it as "
        "memory instead of being copied");
}

static void advise_memory(const struct bench_results *results, struct list *list) {
    const struct bench_row *one = bench_best_pull(results, 1);
    if (results->link != BENCH_UNIX || results->passes_memory || !one) return;
    struct advice *advice = add(list);
    CHANGE(advice, "the trainer publishes tensors of 1 MiB and more from memory of sw_buffer_create");
    REASON(advice, "what lies there is passed over a Unix socket as memory; these tensors are copied, in "
                   "chunks");
}

/* ---- bandwidth and delay ---- */

struct pipe {
    double rate, rtt_s;
    uint64_t bytes; /* under way when it is full */
    uint64_t room;  /* for a buffer of the kernel, which also has its own to store: twice that, in MiB */
};

static struct pipe measure(const struct bench_results *results) {
    const struct bench_row *call = bench_row_of(results, BENCH_CALL);
    const struct bench_row *raw = bench_row_of(results, BENCH_RAW_STREAM);
    const struct bench_row *pull = bench_best_pull(results, 0);
    struct pipe pipe = {0};
    if (pull) pipe.rate = bench_rate(pull);
    if (raw && bench_rate(raw) > pipe.rate) pipe.rate = bench_rate(raw);
    if (call) pipe.rtt_s = (double)latency_percentile_ns(&call->took, 0.5) / 1e9;
    pipe.bytes = (uint64_t)(pipe.rate * pipe.rtt_s);
    pipe.room = (2 * pipe.bytes + MIB - 1) / MIB * MIB;
    return pipe;
}

static void advise_send_buffer(const struct bench_results *results, const struct pipe *pipe,
                               struct list *list) {
    const struct bench_row *one = bench_best_pull(results, 1), *best = bench_best_pull(results, 0);
    if (results->is_near || !one || bench_rate(best) < WORTH_IT * bench_rate(one)) return;
    struct advice *advice = add(list);
    CHANGE(advice,
           "on the endpoint's machine the last number of net.ipv4.tcp_wmem to %" PRIu64
           " or more (sysctl), so that one connection fills the link; without, a pull opens up to 8, "
           "or what sw_client_options.connections says",
           pipe->room);
    REASON(advice,
           "%u connections carry %.1f times as much as one, which has no more under way than its send buffer "
           "holds: %.0f MB/s at %.1f ms are %" PRIu64 " bytes",
           best->connections, bench_rate(best) / bench_rate(one), pipe->rate / 1e6, pipe->rtt_s * 1e3,
           pipe->bytes);
}

static void advise_receive_buffer(const struct bench_results *results, const struct pipe *pipe,
                                  uint64_t receive_max, struct list *list) {
    if (results->is_near || receive_max == 0 || pipe->room <= receive_max) return;
    struct advice *advice = add(list);
    CHANGE(advice, "on this machine the last number of net.ipv4.tcp_rmem to %" PRIu64 " (sysctl)",
           pipe->room);
    REASON(advice,
           "it is %" PRIu64 ", and a connection that fills the link has %" PRIu64
           " bytes under way: %.0f MB/s at %.1f ms",
           receive_max, pipe->bytes, pipe->rate / 1e6, pipe->rtt_s * 1e3);
}

/* ---- this machine ---- */

static void advise_tls(const struct bench_results *results, struct list *list) {
    const struct bench_row *one = bench_best_pull(results, 1);
    if (results->link != BENCH_TLS || !one || one->cores < A_CORE_IS_BUSY) return;
    struct advice *advice = add(list);
    CHANGE(advice, "pull over several connections, which use several cores; 'openssl speed -evp aes-128-gcm' "
                   "says what a core decrypts");
    REASON(advice, "TLS: one connection at %.0f MB/s keeps %.1f cores of this side busy",
           bench_rate(one) / 1e6, one->cores);
}

static void advise_huge_pages(const struct bench_results *results, const struct advice_machine *machine,
                              struct list *list) {
    if (!results->passes_memory || !machine->lacks_huge_pages) return;
    struct advice *advice = add(list);
    CHANGE(advice, "on this machine 'advise' to " HUGE_PAGES);
    REASON(advice, "tensors are passed as memory, and without huge pages for it the kernel maps and frees it "
                   "by 4 KiB: publishing takes two to three times as long");
}

size_t advise(const struct bench_results *results, const struct advice_machine *machine,
              struct advice advice[ADVICE_MAX]) {
    struct list list = {.advice = advice};
    struct pipe pipe = measure(results);
    advise_socket(results, &list);
    advise_memory(results, &list);
    advise_send_buffer(results, &pipe, &list);
    advise_receive_buffer(results, &pipe, machine->receive_max, &list);
    advise_tls(results, &list);
    advise_huge_pages(results, machine, &list);
    return list.count;
}

static uint64_t receive_max(void) {
    FILE *file = fopen("/proc/sys/net/ipv4/tcp_rmem", "re");
    if (!file) return 0;
    uint64_t most = 0;
    if (fscanf(file, "%*u %*u %" SCNu64, &most) != 1) most = 0;
    fclose(file);
    return most;
}

/* The word in brackets is the one that holds. */
static bool lacks_huge_pages(void) {
    char words[128] = "";
    FILE *file = fopen(HUGE_PAGES, "re");
    if (!file) return false;
    if (!fgets(words, sizeof words, file)) words[0] = '\0';
    fclose(file);
    return strstr(words, "[never]") || strstr(words, "[deny]");
}

struct advice_machine advice_this_machine(void) {
    return (struct advice_machine){.receive_max = receive_max(), .lacks_huge_pages = lacks_huge_pages()};
}
