#include "tests/model/outcome.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const sw_status reason_codes[SW_REASON_COUNT] = {
#define REASON_CODE(name, code, ...) [SW_REASON_##name] = SW_##code,
    SW_REASON_MAP(REASON_CODE)
#undef REASON_CODE
};

static const char *const reason_names[SW_REASON_COUNT] = {[SW_REASON_NONE] = "",
#define REASON_NAME(name, ...) [SW_REASON_##name] = #name,
                                                          SW_REASON_MAP(REASON_NAME)
#undef REASON_NAME
};

static const char *status_name(sw_status status) {
    switch (status) {
#define STATUS_NAME(name, number)                                                                            \
    case SW_##name:                                                                                          \
        return #name;
        SW_STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
    }
    return "no status";
}

struct reply reply_open(void) {
    return (struct reply){.open = true};
}

static void add(struct reply *reply, const char *format, va_list arguments) {
    size_t used = strlen(reply->text);
    vsnprintf(reply->text + used, sizeof reply->text - used, format, arguments);
}

void reply_add(struct reply *reply, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add(reply, format, arguments);
    va_end(arguments);
}

struct reply reply_ok(const char *format, ...) {
    struct reply reply = {.status = SW_OK};
    va_list arguments;
    va_start(arguments, format);
    add(&reply, format, arguments);
    va_end(arguments);
    return reply;
}

struct reply reply_refused(sw_reason reason, const char *format, ...) {
    struct reply reply = {.status = reason_codes[reason], .reason = reason};
    va_list arguments;
    va_start(arguments, format);
    add(&reply, format, arguments);
    va_end(arguments);
    return reply;
}

void outcome_clear(struct outcome *outcome) {
    outcome->reply = reply_ok("%s", "");
    outcome->drained = false;
    outcome->note_count = 0;
}

struct note *outcome_note(struct outcome *outcome, int handle, enum note_kind kind, int group,
                          int64_t at_ms) {
    if (outcome->note_count == NOTES_MAX) {
        fprintf(stderr, "one operation settled more than %d things\n", NOTES_MAX);
        abort();
    }
    struct note *note = &outcome->notes[outcome->note_count++];
    *note = (struct note){.handle = handle, .kind = kind, .group = group, .at_ms = at_ms};
    return note;
}

static bool goes_first(const struct note *a, const struct note *b) {
    if (a->handle != b->handle) return a->handle < b->handle;
    if (a->kind != b->kind) return a->kind < b->kind;
    return a->group < b->group;
}

/* Insertion, so that what has an order keeps it. */
void outcome_sort(struct outcome *outcome) {
    for (int i = 1; i < outcome->note_count; i++) {
        struct note note = outcome->notes[i];
        int to = i;
        while (to > 0 && goes_first(&note, &outcome->notes[to - 1])) {
            outcome->notes[to] = outcome->notes[to - 1];
            to--;
        }
        outcome->notes[to] = note;
    }
}

static bool reply_equal(const struct reply *a, const struct reply *b) {
    return a->open == b->open && a->status == b->status && a->reason == b->reason &&
           strcmp(a->text, b->text) == 0;
}

static bool note_equal(const struct note *a, const struct note *b) {
    return a->handle == b->handle && a->kind == b->kind && a->group == b->group && a->at_ms == b->at_ms &&
           reply_equal(&a->reply, &b->reply);
}

bool outcome_equal(const struct outcome *a, const struct outcome *b) {
    if (!reply_equal(&a->reply, &b->reply) || a->drained != b->drained || a->note_count != b->note_count)
        return false;
    for (int i = 0; i < a->note_count; i++)
        if (!note_equal(&a->notes[i], &b->notes[i])) return false;
    return true;
}

static void reply_print(const struct reply *reply, FILE *out) {
    if (reply->open)
        fprintf(out, "(open)");
    else
        fprintf(out, "%s %s %s", status_name(reply->status), reason_names[reply->reason], reply->text);
}

static bool holds(const struct outcome *outcome, const struct note *note) {
    for (int i = 0; i < outcome->note_count; i++)
        if (note_equal(&outcome->notes[i], note)) return true;
    return false;
}

void outcome_print(const struct outcome *outcome, const struct outcome *other, FILE *out) {
    static const char *const kinds[] = {
        [NOTE_WOKEN] = "is answered",
        [NOTE_PUBLISH_ENDED] = "publish ends",
        [NOTE_GRANTED] = "lease is granted",
        [NOTE_LEASE_ENDED] = "lease ends",
        [NOTE_EVENT] = "event",
        [NOTE_INFO] = "info",
    };
    reply_print(&outcome->reply, out);
    if (outcome->drained != other->drained) fprintf(out, outcome->drained ? "; drained" : "; not drained");
    fputc('\n', out);
    bool same_notes = outcome->note_count == other->note_count;
    for (int i = 0; i < outcome->note_count; i++) {
        const struct note *note = &outcome->notes[i];
        if (holds(other, note) && !(same_notes && !note_equal(note, &other->notes[i]))) continue;
        fprintf(out, "            #%d %s at %lld ms: ", note->handle, kinds[note->kind],
                (long long)note->at_ms);
        reply_print(&note->reply, out);
        fputc('\n', out);
    }
}

int channel_group(uint32_t stage, uint32_t group, int name, sw_item_kind kind) {
    return (int)(((stage * 10 + group) * 10 + (uint32_t)name) * 10 + kind);
}
