/* Meetings: who has said what in an exchange. Kept per (generation, group, channel), the newest keep_steps of
 * them. */
#ifndef STAGEWIRE_SERVICE_MEETING_H
#define STAGEWIRE_SERVICE_MEETING_H

#include "service/store/internal.h"

struct meetings {
    struct table_node by_key;
    struct list in_store;
    uint64_t generation; /* 0: the first that begins */
    uint32_t group;
    struct store_meeting **kept; /* by address */
    size_t count, room;
    bool has_floor; /* some were let go: below this one they are EVICTED */
    struct at floor;
    char name[];
};

struct store_meeting {
    struct meetings *of; /* NULL once it is no longer kept */
    uint32_t references; /* one while it is kept, one an answered word */
    struct at at;
    uint32_t stage_count;
    struct table spoken;
    uint32_t *owners; /* in order */
    uint32_t owner_count, owner_room;
    sw_buffer *value; /* while there is one owner */
    bool value_gone;  /* for room */
    struct giver giver;
    struct list waiting;    /* words */
    struct list in_waiting; /* of the store, while words wait */
};

struct spoken {
    struct table_node by_stage;
    uint32_t stage;
    bool present;
    struct digest digest;
};

struct meetings *meetings_find(const struct store *store, uint64_t generation, uint32_t group,
                               const char *name);
struct meetings *meetings_create(struct store *store, uint64_t generation, uint32_t group, const char *name);
void meetings_rename(struct store *store, struct meetings *meetings, uint64_t generation);
void meetings_free_if_empty(struct store *store, struct meetings *meetings);

bool meetings_reserve(struct store *store,
                      struct meetings *meetings); /* for one more; false without memory */
void meetings_add(struct meetings *meetings, struct store_meeting *meeting);
void meetings_take(struct store_meeting *meeting); /* out of them */
struct store_meeting *meeting_find(const struct meetings *meetings, struct at at);
/* No word is spoken yet. NULL without memory. */
struct store_meeting *meeting_create(struct store *store, struct meetings *meetings, struct at at,
                                     uint32_t stage_count);
/* It is kept no longer; who waits was answered, and those that were answered with it keep its memory. */
void meeting_drop(struct store *store, struct store_meeting *meeting);
void meeting_unref(struct store *store, struct store_meeting *meeting);

struct spoken *meeting_word(const struct store_meeting *meeting, uint32_t stage); /* or NULL */
/* Memory for `more` owners; false without. */
bool meeting_reserve_owners(struct store *store, struct store_meeting *meeting, uint32_t more);
/* After meeting_reserve_owners if it is present. Takes `value` over, which has its room (NULL: nobody needs
 * it). */
void meeting_speak(struct store *store, struct store_meeting *meeting, struct spoken *word, sw_buffer *value);
/* The value, which keeps its room. */
sw_buffer *meeting_take_value(struct store_meeting *meeting);
static inline bool meeting_is_complete(const struct store_meeting *meeting) {
    return meeting->spoken.count == meeting->stage_count;
}

/* ---- exchange.c ---- */

/* Answers who waits if that is certain. */
void meeting_settle(struct store *store, struct store_meeting *meeting);
/* Answers who waits with a refusal, and drops it. */
void meeting_let_go(struct store *store, struct store_meeting *meeting, sw_reason reason);
/* The newest keep_steps are kept. */
void meetings_trim(struct store *store, struct meetings *meetings);

#endif
