/* Making errors: who finds one words it here, once; who passes it on hands it on untouched. */
#ifndef STAGEWIRE_BASE_ERROR_H
#define STAGEWIRE_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include <stagewire/address.h>
#include <stagewire/status.h>

/* Fills `error` (NULL is fine) with the reason's own code and returns that code. A message that is too long
 * is cut at a character and ends in "…"; what is not UTF-8 in it is replaced. */
sw_status error_set(struct sw_error *error, sw_reason reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with another code: NOT_YET as NOT_FOUND, or a plain status without a reason (SW_REASON_NONE). */
sw_status error_set_code(struct sw_error *error, sw_status code, sw_reason reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* RESOURCE_EXHAUSTED / LIMIT with `limit` "memory". */
sw_status error_no_memory(struct sw_error *error);

/* Puts words in front of the message: for a caller who knows the address. */
void error_prefix(struct sw_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Metadata, after error_set. A key set twice keeps the last value. What does not fit is left out. */
void error_add(struct sw_error *error, const char *key, const char *value);
void error_add_number(struct sw_error *error, const char *key, uint64_t value);
void error_add_position(struct sw_error *error, const char *key, uint64_t step,
                        uint32_t call); /* STEP/CALL */
void error_add_bytes(struct sw_error *error, const char *key, const char *value, size_t size);

/* A JSON array of strings or numbers; cut where there is no more room, and `omitted` then says by how many.
 */
void error_add_strings(struct sw_error *error, const char *key, const char *const *items, size_t count);
void error_add_numbers(struct sw_error *error, const char *key, const uint32_t *items, size_t count);

/* Walks the metadata: returns false at the end; *cursor starts at 0. */
bool error_next(const struct sw_error *error, size_t *cursor, const char **ret_key, const char **ret_value);

/* An address in words, for messages: `stage 3, group 0, metrics "train", step 7, call 0, generation 2`.
 * Writes at most `size` bytes with the NUL and returns `text`. Without a stage it leaves the stage out. */
const char *address_in_words(char *text, size_t size, const sw_address *address, sw_item_kind kind);

/* "metrics", "tensors", "object". */
const char *item_kind_name(sw_item_kind kind);

#define ADDRESS_WORDS_MAX 512

#endif
