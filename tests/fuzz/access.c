/* The access table. Who is not named may nothing, and a table that says everything twice says the same.
 *
 *   an identity | line end | a consumer's id | line end | the table */
#include <stdlib.h>
#include <string.h>

#include "proto/base/limits.h"
#include "service/rpc/access.h"
#include "tests/fuzz/common/fuzz.h"

struct asked {
    const char *identity, *consumer;
};

static struct access_grant grant_of(const struct access_table *table, const struct asked *asked,
                                    struct arena *arena) {
    struct access_grant grant = {0};
    HOLDS(access_add(table, asked->identity, arena, &grant));
    HOLDS((grant.rights & ~RIGHTS_ALL) == 0);
    HOLDS(grant.is_named || (grant.rights == 0 && !access_may_be(&grant, asked->consumer)));
    return grant;
}

static void twice_is_the_same(const char *text, const struct access_grant *once, const struct asked *asked,
                              struct arena *arena) {
    struct access_table *table;
    size_t size = strlen(text);
    char *twice = malloc(2 * size + 1);
    HOLDS(twice);
    memcpy(twice, text, size);
    twice[size] = '\n';
    memcpy(twice + size + 1, text, size);
    HOLDS(access_parse("made-up", twice, 2 * size + 1, &table, NULL) == SW_OK);
    struct access_grant grant = grant_of(table, asked, arena);
    HOLDS(grant.is_named == once->is_named && grant.rights == once->rights);
    HOLDS(access_may_be(&grant, asked->consumer) == access_may_be(once, asked->consumer));
    access_free(table);
    free(twice);
}

static void take(const char *text, const struct asked *asked) {
    struct access_table *table;
    struct arena arena;
    sw_error error = {0};
    sw_status status = access_parse("made-up", text, strlen(text), &table, &error);
    if (status != SW_OK) {
        HOLDS(status == SW_INVALID_ARGUMENT && strstr(error.message, "made-up"));
        return;
    }
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
    struct access_grant grant = grant_of(table, asked, &arena);
    twice_is_the_same(text, &grant, asked, &arena);
    access_free(table);
    arena_destroy(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_string(data, size);
    char *consumer = strchr(text, '\n'), *table = consumer ? strchr(consumer + 1, '\n') : NULL;
    if (table) {
        *consumer++ = 0;
        *table++ = 0;
        take(table, &(struct asked){text, consumer});
    }
    free(text);
    return 0;
}
