/* Events of a watch as 'stagewire watch' prints them: a line each. */
#ifndef STAGEWIRE_CLIENT_CLI_SHOW_EVENT_H
#define STAGEWIRE_CLIENT_CLI_SHOW_EVENT_H

#include <stdbool.h>
#include <stdio.h>

#include <stagewire/client.h>

/* "stage 3  train 7/0  loss=0.25 n=3" */
void show_event_text(FILE *out, const sw_watch_event *event, bool colors);

/* {"event": "metrics", …}: the members of an address, and
 *
 *   metrics      "published_unix_ns", "metrics"
 *   failure      "message"
 *   closing      "reason": "FINISHED" or "ABORTED", "message"; the address is the channel's last, with null
 * as "step" and "call" where there was none loss         "message"; the same address gap          the address
 * is the first that is missing; "next": {"step": …, "call": …}, or null generation   only "generation" */
void show_event_json(FILE *out, const sw_watch_event *event);

#endif
