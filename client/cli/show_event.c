#include "client/cli/show_event.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/json_write.h"
#include "client/cli/messages.h"
#include "client/cli/show_metrics.h"

#define RED    "\x1b[31m"
#define YELLOW "\x1b[33m"
#define GREEN  "\x1b[32m"
#define PLAIN  "\x1b[0m"

static bool is_loss(const sw_watch_event *event) {
    return event->reason == SW_CLOSE_PUBLISHER_LOST;
}

static const char *name_of(const sw_watch_event *event) {
    switch (event->type) {
    case SW_EVENT_PUBLISHED:
        return "metrics";
    case SW_EVENT_FAILED:
        return "failure";
    case SW_EVENT_GAP:
        return "gap";
    case SW_EVENT_CLOSED:
        return is_loss(event) ? "loss" : "closing";
    case SW_EVENT_GENERATION:
        break;
    }
    return "generation";
}

static const char *color_of(const sw_watch_event *event) {
    switch (event->type) {
    case SW_EVENT_PUBLISHED:
        return "";
    case SW_EVENT_GAP:
        return YELLOW;
    case SW_EVENT_GENERATION:
        return GREEN;
    case SW_EVENT_FAILED:
        return RED;
    case SW_EVENT_CLOSED:
        break;
    }
    return event->reason == SW_CLOSE_FINISHED ? GREEN : RED;
}

/* ---- text ---- */

static void put_dict(FILE *out, const sw_value *dict) {
    for (size_t i = 0; i < dict->dict.count; i++) {
        const sw_entry *entry = &dict->dict.entries[i];
        fprintf(out, "%s%.*s=", i ? " " : "", (int)entry->key.size, entry->key.data);
        json_write_value(out, &entry->value);
    }
}

static void put_metrics(FILE *out, const sw_value *metrics) {
    if (metrics->kind == SW_VALUE_DICT) put_dict(out, metrics);
    for (size_t i = 0; metrics->kind == SW_VALUE_LIST && i < metrics->list.count; i++) {
        fprintf(out, "%s[%zu] ", i ? "  " : "", i);
        put_dict(out, &metrics->list.items[i]);
    }
}

static void put_closing(FILE *out, const sw_watch_event *event) {
    const sw_address *last = &event->address;
    fputs(event->reason == SW_CLOSE_FINISHED ? "finished"
          : is_loss(event)                   ? "publisher lost"
                                             : "aborted",
          out);
    if (event->has_last) fprintf(out, " after %" PRIu64 "/%" PRIu32, last->step, last->call);
    if (event->message && *event->message) fprintf(out, ": %s", event->message);
}

static void put_place(FILE *out, const sw_watch_event *event) {
    const sw_address *address = &event->address;
    fprintf(out, "stage %" PRIu32, address->stage);
    if (address->group) fprintf(out, " group %" PRIu32, address->group);
    fprintf(out, "  %s", address->channel);
    if (event->type != SW_EVENT_CLOSED) fprintf(out, " %" PRIu64 "/%" PRIu32, address->step, address->call);
    fputs("  ", out);
}

static void put_event(FILE *out, const sw_watch_event *event) {
    if (event->type == SW_EVENT_GENERATION) {
        fprintf(out, "generation %" PRIu64 " begins", event->generation);
        return;
    }
    put_place(out, event);
    if (event->type == SW_EVENT_PUBLISHED)
        put_metrics(out, event->metrics);
    else if (event->type == SW_EVENT_FAILED)
        fprintf(out, "failed: %s", event->message);
    else if (event->type == SW_EVENT_CLOSED)
        put_closing(out, event);
    else if (event->has_next)
        fprintf(out, "gap: gone up to %" PRIu64 "/%" PRIu32 ", the next held", event->next.step,
                event->next.call);
    else
        fputs("gap: gone, and nothing is held", out);
}

void show_event_text(FILE *out, const sw_watch_event *event, bool colors) {
    const char *color = colors ? color_of(event) : "";
    char *text = NULL;
    size_t size;
    FILE *line = open_memstream(&text, &size);
    if (!line) return;
    put_event(line, event);
    if (fclose(line) == 0) {
        fputs(color, out);
        messages_put_clean(out, text, size);
        fprintf(out, "%s\n", *color ? PLAIN : "");
    }
    free(text);
}

/* ---- JSON ---- */

static void put_message(FILE *out, const sw_watch_event *event) {
    fputs(", \"message\": ", out);
    json_write_string(out, event->message ? event->message : "");
}

static void put_details(FILE *out, const sw_watch_event *event) {
    switch (event->type) {
    case SW_EVENT_PUBLISHED:
        fprintf(out, ", \"published_unix_ns\": %" PRId64 ", \"metrics\": ", event->published_unix_ns);
        json_write_value(out, event->metrics);
        break;
    case SW_EVENT_FAILED:
        put_message(out, event);
        break;
    case SW_EVENT_GAP:
        if (event->has_next)
            fprintf(out, ", \"next\": {\"step\": %" PRIu64 ", \"call\": %" PRIu32 "}", event->next.step,
                    event->next.call);
        else
            fputs(", \"next\": null", out);
        break;
    case SW_EVENT_CLOSED:
        if (!is_loss(event))
            fprintf(out, ", \"reason\": \"%s\"", event->reason == SW_CLOSE_FINISHED ? "FINISHED" : "ABORTED");
        put_message(out, event);
        break;
    case SW_EVENT_GENERATION:
        break;
    }
}

void show_event_json(FILE *out, const sw_watch_event *event) {
    fprintf(out, "{\"event\": \"%s\", ", name_of(event));
    if (event->type == SW_EVENT_GENERATION)
        fprintf(out, "\"generation\": %" PRIu64, event->generation);
    else if (event->type == SW_EVENT_CLOSED && !event->has_last)
        show_place_json(out, &event->address);
    else
        show_address_json(out, &event->address);
    if (event->type == SW_EVENT_CLOSED && !event->has_last) fputs(", \"step\": null, \"call\": null", out);
    put_details(out, event);
    fputs("}\n", out);
}
