#include "service/rpc/access.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/transport/peer_name.h"

#define BLANKS " \t\r,"

const char *const right_names[RIGHT_COUNT] = {"watch", "pull", "contribute", "publish"};

struct rule {
    const char *identity;
    unsigned rights;
    const char **consumers;
    uint32_t consumer_count;
};

struct access_table {
    struct arena arena;
    struct rule *rules;
    uint32_t count, room;
};

const char *rights_in_words(char text[RIGHTS_WORDS_MAX], unsigned rights) {
    struct text words;
    text_init(&words, text, RIGHTS_WORDS_MAX);
    for (unsigned bit = 0; bit < RIGHT_COUNT; bit++) {
        if (!(rights & 1u << bit)) continue;
        if (words.size > 0) text_put(&words, ", ");
        text_put(&words, right_names[bit]);
    }
    if (words.size == 0) text_put(&words, "nothing");
    return text;
}

/* ---- a line ---- */

struct line {
    const char *file;
    unsigned number;
    const char *at, *end;
};

struct word {
    const char *text;
    size_t size;
};

static sw_status wrong(const struct line *line, struct word word, const char *why, sw_error *error) {
    char shown[160];
    struct text text;
    text_init(&text, shown, sizeof shown);
    text_put_clean(&text, word.text, word.size < 100 ? word.size : 100);
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "%s:%u: '%s': %s", line->file,
                          line->number, shown, why);
}

static bool is_blank(char letter) {
    return letter && strchr(BLANKS, letter);
}

/* Empty at the end of the line, or where a comment begins. */
static struct word next_word(struct line *line) {
    while (line->at < line->end && is_blank(*line->at)) line->at++;
    struct word word = {line->at, 0};
    if (line->at < line->end && *line->at == '#') return word;
    while (line->at < line->end && !is_blank(*line->at)) line->at++;
    word.size = (size_t)(line->at - word.text);
    return word;
}

static bool is(struct word word, const char *text) {
    return word.size == strlen(text) && memcmp(word.text, text, word.size) == 0;
}

/* ---- identities ---- */

static bool is_spiffe(struct word word) {
    return word.size >= 9 && memcmp(word.text, "spiffe://", 9) == 0;
}

/* A prefix is an id that could go on behind its last slash. */
static const char *spiffe_wrong(struct word word) {
    char longer[PEER_NAME_MAX + 2];
    if (word.size == 0 || word.text[word.size - 1] != '/') return spiffe_id_wrong(word.text, word.size);
    if (word.size > PEER_NAME_MAX) return "it is longer than 2048 bytes";
    memcpy(longer, word.text, word.size);
    longer[word.size] = 'x';
    return spiffe_id_wrong(longer, word.size + 1);
}

static const char *identity_wrong(struct word word) {
    if (is_spiffe(word)) return spiffe_wrong(word);
    if (word.text[0] != '@') return dns_name_wrong(word.text, word.size);
    if (is(word, "@unix") || is(word, "@loopback") || is(word, "@plaintext")) return NULL;
    return "callers without a certificate are @unix, @loopback and @plaintext";
}

static sw_status read_identity(struct access_table *table, const struct line *line, struct word word,
                               struct rule *rule, sw_error *error) {
    const char *why = identity_wrong(word);
    if (why) {
        char words[200];
        struct text text;
        text_init(&text, words, sizeof words);
        text_put(&text, "no identity: ");
        text_put(&text, why);
        if (word.text[0] != '@' && !is_spiffe(word))
            text_put(&text, "; write spiffe://DOMAIN/PATH, or a DNS name");
        return wrong(line, word, words, error);
    }
    rule->identity = arena_string(&table->arena, word.text, word.size);
    return rule->identity ? SW_OK : error_no_memory(error);
}

/* ---- rights and consumers ---- */

static unsigned right_of(struct word word) {
    for (unsigned bit = 0; bit < RIGHT_COUNT; bit++) {
        if (is(word, right_names[bit])) return 1u << bit;
    }
    return 0;
}

static uint32_t count_words(struct line line) {
    uint32_t count = 0;
    while (next_word(&line).size > 0) count++;
    return count;
}

static const char *consumer_wrong(struct word word) {
    if (word.size > LIMIT_CONSUMER_ID) return "a consumer id is at most 256 bytes";
    const char *star = memchr(word.text, '*', word.size);
    if (star && star != word.text + word.size - 1) return "a * may stand only at the end of a consumer id";
    return NULL;
}

static sw_status read_consumers(struct access_table *table, struct line *line, struct word as,
                                struct rule *rule, sw_error *error) {
    uint32_t count = count_words(*line);
    if (!(rule->rights & RIGHT_PULL))
        return wrong(line, as, "says who one may pull as, so the line needs pull before it", error);
    if (count == 0) return wrong(line, as, "no consumer id follows; * is any", error);
    rule->consumers = arena_get(&table->arena, count * sizeof *rule->consumers);
    if (!rule->consumers) return error_no_memory(error);
    for (uint32_t i = 0; i < count; i++) {
        struct word word = next_word(line);
        const char *why = consumer_wrong(word);
        if (why) return wrong(line, word, why, error);
        rule->consumers[i] = arena_string(&table->arena, word.text, word.size);
        if (!rule->consumers[i]) return error_no_memory(error);
    }
    rule->consumer_count = count;
    return SW_OK;
}

static sw_status read_rights(struct access_table *table, struct line *line, struct word identity,
                             struct rule *rule, sw_error *error) {
    for (struct word word; (word = next_word(line)).size > 0;) {
        if (is(word, "as")) return read_consumers(table, line, word, rule, error);
        unsigned right = right_of(word);
        if (!right)
            return wrong(line, word, "no right; there are watch, pull, contribute and publish", error);
        rule->rights |= right;
    }
    if (rule->rights) return SW_OK;
    return wrong(line, identity, "no right follows; there are watch, pull, contribute and publish", error);
}

/* ---- the table ---- */

static bool add_rule(struct access_table *table, const struct rule *rule) {
    if (table->count == table->room) {
        uint32_t room = table->room ? 2 * table->room : 16;
        struct rule *rules = realloc(table->rules, room * sizeof *rules);
        if (!rules) return false;
        table->rules = rules;
        table->room = room;
    }
    table->rules[table->count++] = *rule;
    return true;
}

static sw_status check_text(const struct line *line, sw_error *error) {
    for (const char *at = line->at; at < line->end; at++) {
        if (((unsigned char)*at >= ' ' && *at != 0x7f) || *at == '\t' || *at == '\r') continue;
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "%s:%u: a byte 0x%02x, which is no text", line->file, line->number,
                              (unsigned char)*at);
    }
    if (utf8_valid(line->at, (size_t)(line->end - line->at))) return SW_OK;
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "%s:%u: not UTF-8", line->file,
                          line->number);
}

static sw_status read_line(struct access_table *table, struct line *line, sw_error *error) {
    struct rule rule = {0};
    sw_status status = check_text(line, error);
    if (status != SW_OK) return status;
    struct word identity = next_word(line);
    if (identity.size == 0) return SW_OK;
    status = read_identity(table, line, identity, &rule, error);
    if (status == SW_OK) status = read_rights(table, line, identity, &rule, error);
    if (status == SW_OK && !add_rule(table, &rule)) status = error_no_memory(error);
    return status;
}

static sw_status read_lines(struct access_table *table, const char *name, const char *data, size_t size,
                            sw_error *error) {
    const char *at = data, *end = data + size;
    for (unsigned number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        struct line line = {name, number, at, newline ? newline : end};
        sw_status status = read_line(table, &line, error);
        if (status != SW_OK) return status;
        at = newline ? newline + 1 : end;
    }
    if (table->count > 0) return SW_OK;
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                          "%s: no line names anyone; write a line IDENTITY RIGHT... for each who may come in",
                          name);
}

sw_status access_parse(const char *name, const void *data, size_t size, struct access_table **ret,
                       sw_error *error) {
    if (size > ACCESS_BYTES_MAX)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "%s: larger than 1 MiB", name);
    struct access_table *table = calloc(1, sizeof *table);
    if (!table) return error_no_memory(error);
    arena_init(&table->arena, &allocator_system, LIMIT_DECODE_BYTES);
    sw_status status = read_lines(table, name, data, size, error);
    if (status == SW_OK) {
        *ret = table;
    } else {
        access_free(table);
    }
    return status;
}

void access_free(struct access_table *table) {
    if (!table) return;
    arena_destroy(&table->arena);
    free(table->rules);
    free(table);
}

/* ---- asking it ---- */

static bool matches(const char *rule, const char *identity) {
    size_t size = strlen(rule);
    if (rule[size - 1] == '/') return strncmp(identity, rule, size) == 0;
    if (strncmp(rule, "spiffe://", 9) == 0) return strcmp(identity, rule) == 0;
    return strcasecmp(identity, rule) == 0;
}

/* Copies: the grant outlives a table that is taken in its place. */
static bool add_consumers(struct access_grant *grant, const struct rule *rule, struct arena *arena) {
    if (rule->consumer_count == 0) return true;
    uint32_t count = grant->consumer_count + rule->consumer_count;
    const char **consumers = arena_get(arena, count * sizeof *consumers);
    if (!consumers) return false;
    for (uint32_t i = 0; i < count; i++) {
        bool is_old = i < grant->consumer_count;
        const char *pattern = is_old ? grant->consumers[i] : rule->consumers[i - grant->consumer_count];
        consumers[i] = is_old ? pattern : arena_string(arena, pattern, strlen(pattern));
        if (!consumers[i]) return false;
    }
    grant->consumers = consumers;
    grant->consumer_count = count;
    return true;
}

bool access_add(const struct access_table *table, const char *identity, struct arena *arena,
                struct access_grant *grant) {
    for (uint32_t i = 0; i < table->count; i++) {
        const struct rule *rule = &table->rules[i];
        if (!matches(rule->identity, identity)) continue;
        grant->is_named = true;
        grant->rights |= rule->rights;
        if (!add_consumers(grant, rule, arena)) return false;
    }
    return true;
}

bool access_may_be(const struct access_grant *grant, const char *consumer) {
    for (uint32_t i = 0; i < grant->consumer_count; i++) {
        const char *pattern = grant->consumers[i];
        size_t size = strlen(pattern);
        bool open = size > 0 && pattern[size - 1] == '*';
        if (open ? strncmp(consumer, pattern, size - 1) == 0 : strcmp(consumer, pattern) == 0) return true;
    }
    return false;
}
