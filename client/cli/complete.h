/* What a shell may offer for the word that is being typed. Pure. */
#ifndef STAGEWIRE_CLIENT_CLI_COMPLETE_H
#define STAGEWIRE_CLIENT_CLI_COMPLETE_H

#include <stdio.h>

/* What only the endpoint knows. */
struct complete_wish {
    enum { COMPLETE_NOTHING, COMPLETE_CHANNELS, COMPLETE_TENSORS } what;
    const char *endpoint, *channel, *word;
};

/* `words` are those behind "stagewire", of which the last is being typed, and may be empty. Writes a line
 * each, "CANDIDATE\tWHAT IT IS", or ":files" where a file's name is wanted. */
void complete_words(int count, char *const *words, FILE *out, struct complete_wish *ret_wish);

/* The line, if the candidate begins with the word. */
void complete_offer(FILE *out, const char *word, const char *candidate, const char *what);

#endif
