#include "client/cli/nearest.h"

#include <stdbool.h>
#include <string.h>

#define NEAR_ENOUGH    2
#define WORD_MAX_BYTES 128

static size_t least(size_t a, size_t b, size_t c) {
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Damerau and Levenshtein's distance, of words up to WORD_MAX_BYTES. */
static size_t distance(const char *a, const char *b) {
    size_t rows[3][WORD_MAX_BYTES + 1];
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

const char *nearest(const char *word, const char *const *candidates, size_t count) {
    if (strlen(word) > WORD_MAX_BYTES) return NULL;
    const char *found = NULL;
    size_t smallest = NEAR_ENOUGH + 1;
    for (size_t i = 0; i < count; i++) {
        if (!candidates[i] || strlen(candidates[i]) > WORD_MAX_BYTES) continue;
        size_t changes = distance(word, candidates[i]);
        if (changes >= smallest || changes >= strlen(candidates[i])) continue;
        smallest = changes;
        found = candidates[i];
    }
    return found;
}
