#include <stdlib.h>
#include <string.h>

#include "tests/fault/part.h"

static bool fits(const struct part *part, const sw_watch_event *seen) {
    const sw_address *at = &seen->address;
    if (strcmp(at->channel, METRICS) != 0 || at->stage != LAST_STAGE) return false;
    if (seen->type == SW_EVENT_PUBLISHED) return truth_metrics_match(part->seed, at, seen->metrics);
    char message[64];
    truth_message(part->seed, SW_METRICS, at, message);
    return strcmp(seen->message, message) == 0;
}

static void tell(const struct part *part, const struct witness *witness, const sw_watch_event *seen) {
    static const enum what whats[] = {[SW_EVENT_PUBLISHED] = SAW_SEEN,
                                      [SW_EVENT_FAILED] = SAW_SEEN_FAILED,
                                      [SW_EVENT_GAP] = SAW_SEEN_GAP,
                                      [SW_EVENT_CLOSED] = SAW_SEEN_CLOSED,
                                      [SW_EVENT_GENERATION] = SAW_SEEN_GENERATION};
    struct event event = {.what = whats[seen->type],
                          .kind = SW_METRICS,
                          .generation = seen->address.generation,
                          .step = seen->address.step,
                          .call = seen->address.call};
    if (seen->type == SW_EVENT_GENERATION) event.generation = seen->generation;
    if (seen->type == SW_EVENT_GAP && seen->has_next) {
        event.next_step = seen->next.step;
        event.next_call = seen->next.call;
    }
    if (seen->type == SW_EVENT_PUBLISHED || seen->type == SW_EVENT_FAILED) event.right = fits(part, seen);
    witness_say(witness, event);
}

static sw_watch *open_watch(const struct part *part, const struct witness *witness, sw_client *client) {
    sw_watch *watch = NULL;
    sw_error error;
    sw_address none = {0};
    while (!watch && !atomic_load(&part->control->stops)) {
        witness_begin(witness, SAW_WATCH, SW_METRICS, &none, CALL_MS);
        sw_status status =
            sw_client_watch(client, NULL, 0, SW_WATCH_OLDEST_HELD, NULL, 0, CALL_MS, &watch, &error);
        witness_end(witness, SAW_WATCH, SW_METRICS, &none, status, &error, true);
    }
    return watch;
}

/* Until the watch ends, which none may, or `most` events were seen. */
static void watch_on(const struct part *part, const struct witness *witness, sw_watch *watch, unsigned most) {
    sw_watch_event seen;
    sw_error error;
    for (unsigned count = 0; count < most && !atomic_load(&part->control->stops);) {
        sw_status status = sw_watch_next(watch, 100, &seen, &error);
        if (status == SW_OK) {
            tell(part, witness, &seen);
            count++;
        } else if (status != SW_DEADLINE_EXCEEDED) {
            sw_address none = {0};
            witness_end(witness, SAW_WATCH, SW_METRICS, &none, status, &error, true);
            return;
        }
    }
}

static void play(const struct part *part, enum actor actor, unsigned most) {
    struct witness witness = part_witness(part, actor);
    sw_client *client = part_client(part, NULL);
    while (!atomic_load(&part->control->stops)) {
        sw_watch *watch = open_watch(part, &witness, client);
        if (!watch) break;
        watch_on(part, &witness, watch, most);
        sw_watch_close(watch);
    }
    sw_client_close(client);
}

void *watcher_play(void *part) {
    play(part, WATCHER, UINT32_MAX);
    return NULL;
}

void *late_watcher_play(void *part) {
    play(part, LATE_WATCHER, 150);
    return NULL;
}
