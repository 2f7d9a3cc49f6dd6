#include "tests/fault/campaign.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fault/host.h"
#include "tests/fault/judge.h"
#include "tests/fault/process.h"

enum {
    THREADS = CONSUMERS - 1 + 3,
    PROCESS_STAGE = CONSUMERS - 1,
    HELD_MAX = 4,
    WAIT_MS = 250,
    END_MS = 60000
};

/* A fault that goes on until it is due to be healed. */
struct held_fault {
    bool is_on;
    struct fault fault;
    int64_t due_ms;
};

struct campaign {
    const struct campaign_options *options;
    struct host host;
    struct judge judge;
    struct control *control;
    int control_fd, pipe[2], ticks;
    struct witness injector;
    struct part parts[THREADS + 1]; /* the last is the process's */
    pthread_t threads[THREADS];
    pid_t process;
    bool process_is_stopped;
    struct event process_pull, process_word; /* where it was */
    struct held_fault held[HELD_MAX];
    uint64_t injected, next, events_then, kinds[FAULT_KINDS];
    int64_t then_ms;
};

/* ---- who plays ---- */

static struct part part_of(struct campaign *campaign, unsigned relay, unsigned stage) {
    return (struct part){.seed = campaign->options->seed,
                         .control = campaign->control,
                         .events = campaign->pipe[1],
                         .ticks = campaign->ticks,
                         .target = relay_target(campaign->host.relays[relay]),
                         .stage = stage,
                         .generation = 1,
                         .step = 1,
                         .meeting = 1};
}

static void start_thread(struct campaign *campaign, unsigned index, void *(*play)(void *), struct part part) {
    campaign->parts[index] = part;
    if (pthread_create(&campaign->threads[index], NULL, play, &campaign->parts[index]) != 0) abort();
}

/* It goes on where it was: what it had not released is still there for it, and the word that it said last is
 * said again. */
static void start_process(struct campaign *campaign) {
    struct part *part = &campaign->parts[THREADS];
    const struct event *pull = &campaign->process_pull, *word = &campaign->process_word;
    *part = part_of(campaign, PROCESS_STAGE, PROCESS_STAGE);
    if (pull->generation > 0) {
        part->generation = pull->generation;
        part->step = pull->step;
    }
    if (word->generation == part->generation && word->step > 0) part->meeting = word->step;
    campaign->process = process_start(part, campaign->control_fd);
}

static void start_all(struct campaign *campaign) {
    unsigned index = 0;
    for (; index < PROCESS_STAGE; index++)
        start_thread(campaign, index, stage_play, part_of(campaign, index, index));
    start_thread(campaign, index++, trainer_play, part_of(campaign, RELAY_TRAINER, LAST_STAGE));
    start_thread(campaign, index++, watcher_play, part_of(campaign, RELAY_WATCHERS, 0));
    start_thread(campaign, index++, late_watcher_play, part_of(campaign, RELAY_WATCHERS, 0));
    start_process(campaign);
}

/* ---- what they saw ---- */

static void note_where_the_process_is(struct campaign *campaign, const struct event *event) {
    if (event->actor == PULLER_0 + PROCESS_STAGE && event->what == SAW_PULL) campaign->process_pull = *event;
    if (event->actor == SPEAKER_0 + PROCESS_STAGE) campaign->process_word = *event;
}

static void read_events(struct campaign *campaign) {
    struct event events[64];
    ssize_t got;
    while ((got = read(campaign->pipe[0], events, sizeof events)) > 0) {
        if ((size_t)got % sizeof *events != 0) abort();
        for (size_t i = 0; i < (size_t)got / sizeof *events; i++) {
            note_where_the_process_is(campaign, &events[i]);
            judge_take(&campaign->judge, &events[i]);
        }
    }
}

static void look(struct campaign *campaign, int timeout_ms) {
    struct pollfd wait = {.fd = campaign->pipe[0], .events = POLLIN};
    poll(&wait, 1, timeout_ms);
    read_events(campaign);
    judge_look_for_overdue(&campaign->judge);
    struct host *host = &campaign->host;
    int status = host->drains ? -1 : daemon_wait(host->daemon, 0);
    if (status >= 0)
        judge_fail(&campaign->judge, "the endpoint ended by itself with %d: %s", status,
                   daemon_log(host->daemon));
}

/* Until the pipe holds nothing that was written before. */
static void say(struct campaign *campaign, enum what what, uint64_t step, const char *note) {
    struct event event = {.what = what, .step = step};
    snprintf(event.note, sizeof event.note, "%s", note);
    read_events(campaign);
    witness_say(&campaign->injector, event);
    read_events(campaign);
}

/* ---- faults ---- */

/* What was said to it while it ended is as lost as what it was said before. */
static void endpoint_comes_back(struct campaign *campaign) {
    say(campaign, SAW_ENDPOINT_ENDS, 0, "is gone");
    host_restart(&campaign->host);
    campaign->host.drains = campaign->host.is_stopped = false;
}

static void heal(struct campaign *campaign, const struct fault *fault) {
    struct host *host = &campaign->host;
    struct relay *relay = host->relays[fault->relay];
    switch (fault->kind) {
    case FAULT_DELAY:
        relay_delay(relay, fault->way, 0);
        break;
    case FAULT_STALL:
        relay_stall(relay, false);
        break;
    case FAULT_STALL_ONE_WAY:
        relay_stall_way(relay, fault->way, false);
        break;
    case FAULT_REFUSE:
        relay_refuse(relay, false);
        break;
    case FAULT_DUPLICATE:
        relay_duplicate(relay, false);
        break;
    case FAULT_ENDPOINT_STOPPED:
        if (host->is_stopped) daemon_signal(host->daemon, SIGCONT);
        host->is_stopped = false;
        break;
    case FAULT_STAGE_STOPPED:
        if (campaign->process_is_stopped) kill(campaign->process, SIGCONT);
        campaign->process_is_stopped = false;
        break;
    default:
        break;
    }
    char words[160];
    fault_words(fault, words);
    say(campaign, SAW_HEALED, 0, words);
}

static void network_fault(struct campaign *campaign, const struct fault *fault) {
    struct relay *relay = campaign->host.relays[fault->relay];
    switch (fault->kind) {
    case FAULT_DELAY:
        relay_delay(relay, fault->way, fault->delay_ms);
        break;
    case FAULT_STALL:
        relay_stall(relay, true);
        break;
    case FAULT_STALL_ONE_WAY:
        relay_stall_way(relay, fault->way, true);
        break;
    case FAULT_CUT:
        relay_cut(relay);
        break;
    case FAULT_CUT_AFTER:
        relay_cut_after(relay, fault->way, fault->bytes);
        break;
    case FAULT_RESET:
        relay_reset(relay);
        break;
    case FAULT_RESET_AFTER:
        relay_reset_after(relay, fault->way, fault->bytes);
        break;
    case FAULT_HALF_CLOSE:
        relay_half_close(relay, fault->way);
        break;
    case FAULT_REFUSE:
        relay_refuse(relay, true);
        relay_cut(relay);
        break;
    case FAULT_DUPLICATE:
        relay_duplicate(relay, true);
        relay_cut(relay);
        break;
    default:
        campaign->judge.turned_bits++;
        relay_turn_bit(relay, fault->way, TURN_VALUE, TURN_RUN);
        break;
    }
}

static void end_endpoint(struct campaign *campaign, bool drains) {
    struct host *host = &campaign->host;
    say(campaign, SAW_ENDPOINT_ENDS, 0, drains ? "drains" : "killed");
    if (host->is_stopped) daemon_signal(host->daemon, SIGCONT);
    host->is_stopped = false;
    if (!drains) {
        daemon_kill(host->daemon);
        endpoint_comes_back(campaign);
        return;
    }
    campaign->judge.drains = host->drains = true;
    daemon_signal(host->daemon, SIGTERM);
}

static void kill_stage(struct campaign *campaign) {
    kill(campaign->process, SIGKILL);
    process_end(campaign->process);
    campaign->process_is_stopped = false;
    say(campaign, SAW_STAGE_ENDS, PROCESS_STAGE, "");
    start_process(campaign);
}

static void process_fault(struct campaign *campaign, const struct fault *fault) {
    struct host *host = &campaign->host;
    switch (fault->kind) {
    case FAULT_ENDPOINT_KILLED:
    case FAULT_ENDPOINT_DRAINED:
        if (!host->drains) end_endpoint(campaign, fault->kind == FAULT_ENDPOINT_DRAINED);
        break;
    case FAULT_ENDPOINT_STOPPED:
        if (host->drains) break;
        daemon_signal(host->daemon, SIGSTOP);
        host->is_stopped = true;
        break;
    case FAULT_STAGE_KILLED:
        kill_stage(campaign);
        break;
    case FAULT_STAGE_STOPPED:
        kill(campaign->process, SIGSTOP);
        campaign->process_is_stopped = true;
        break;
    default:
        atomic_fetch_add(&campaign->control->wanted_generation, 1);
        break;
    }
}

static void hold(struct campaign *campaign, const struct fault *fault) {
    struct held_fault *slot = &campaign->held[campaign->injected % HELD_MAX];
    if (slot->is_on) heal(campaign, &slot->fault);
    *slot = (struct held_fault){true, *fault, witness_now_ms() + fault->hold_ms};
}

static void inject(struct campaign *campaign, const struct fault *fault) {
    char words[160];
    fault_words(fault, words);
    say(campaign, SAW_FAULT, campaign->next - 1, words);
    if (fault_is_held(fault->kind)) hold(campaign, fault);
    if (fault->kind <= FAULT_TURN_BIT)
        network_fault(campaign, fault);
    else
        process_fault(campaign, fault);
    campaign->injected++;
    campaign->kinds[fault->kind]++;
    campaign->events_then = campaign->judge.counts.events;
    campaign->then_ms = witness_now_ms();
}

static void heal_what_is_due(struct campaign *campaign, bool all) {
    for (unsigned i = 0; i < HELD_MAX; i++) {
        struct held_fault *held = &campaign->held[i];
        if (!held->is_on || (!all && witness_now_ms() < held->due_ms)) continue;
        held->is_on = false;
        heal(campaign, &held->fault);
    }
}

static void restart_what_has_drained(struct campaign *campaign, int timeout_ms) {
    struct host *host = &campaign->host;
    if (!host->drains) return;
    int status = daemon_wait(host->daemon, timeout_ms);
    if (status == -1) return;
    if (status != 0)
        judge_fail(&campaign->judge, "the endpoint ended its drain with %d: %s", status,
                   daemon_log(host->daemon));
    endpoint_comes_back(campaign);
}

static struct fault next_fault(struct campaign *campaign) {
    struct fault fault;
    do fault = fault_of(campaign->options->seed, campaign->next++);
    while (!campaign->options->kinds[fault.kind]);
    return fault;
}

static void inject_all(struct campaign *campaign) {
    while (campaign->injected < campaign->options->faults && !campaign->judge.has_failed) {
        struct fault fault = next_fault(campaign);
        while (campaign->judge.counts.events < campaign->events_then + fault.gap &&
               witness_now_ms() < campaign->then_ms + WAIT_MS) {
            look(campaign, 10);
            heal_what_is_due(campaign, false);
            restart_what_has_drained(campaign, 0);
        }
        inject(campaign, &fault);
    }
}

/* ---- the end ---- */

static void become_quiet(struct campaign *campaign) {
    struct host *host = &campaign->host;
    heal_what_is_due(campaign, true);
    for (unsigned i = 0; i < RELAYS; i++) {
        relay_heal(host->relays[i]);
        relay_cut(host->relays[i]); /* what was half-closed, or is said twice, ends */
    }
    restart_what_has_drained(campaign, -1);
    say(campaign, SAW_QUIET, 0, "");
    atomic_store(&campaign->control->finishes, true);
}

static void wait_until_all_is_well(struct campaign *campaign) {
    int64_t until_ms = witness_now_ms() + END_MS;
    struct control *control = campaign->control;
    while (!campaign->judge.has_failed) {
        uint64_t last = atomic_load(&control->last_step), generation = atomic_load(&control->last_generation);
        if (last > 0 && judge_all_is_well(&campaign->judge, generation, last)) return;
        if (witness_now_ms() > until_ms) {
            judge_fail(&campaign->judge, "not all works again after the faults");
            judge_print_missing(&campaign->judge, generation, last);
            return;
        }
        look(campaign, 20);
    }
}

static void *let_events_pass(void *argument) {
    struct campaign *campaign = argument;
    struct pollfd wait = {.fd = campaign->pipe[0], .events = POLLIN};
    struct event event;
    while (poll(&wait, 1, -1) == 1 && read(campaign->pipe[0], &event, sizeof event) > 0)
        if (event.actor == INJECTOR && event.what == SAW_QUIET) break;
    return NULL;
}

static void stop_all(struct campaign *campaign) {
    pthread_t reader;
    atomic_store(&campaign->control->stops, true);
    if (campaign->process_is_stopped) kill(campaign->process, SIGCONT);
    if (campaign->host.is_stopped) daemon_signal(campaign->host.daemon, SIGCONT);
    if (pthread_create(&reader, NULL, let_events_pass, campaign) != 0) abort();
    for (unsigned i = 0; i < THREADS; i++) pthread_join(campaign->threads[i], NULL);
    int status = process_end(campaign->process);
    if (status != 0) judge_fail(&campaign->judge, "the process of a stage ended with %d", status);
    witness_say(&campaign->injector, (struct event){.what = SAW_QUIET});
    pthread_join(reader, NULL);
}

struct left {
    unsigned descriptors, threads;
    uint64_t calls;
};

/* What the endpoint holds for whoever asks. */
static struct left left_at(const struct host *host) {
    sw_client *client;
    sw_info *info;
    sw_error error;
    struct left left = {.calls = UINT64_MAX};
    if (sw_client_open(host->socket, NULL, &client, &error) != SW_OK) abort();
    if (sw_client_info(client, CALL_MS, &info, &error) == SW_OK) {
        pid_t pid = daemon_pid(host->daemon);
        left = (struct left){host_descriptors(pid), host_threads(pid),
                             info->open_calls + info->waiting + info->watches + info->streams +
                                 info->open_publishes};
        sw_info_destroy(info);
    }
    sw_client_close(client);
    return left;
}

/* gRPC starts some threads when it first needs them, and keeps them. */
static bool has_more(const struct left *now, const struct left *before) {
    return now->descriptors > before->descriptors || now->calls > before->calls ||
           now->threads > before->threads + 4;
}

/* With nobody there any more all is as it was at the beginning. */
static void compare_what_is_left(struct campaign *campaign, const struct left *before) {
    int64_t until_ms = witness_now_ms() + MARGIN_MS;
    struct left now;
    do now = left_at(&campaign->host);
    while (has_more(&now, before) && witness_now_ms() < until_ms);
    printf("the endpoint has %u descriptors, %u threads, %" PRIu64 " calls; a fresh one %u, %u, %" PRIu64
           "\n",
           now.descriptors, now.threads, now.calls, before->descriptors, before->threads, before->calls);
    if (has_more(&now, before)) judge_fail(&campaign->judge, "the endpoint did not let go of all");
}

/* ---- all of it ---- */

static void open_campaign(struct campaign *campaign) {
    judge_init(&campaign->judge, campaign->options->seed, campaign->options->is_verbose);
    campaign->control = process_control_create(&campaign->control_fd);
    atomic_store(&campaign->control->wanted_generation, 1);
    campaign->ticks = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (campaign->ticks < 0 || pipe2(campaign->pipe, O_CLOEXEC) != 0) abort();
    fcntl(campaign->pipe[0], F_SETFL, O_NONBLOCK);
    fcntl(campaign->pipe[0], F_SETPIPE_SZ, 1 << 20);
    campaign->injector = (struct witness){.fd = campaign->pipe[1], .actor = INJECTOR};
    host_open(&campaign->host);
}

static void close_campaign(struct campaign *campaign) {
    host_close(&campaign->host);
    munmap(campaign->control, sizeof *campaign->control);
    close(campaign->control_fd);
    close(campaign->ticks);
    close(campaign->pipe[0]);
    close(campaign->pipe[1]);
    judge_destroy(&campaign->judge);
}

static void print_summary(const struct campaign *campaign) {
    const struct judge *judge = &campaign->judge;
    const struct counts *counts = &judge->counts;
    printf("seed %" PRIu64 ": %" PRIu64 " faults in %.1f s;", campaign->options->seed, campaign->injected,
           (double)(witness_now_ms() - judge->begun_ms) / 1000);
    for (enum fault_kind kind = 0; kind < FAULT_KINDS; kind++)
        printf(" %s %" PRIu64, fault_name(kind), campaign->kinds[kind]);
    printf("\n%" PRIu64 " events: published %" PRIu64 ", pulled %" PRIu64 ", STEP_FAILED %" PRIu64
           ", EVICTED %" PRIu64 ", SKIPPED %" PRIu64 ", NOT_YET %" PRIu64 ", SUPERSEDED %" PRIu64
           ", CHECKSUM %" PRIu64 ", refused %" PRIu64 ", unanswered %" PRIu64 ", met %" PRIu64
           ", seen by watches %" PRIu64 ", gaps %" PRIu64 "\n",
           counts->events, counts->published, counts->pulled, counts->failed, counts->evicted,
           counts->skipped, counts->not_yet, counts->superseded, counts->checksums, counts->refused,
           counts->unanswered, counts->met, counts->seen, counts->gaps);
    printf("the latest answer came %" PRId64 " ms after its deadline (%s)\n", judge->worst_overshoot_ms,
           judge->worst_note[0] ? judge->worst_note : "none was late");
}

bool campaign_run(const struct campaign_options *options) {
    struct campaign campaign = {.options = options};
    open_campaign(&campaign);
    struct left before = left_at(&campaign.host);
    start_all(&campaign);
    inject_all(&campaign);
    become_quiet(&campaign);
    wait_until_all_is_well(&campaign);
    stop_all(&campaign);
    if (!campaign.judge.has_failed) compare_what_is_left(&campaign, &before);
    print_summary(&campaign);
    bool holds = !campaign.judge.has_failed;
    close_campaign(&campaign);
    return holds;
}
