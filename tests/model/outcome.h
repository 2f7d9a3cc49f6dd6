/* What comes of an operation: its answer, and all that it settled elsewhere, as text that two targets can be
 * compared by. */
#ifndef STAGEWIRE_TESTS_MODEL_OUTCOME_H
#define STAGEWIRE_TESTS_MODEL_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <stagewire/address.h>
#include <stagewire/status.h>

enum { NOTES_MAX = 4096, REPLY_TEXT = 200 };

struct reply {
    bool open; /* no answer yet */
    sw_status status;
    sw_reason reason;
    char text[REPLY_TEXT]; /* the value, or the metadata that the contract promises with the reason */
};

enum note_kind { NOTE_WOKEN, NOTE_PUBLISH_ENDED, NOTE_GRANTED, NOTE_LEASE_ENDED, NOTE_EVENT, NOTE_INFO };

/* Notes of one handle and kind come in their order; with different `group`s in any. */
struct note {
    int handle;
    enum note_kind kind;
    int group;
    int64_t at_ms;
    struct reply reply;
};

struct outcome {
    struct reply reply;
    bool drained;
    int note_count;
    struct note notes[NOTES_MAX];
};

struct reply reply_open(void);
struct reply reply_ok(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* With the reason's own code, by the table of reasons. */
struct reply reply_refused(sw_reason reason, const char *format, ...) __attribute__((format(printf, 2, 3)));
void reply_add(struct reply *reply, const char *format, ...) __attribute__((format(printf, 2, 3)));

void outcome_clear(struct outcome *outcome);
/* The note's place; its reply is the caller's to fill. */
struct note *outcome_note(struct outcome *outcome, int handle, enum note_kind kind, int group, int64_t at_ms);
/* Brings notes whose order means nothing into one. */
void outcome_sort(struct outcome *outcome);
bool outcome_equal(const struct outcome *a, const struct outcome *b);
/* Only what differs from `other`. */
void outcome_print(const struct outcome *outcome, const struct outcome *other, FILE *out);

/* Events of one channel come in order. */
int channel_group(uint32_t stage, uint32_t group, int name, sw_item_kind kind);

#endif
