#include "client/cli/complete.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

static char *text;
static struct complete_wish wish;

static void type(int count, char *const *words) {
    size_t size;
    FILE *out = open_memstream(&text, &size);
    complete_words(count, words, out, &wish);
    fclose(out);
}
#define TYPE(...) type((int)(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)), (char *[]){__VA_ARGS__})

/* The candidates are exactly these, a blank apart. */
static void expect(const char *candidates) {
    char found[2000] = "", *line = text;
    for (char *next; (next = strchr(line, '\n')); line = next + 1) {
        size_t size = strcspn(line, "\t\n");
        cr_assert_lt(strlen(found) + size + 2, sizeof found);
        if (*found) strcat(found, " ");
        strncat(found, line, size);
    }
    cr_assert_str_eq(found, candidates);
    free(text);
}

static void expect_wish(int what, const char *endpoint, const char *channel) {
    cr_assert_eq((int)wish.what, what);
    cr_assert_str_eq(wish.endpoint, endpoint);
    if (channel) cr_assert_str_eq(wish.channel, channel);
    free(text);
}

Test(complete, the_first_word_is_a_command_for_people) {
    TYPE("a");
    expect("abort");
    TYPE("demo-");
    expect("");
    TYPE("--v");
    expect("--version");
    TYPE("frobnicate", "");
    expect("");
}

Test(complete, options_are_those_of_the_command) {
    TYPE("get", "--t");
    cr_assert(strstr(text, "--tensors\t") && strstr(text, "--timeout\t"));
    free(text);
    TYPE("get", "--ti");
    expect("--timeout");
    TYPE("get", "a:1", "train", "--no");
    expect("--no-wait");
    TYPE("get", "--", "--no");
    expect("");
}

Test(complete, values_are_offered_where_there_are_few) {
    TYPE("close", "a:1", "train", "--kind", "");
    expect("metrics tensors object");
    TYPE("close", "-k", "t");
    expect("tensors");
    TYPE("close", "--kind=m");
    expect("--kind=metrics");
    TYPE("watch", "--from", "");
    expect("oldest");
    TYPE("demo", "--transport", "");
    expect("unix tcp");
    TYPE("get", "--timeout", "");
    expect("");
}

Test(complete, where_a_file_is_wanted_files_are) {
    TYPE("stream", "a:1", "weights", "1", "-o", "x");
    expect(":files");
    TYPE("publish", "a:1", "weights", "1", "--tensors=x");
    expect(":files");
    TYPE("info", "--tls-crl", "");
    expect(":files");
}

Test(complete, arguments_are_counted_without_options_and_their_values) {
    TYPE("get", "u");
    expect("unix:");
    TYPE("get", "-s", "3", "a:1", "--json", "tr");
    expect_wish(COMPLETE_CHANNELS, "a:1", NULL);
    TYPE("get", "a:1", "train", "l");
    expect("latest");
    TYPE("get", "a:1", "train", "1", "");
    expect("");
    TYPE("watch", "a:1", "train", "eval", "");
    expect_wish(COMPLETE_CHANNELS, "a:1", NULL);
    TYPE("wait", "a:1", "--step", "3", "");
    expect_wish(COMPLETE_CHANNELS, "a:1", NULL);
    TYPE("stream", "a:1", "weights", "1", "-o", "file", "lm_head", "");
    expect_wish(COMPLETE_TENSORS, "a:1", "weights");
    TYPE("info", "a:1", "");
    expect("");
}

Test(complete, reasons_are_offered_however_they_are_begun) {
    TYPE("explain", "ev");
    expect("EVICTED");
    TYPE("explain", "EVICTED", "");
    expect("");
}
