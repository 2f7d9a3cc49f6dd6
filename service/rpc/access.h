/* Who may do what: the table that --access names, one identity a line.
 *
 *     # identity                  rights             under which consumer ids it pulls
 *     spiffe://prod/last-stage    publish
 *     spiffe://prod/trainer/      pull contribute    as stage-*
 *     board.prod.example          watch
 *     @loopback                   watch pull
 *
 * An identity is a SPIFFE id, all that begin with a prefix which ends at a slash, a DNS name, or callers
 * without a certificate: @unix, @loopback, @plaintext. Rights: watch, pull, contribute, publish. A consumer
 * id may end in *, which matches the rest; without `as` one pulls as an observer only. Lines that match the
 * same caller add up. Blanks and commas divide words.
 *
 * Pure: bytes in, rules out. A table is immutable; any thread. */
#ifndef STAGEWIRE_SERVICE_ACCESS_H
#define STAGEWIRE_SERVICE_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/status.h>

#include "proto/wire/arena.h"

enum right {
    RIGHT_WATCH = 1,
    RIGHT_PULL = 2,
    RIGHT_CONTRIBUTE = 4,
    RIGHT_PUBLISH = 8,
};
#define RIGHT_COUNT 4
#define RIGHTS_ALL  15u

/* By bit: "watch", "pull", "contribute", "publish". */
extern const char *const right_names[RIGHT_COUNT];
/* "watch, pull", or "nothing". */
#define RIGHTS_WORDS_MAX 64
const char *rights_in_words(char text[RIGHTS_WORDS_MAX], unsigned rights);

#define ACCESS_BYTES_MAX (1u << 20)

struct access_table;

/* INVALID_ARGUMENT names `name` (the file), the line and what is wrong with it; a table that says nothing is
 * wrong, too. RESOURCE_EXHAUSTED without memory. */
sw_status access_parse(const char *name, const void *data, size_t size, struct access_table **ret,
                       sw_error *error);
void access_free(struct access_table *table); /* takes NULL */

/* What a caller may do; lives in an arena, whatever becomes of the table. */
struct access_grant {
    bool is_named; /* a line matches */
    unsigned rights;
    const char *const *consumers; /* patterns */
    uint32_t consumer_count;
};

/* Adds what the table says of one name. False without memory. */
bool access_add(const struct access_table *table, const char *identity, struct arena *arena,
                struct access_grant *grant);
bool access_may_be(const struct access_grant *grant, const char *consumer);

#endif
