/* The access table: what it says, and what is wrong with it, line by line. */
#include <stdlib.h>
#include <string.h>

#include "service/rpc/access.h"
#include "tests/support/test.h"

static struct arena arena;
static struct access_table *table;
static sw_error error;

static void setup(void) {
    arena_init(&arena, &allocator_system, 1 << 20);
}
static void teardown(void) {
    access_free(table);
    arena_destroy(&arena);
}
TestSuite(access, .init = setup, .fini = teardown, .timeout = 60);

static void parse(const char *text) {
    cr_assert_eq(access_parse("table", text, strlen(text), &table, &error), SW_OK, "%s", error.message);
}

static struct access_grant grant_of(const char *identity) {
    struct access_grant grant = {0};
    cr_assert(access_add(table, identity, &arena, &grant));
    return grant;
}

static void expect_rights(const char *identity, unsigned rights) {
    struct access_grant grant = grant_of(identity);
    cr_assert_eq(grant.rights, rights, "%s: %u", identity, grant.rights);
    cr_assert_eq(grant.is_named, rights != 0);
}

static void expect_wrong(const char *text, size_t size, const char *words) {
    cr_assert_eq(access_parse("table", text, size, &table, &error), SW_INVALID_ARGUMENT, "%s", text);
    cr_assert_not_null(strstr(error.message, words), "no \"%s\" in: %s", words, error.message);
}
#define EXPECT_WRONG(text, words) expect_wrong(text, strlen(text), words)

Test(access, an_identity_is_exact_and_a_prefix_ends_at_a_slash) {
    parse("# who may what\n"
          "spiffe://prod/last    publish\n"
          "spiffe://prod/trainer/ pull, contribute as stage-*\r\n"
          "\n"
          "  Board.prod.example watch # the dashboard\n"
          "@loopback watch,pull");
    expect_rights("spiffe://prod/last", RIGHT_PUBLISH);
    expect_rights("spiffe://prod/last/1", 0);
    expect_rights("spiffe://prod/las", 0);
    expect_rights("spiffe://prod/trainer/0", RIGHT_PULL | RIGHT_CONTRIBUTE);
    expect_rights("spiffe://prod/trainer/a/b", RIGHT_PULL | RIGHT_CONTRIBUTE);
    expect_rights("spiffe://prod/trainer", 0);
    expect_rights("spiffe://prod/trainers/0", 0);
    expect_rights("spiffe://PROD/last", 0);
    expect_rights("board.PROD.example", RIGHT_WATCH);
    expect_rights("x.board.prod.example", 0);
    expect_rights("@loopback", RIGHT_WATCH | RIGHT_PULL);
    expect_rights("@unix", 0);
}

Test(access, lines_of_the_same_caller_add_up) {
    parse("spiffe://a/b watch\nspiffe://a/ pull as x\nspiffe://a/b pull as y*\n");
    struct access_grant grant = grant_of("spiffe://a/b");
    cr_assert_eq(grant.rights, RIGHT_WATCH | RIGHT_PULL);
    cr_assert(access_may_be(&grant, "x") && access_may_be(&grant, "y") && access_may_be(&grant, "yz"));
    cr_assert(!access_may_be(&grant, "xx") && !access_may_be(&grant, "z") && !access_may_be(&grant, ""));
}

Test(access, without_as_one_pulls_under_no_consumer_id) {
    parse("spiffe://a/b pull\nspiffe://a/c pull as *\n");
    struct access_grant none = grant_of("spiffe://a/b"), any = grant_of("spiffe://a/c");
    cr_assert(!access_may_be(&none, "stage-0"));
    cr_assert(access_may_be(&any, "stage-0"));
}

Test(access, a_grant_outlives_its_table) {
    parse("spiffe://a/b pull as stage-*\n");
    struct access_grant grant = grant_of("spiffe://a/b");
    access_free(table);
    table = NULL;
    cr_assert(access_may_be(&grant, "stage-7"));
}

Test(access, what_is_wrong_is_named_with_its_line_and_what_to_write) {
    EXPECT_WRONG("@unix watch\nspiffe://a/b read\n", "table:2: 'read': no right; there are watch, pull");
    EXPECT_WRONG("spiffe://a/b\n", "table:1: 'spiffe://a/b': no right follows");
    EXPECT_WRONG("spiffe://a/b # pull\n", "no right follows");
    EXPECT_WRONG("spiffe://A/b pull\n", "no identity: its trust domain");
    EXPECT_WRONG("spiffe://a/../b pull\n", "no identity");
    EXPECT_WRONG("spiffe://a//b pull\n", "empty segment");
    EXPECT_WRONG("spiffe:///b pull\n", "no identity");
    EXPECT_WRONG("spiffe:// pull\n", "no identity");
    EXPECT_WRONG("spiffe://a/b// pull\n", "empty segment");
    EXPECT_WRONG("*.example pull\n", "no identity");
    EXPECT_WRONG("a_ b pull\n", "'b': no right");
    EXPECT_WRONG("http://a/b pull\n", "write spiffe://DOMAIN/PATH, or a DNS name");
    EXPECT_WRONG("@everyone pull\n", "@unix, @loopback and @plaintext");
    EXPECT_WRONG("@unix pull as\n", "no consumer id follows");
    EXPECT_WRONG("@unix watch as stage-0\n", "needs pull before it");
    EXPECT_WRONG("@unix pull as sta*ge\n", "only at the end");
    EXPECT_WRONG("", "no line names anyone");
    EXPECT_WRONG("\n# nobody\n", "no line names anyone");
    expect_wrong("@unix pull\n@unix \0watch\n", 23, "table:2: a byte 0x00");
    EXPECT_WRONG("@unix pull\n\x1b[2J\n", "table:2: a byte 0x1b");
    EXPECT_WRONG("@unix pull as \xff\n", "not UTF-8");
}

Test(access, a_table_is_not_larger_than_a_mebibyte) {
    size_t size = ACCESS_BYTES_MAX + 1;
    char *text = malloc(size);
    memset(text, '\n', size);
    expect_wrong(text, size, "larger than 1 MiB");
    free(text);
}

/* Whatever the bytes are: a table or an error, and nothing read beyond them. */
Test(access, any_bytes_are_a_table_or_an_error) {
    static const char alphabet[] = "@unix loopback,spiffe://a/b.*-as pull watch#\n\t\r\x01\xff";
    uint32_t state = 7;
    for (int round = 0; round < 20000; round++) {
        size_t size = round % 60;
        char *text = malloc(size + 1);
        for (size_t i = 0; i < size; i++) {
            state = state * 1664525u + 1013904223u;
            text[i] = alphabet[(state >> 16) % (sizeof alphabet - 1)];
        }
        char *exact = realloc(text, size ? size : 1);
        if (access_parse("table", exact, size, &table, &error) == SW_OK) access_free(table);
        table = NULL;
        free(exact);
    }
}

Test(access, rights_have_names) {
    char words[RIGHTS_WORDS_MAX];
    cr_assert_str_eq(rights_in_words(words, RIGHTS_ALL), "watch, pull, contribute, publish");
    cr_assert_str_eq(rights_in_words(words, 0), "nothing");
}
