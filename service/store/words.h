/* The sentences: what is answered, worded once. Each names stage and address, says what is there instead and
 * what to do, sets the metadata that the contract's tables name, and returns the code. */
#ifndef STAGEWIRE_SERVICE_WORDS_H
#define STAGEWIRE_SERVICE_WORDS_H

#include "service/store/internal.h"

/* What a request is about, resolved. */
struct subject {
    sw_address address;
    sw_item_kind kind;
    enum { ABOUT_STEP, ABOUT_LATEST, ABOUT_CHANNEL, ABOUT_STAGE } about;
};

/* ---- any request ---- */
sw_status say_other_run(const struct store *store, const struct subject *subject, sw_error *error);
sw_status say_limit(const struct store *store, const struct subject *subject, const char *limit,
                    uint64_t most, sw_error *error);
sw_status say_no_memory(const struct store *store, const struct subject *subject, sw_error *error);
sw_status say_shutting_down(const struct subject *subject, sw_error *error);

/* ---- publishing, leases ---- */
sw_status say_stale(const struct store *store, const struct subject *subject, sw_error *error);
sw_status say_not_attached(const struct store *store, const struct subject *subject, sw_error *error);
sw_status say_conflict(const struct subject *subject, bool failed, sw_error *error);
sw_status say_went_back(const struct subject *subject, const struct store_channel *channel, sw_error *error);
sw_status say_closed(const struct subject *subject, const struct closing *closed, sw_error *error);
sw_status say_in_progress(const struct subject *subject, const struct store_publish *open, sw_error *error);
sw_status say_larger_than_budget(const struct subject *subject, const struct budget *budget, uint64_t size,
                                 sw_error *error);
sw_status say_larger_than_message(const struct subject *subject, uint64_t size, sw_error *error);
sw_status say_manifest_too_large(const struct subject *subject, sw_error *error);
sw_status say_store_full(const struct subject *subject, const struct budget *budget, uint64_t size,
                         const char *const *consumers, size_t count, sw_error *error);
sw_status say_closed_otherwise(const struct subject *subject, const struct closing *closed, sw_error *error);
sw_status say_policy_conflict(const struct subject *subject, uint32_t policy, sw_error *error);
sw_status say_may_not_declare(const struct subject *subject, sw_error *error);

/* ---- pulling ---- */
sw_status say_ambiguous(const struct subject *subject, const uint32_t *stages, size_t count, sw_error *error);
sw_status say_superseded(const struct store *store, const struct subject *subject, sw_error *error);
sw_status say_no_such_tensor(const struct subject *subject, const char *name,
                             const struct tensor_set *tensors, sw_error *error);
sw_status say_bad_range(const struct subject *subject, const struct tensor_range *range, uint64_t blocks,
                        sw_error *error);
sw_status say_failed(const struct subject *subject, const char *message, sw_error *error);
sw_status say_evicted(const struct subject *subject, const struct store_channel *channel, sw_error *error);
sw_status say_skipped(const struct subject *subject, const struct store_channel *channel, sw_error *error);
/* `channel` may be NULL: none was ever seen, and all of (stage, group) is closed. */
sw_status say_finished(const struct subject *subject, const struct store_channel *channel, sw_error *error);
sw_status say_aborted(const struct subject *subject, const char *message, sw_error *error);
sw_status say_lost(const struct subject *subject, sw_error *error);
/* `code`: DEADLINE_EXCEEDED where it waited, NOT_FOUND where it did not want to. */
sw_status say_not_yet(const struct subject *subject, const struct store_channel *channel, sw_status code,
                      sw_error *error);

/* ---- exchanging an object ---- */
sw_status say_another_word(const struct subject *subject, sw_error *error);
sw_status say_another_count(const struct subject *subject, uint32_t asked, uint32_t stands, sw_error *error);
sw_status say_no_room_for_object(const struct subject *subject, const struct budget *budget, uint64_t size,
                                 sw_error *error);
sw_status say_meeting_gone(const struct subject *subject, sw_error *error);
sw_status say_silent(const struct subject *subject, const uint32_t *stages, size_t count, size_t omitted,
                     sw_status code, sw_error *error);
/* Says what became of a silent stage: `reason` is PUBLISHER_LOST, FINISHED, PUBLISHER_ABORTED or STEP_FAILED.
 */
sw_status say_cannot_speak(const struct subject *subject, sw_reason reason, const uint32_t *stages,
                           size_t count, const char *message, sw_error *error);

#endif
