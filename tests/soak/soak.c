/* A publisher that never pauses, a daemon, and 16 consumers that come, stall, are killed and return: every
 * byte that arrives is compared, who stalls holds nobody up, and the daemon's memory, descriptors and threads
 * stay as they are.
 *
 *     soak SECONDS
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/soak/actors.h"
#include "tests/soak/meter.h"
#include "tests/support/bench_rows.h"
#include "tests/support/daemon.h"

#define CONSUMERS 16
#define TICK_US   200000
#define PER_S     (1000000 / TICK_US)
#define REPORT_S  30
#define STALL_S   2  /* at least; also how long no publish may take */
#define SETTLE_S  45 /* for all to be served again; for their pins, which stand for 30 s, to end */
#define KEPT      4  /* steps, whose large tensors stay as memory of a descriptor each */
#define GIB       (double)(UINT64_C(1) << 30)

enum { RUNS, STALLS, IS_AWAY };

struct actor {
    void (*play)(const char *target, struct tally *tally);
    unsigned listener;
    pid_t process;
    int state;
    long until; /* tick at which a consumer that stalls or is away goes on */
};

static struct daemon *daemon_;
static struct tally *tallies; /* shared with all: the publisher's, then the consumers' */
static struct actor actors[1 + CONSUMERS];
static long kills, returns, stalls;
static int broken;

static void breaks(bool promise_broken, const char *words) {
    if (!promise_broken) return;
    fprintf(stderr, "soak: %s\n", words);
    broken++;
}

static void tick(void) {
    nanosleep(&(struct timespec){.tv_nsec = TICK_US * 1000}, NULL);
}

/* ---- who plays ---- */

static void start(struct actor *actor) {
    pid_t parent = getpid();
    actor->process = fork();
    bench_must_have(actor->process >= 0, "fork");
    if (actor->process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            actor->play(daemon_target(daemon_, actor->listener), &tallies[actor - actors]);
        _exit(1);
    }
    actor->state = RUNS;
}

static void end(struct actor *actor) {
    if (actor->state == IS_AWAY) return;
    kill(actor->process, SIGKILL);
    waitpid(actor->process, NULL, 0);
    actor->state = IS_AWAY;
}

static void stop(struct actor *actor) {
    kill(actor->process, SIGSTOP);
    actor->state = STALLS;
    stalls++;
}

static void kill_one(struct actor *actor) {
    end(actor);
    kills++;
}

static void go_on(struct actor *actor) {
    if (actor->state == IS_AWAY) {
        start(actor);
        returns++;
    } else {
        kill(actor->process, SIGCONT);
        actor->state = RUNS;
    }
}

static void start_all(void) {
    for (unsigned i = 0; i < 1 + CONSUMERS; i++) {
        struct actor *actor = &actors[i];
        if (i == 0)
            *actor = (struct actor){.play = actor_publish, .listener = 1};
        else /* a quarter watches, a quarter pulls over TCP, and half over the Unix socket */
            *actor = (struct actor){.play = i % 4 ? actor_pull : actor_watch, .listener = i % 2};
        start(actor);
    }
}

/* Nobody ends by himself but to say what is wrong. */
static void check_alive(void) {
    for (unsigned i = 0; i < 1 + CONSUMERS; i++) {
        struct actor *actor = &actors[i];
        if (actor->state == IS_AWAY || waitpid(actor->process, NULL, WNOHANG) == 0) continue;
        breaks(true, i ? "a consumer gave up" : "the publisher gave up");
        actor->state = IS_AWAY;
    }
}

/* ---- what happens to them ---- */

/* A tick of it: those whose time has come go on, or are killed while they stall; and something happens to
 * another. */
static void stir(long now) {
    for (unsigned i = 1; i <= CONSUMERS; i++) {
        struct actor *actor = &actors[i];
        if (actor->state == RUNS || now < actor->until) continue;
        if (actor->state == STALLS && random() % 4 == 0) {
            kill_one(actor);
            actor->until = now + PER_S;
        } else {
            go_on(actor);
        }
    }
    struct actor *chosen = &actors[1 + random() % CONSUMERS];
    if (chosen->state != RUNS) return;
    if (random() % 2)
        kill_one(chosen);
    else
        stop(chosen);
    chosen->until = now + (STALL_S + random() % 4) * PER_S;
}

static bool all_served_since(const uint64_t *steps) {
    for (unsigned i = 0; i < 1 + CONSUMERS; i++)
        if (tallies[i].steps <= steps[i]) return false;
    return true;
}

/* With all back and nothing in their way, each receives something new. */
static void settle(void) {
    uint64_t steps[1 + CONSUMERS];
    for (unsigned i = 0; i < 1 + CONSUMERS; i++) {
        if (actors[i].state != RUNS) go_on(&actors[i]);
        steps[i] = tallies[i].steps;
    }
    for (long i = 0; i < SETTLE_S * PER_S && !all_served_since(steps); i++) tick();
    check_alive();
    breaks(!all_served_since(steps), "not all consumers that returned are served");
}

/* ---- what it takes ---- */

static double read_gib(void) {
    uint64_t bytes = 0;
    for (unsigned i = 1; i <= CONSUMERS; i++) bytes += tallies[i].bytes;
    return (double)bytes / GIB;
}

static void report(long seconds, struct reading now) {
    printf("%4ld s  %8lu steps  %8.1f GiB read  RSS %6.1f MiB  %3.0f descriptors  %3.0f threads  %ld kills  "
           "%ld stalls  "
           "%ld returns\n",
           seconds, (unsigned long)tallies[0].steps, read_gib(), now.mib, now.descriptors, now.threads, kills,
           stalls, returns);
    fflush(stdout);
}

static void measure(struct reading *readings, long ticks) {
    for (long now = 0; now < ticks; now++) {
        tick();
        check_alive();
        stir(now);
        readings[now] = meter_read(daemon_pid(daemon_));
        if ((now + 1) % (REPORT_S * PER_S) == 0) report((now + 1) / PER_S, readings[now]);
    }
}

/* What each kill left behind, were it one descriptor or a few KiB, would have added up by the end. */
static void check_flat(struct reading first, struct reading last) {
    breaks(last.mib > 1.05 * first.mib + 8, "the endpoint's memory has grown");
    breaks(last.descriptors > first.descriptors + 8, "the endpoint's descriptors have grown");
    breaks(last.threads > first.threads + 2, "the endpoint's threads have grown");
}

/* Nobody is there any more: nor is anything of them, to the last descriptor. */
static void check_forgotten(struct reading alone) {
    double left = alone.descriptors + KEPT;
    for (long i = 0; i < SETTLE_S * PER_S && meter_read(daemon_pid(daemon_)).descriptors > left; i++) tick();
    breaks(meter_read(daemon_pid(daemon_)).descriptors > left,
           "the endpoint keeps descriptors of those that are gone");
}

static struct daemon *start_daemon(void) {
    char path[64], kept[16];
    snprintf(kept, sizeof kept, "%d", KEPT);
    snprintf(path, sizeof path, "unix:/tmp/stagewire-soak-%d.sock", (int)getpid());
    return daemon_start((const char *const[]){"--listen", "127.0.0.1:0", "--listen", path, "--run-id", "soak",
                                              "--store-bytes", "64m", "--keep-tensor-steps", "4",
                                              "--keep-steps", "64", NULL});
}

static void sum_up(struct reading first, struct reading last) {
    printf("%s: %lu steps, %.1f GiB compared, %ld kills, %ld stalls, %ld returns; RSS %.1f to %.1f MiB, "
           "descriptors %.0f to %.0f, threads %.0f to %.0f; slowest publish %.0f ms\n",
           broken ? "BROKEN" : "all is well", (unsigned long)tallies[0].steps, read_gib(), kills, stalls,
           returns, first.mib, last.mib, first.descriptors, last.descriptors, first.threads, last.threads,
           (double)tallies[0].slowest_us / 1e3);
}

int main(int argc, char **argv) {
    long ticks = (argc > 1 ? atol(argv[1]) : 0) * PER_S;
    if (ticks < 10 * PER_S) {
        fprintf(stderr, "usage: %s SECONDS, 10 or more\n", argv[0]);
        return 2;
    }
    size_t size = (1 + CONSUMERS) * sizeof *tallies;
    tallies = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct reading *readings = calloc((size_t)ticks, sizeof *readings);
    daemon_ = start_daemon();
    bench_must_have(tallies != MAP_FAILED && readings && daemon_, "begin");
    struct reading alone = meter_read(daemon_pid(daemon_));

    start_all();
    measure(readings, ticks);
    settle();
    size_t tenth = (size_t)ticks / 10;
    struct reading first = meter_middle(readings + tenth, tenth);
    struct reading last = meter_middle(readings + (size_t)ticks - tenth, tenth);
    breaks(tallies[0].slowest_us > STALL_S * 1000000, "a publish took as long as a consumer stalled");
    check_flat(first, last);
    for (unsigned i = 0; i < 1 + CONSUMERS; i++) end(&actors[i]);
    check_forgotten(alone);
    breaks(daemon_stop(daemon_) != 0, "the endpoint did not end as it should");

    sum_up(first, last);
    daemon_destroy(daemon_);
    return broken ? 1 : 0;
}
