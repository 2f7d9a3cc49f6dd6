#include "tests/fault/witness.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(struct event) <= PIPE_BUF, "an event is written whole");

int64_t witness_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void witness_say(const struct witness *witness, struct event event) {
    event.actor = witness->actor;
    event.at_ms = witness_now_ms();
    if (write(witness->fd, &event, sizeof event) != (ssize_t)sizeof event) _exit(1);
}

static struct event event_of(enum what what, sw_item_kind kind, const sw_address *at) {
    return (struct event){
        .what = what, .kind = kind, .generation = at->generation, .step = at->step, .call = at->call};
}

void witness_begin(const struct witness *witness, enum what what, sw_item_kind kind, const sw_address *at,
                   int64_t timeout_ms) {
    struct event event = event_of(what, kind, at);
    event.begins = true;
    event.timeout_ms = timeout_ms;
    witness_say(witness, event);
}

void witness_end(const struct witness *witness, enum what what, sw_item_kind kind, const sw_address *at,
                 sw_status status, const sw_error *error, bool right) {
    struct event event = event_of(what, kind, at);
    event.status = status;
    event.right = right;
    if (status != SW_OK) {
        event.reason = error->reason;
        snprintf(event.note, sizeof event.note, "%.250s", error->message);
    }
    witness_say(witness, event);
}

const char *actor_name(enum actor actor) {
    static const char *const names[ACTORS] = {"stage 0 pulls",    "stage 1 pulls",  "stage 2 pulls",
                                              "stage 0 speaks",   "stage 1 speaks", "stage 2 speaks",
                                              "stage 3 speaks",   "the trainer",    "the watcher",
                                              "the late watcher", "the injector"};
    return names[actor];
}

void event_print(const struct event *event, int64_t since_ms) {
    static const char *const names[] = {
#define WHAT_NAME(name) #name,
        WHAT_MAP(WHAT_NAME)
#undef WHAT_NAME
    };
    static const char *const kinds[] = {"", " metrics", " tensors", " object"};
    printf("%7.3f %-16s %s%s", (double)(event->at_ms - since_ms) / 1000, actor_name(event->actor),
           names[event->what], kinds[event->kind]);
    printf(" %" PRIu64 ":%" PRIu64 "/%" PRIu32, event->generation, event->step, event->call);
    if (event->what == SAW_SEEN_GAP) printf(" to %" PRIu64 "/%" PRIu32, event->next_step, event->next_call);
    if (event->begins)
        printf(" …");
    else if (event->what < SAW_SEEN)
        printf(" %s %s%s", sw_status_name(event->status), sw_reason_name(event->reason),
               event->status == SW_OK && !event->right ? " WRONG" : "");
    printf("%s%s\n", event->note[0] ? " " : "", event->note);
}
