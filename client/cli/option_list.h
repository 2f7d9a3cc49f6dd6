/* The options of a command as a list: from its argp and the argps within, with those that argp adds itself.
 */
#ifndef STAGEWIRE_CLIENT_CLI_OPTION_LIST_H
#define STAGEWIRE_CLIENT_CLI_OPTION_LIST_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#define OPTION_LIST_MAX 64

struct option_list {
    struct argp_option options[OPTION_LIST_MAX];
    size_t count;
};

void option_list_of(const struct argp *argp, struct option_list *ret_list);

/* The short form, or 0. */
char option_list_letter(const struct argp_option *option);

/* The row that the word `--NAME[=VALUE]` or `-X…` names, its own name or an unmistakable beginning of it;
 * NULL if none. */
const struct argp_option *option_list_find(const struct option_list *list, const char *word);

/* Whether the word after `word` is that option's value. */
bool option_list_takes_next(const struct option_list *list, const char *word);

/* The first word, from argv[1], that begins with "--" and is none of the options nor a beginning of one, and
 * what was probably meant ("--json", or NULL). False where there is none. With `stops` nothing is looked at
 * behind the first word that is no option. */
bool option_list_find_unknown(const struct option_list *list, int argc, char **argv, bool stops,
                              const char **ret_word, const char **ret_meant);

#endif
