#include "client/cli/commands.h"

#include <stdbool.h>
#include <string.h>

#define NEAR_ENOUGH    2 /* letters to change, add, leave out or swap */
#define NAME_MAX_BYTES 32

const struct command commands[] = {
    {"info", "ENDPOINT", "what it holds, how busy it is", cmd_info},
    {"get", "ENDPOINT CHANNEL [STEP|latest]", "pull an item and print it", cmd_get},
    {"publish", "ENDPOINT CHANNEL STEP", "publish JSON from standard input", cmd_publish},
    {"demo", "", "train in pipeline stages here", cmd_demo},
    {"demo-stage", "", NULL, cmd_demo_stage},
    {NULL, NULL, NULL, NULL},
};

const struct command *command_find(const char *name) {
    for (const struct command *command = commands; command->name; command++)
        if (strcmp(command->name, name) == 0) return command;
    return NULL;
}

static size_t least(size_t a, size_t b, size_t c) {
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Damerau and Levenshtein's distance, of names up to NAME_MAX_BYTES. */
static size_t distance(const char *a, const char *b) {
    size_t rows[3][NAME_MAX_BYTES + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    size_t width = strlen(b);
    for (size_t j = 0; j <= width; j++) above[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < row[j]) row[j] = before[j - 2] + 1;
        }
        size_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[width];
}

const char *command_suggest(const char *name) {
    if (strlen(name) > NAME_MAX_BYTES) return NULL;
    const char *nearest = NULL;
    size_t smallest = NEAR_ENOUGH + 1;
    for (const struct command *command = commands; command->name; command++) {
        size_t changes = command->summary ? distance(name, command->name) : smallest;
        if (changes >= smallest || changes >= strlen(command->name)) continue;
        smallest = changes;
        nearest = command->name;
    }
    return nearest;
}
