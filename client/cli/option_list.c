#include "client/cli/option_list.h"

#include <string.h>

#include "client/cli/nearest.h"

static const struct argp_option of_argp_itself[] = {
    {"help", '?', NULL, 0, "Give this help list", -1},
    {"usage", 'u' + 1000, NULL, 0, "Give a short usage message", -1},
    {"version", 'V', NULL, 0, "Print program version", -1},
    {0},
};

static void add(struct option_list *list, const struct argp_option *options) {
    for (const struct argp_option *row = options; row && (row->name || row->key); row++)
        if (row->name && !(row->flags & (OPTION_HIDDEN | OPTION_DOC)) && list->count < OPTION_LIST_MAX)
            list->options[list->count++] = *row;
}

static void collect(const struct argp *argp, struct option_list *list) {
    add(list, argp->options);
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        collect(child->argp, list);
}

void option_list_of(const struct argp *argp, struct option_list *ret_list) {
    ret_list->count = 0;
    collect(argp, ret_list);
    add(ret_list, of_argp_itself);
}

char option_list_letter(const struct argp_option *option) {
    return option->key > ' ' && option->key < 0x7f ? (char)option->key : 0;
}

static const struct argp_option *find_letter(const struct option_list *list, char letter) {
    for (size_t i = 0; i < list->count; i++)
        if (letter && option_list_letter(&list->options[i]) == letter) return &list->options[i];
    return NULL;
}

/* How many options begin like this; an option of that very name is the only one. */
static size_t matches(const struct option_list *list, const char *name, size_t size,
                      const struct argp_option **ret) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct argp_option *option = &list->options[i];
        if (strncmp(option->name, name, size) != 0) continue;
        *ret = option;
        if (!option->name[size]) return 1;
        count++;
    }
    return count;
}

static bool is_long(const char *word) {
    return word[0] == '-' && word[1] == '-' && word[2];
}

const struct argp_option *option_list_find(const struct option_list *list, const char *word) {
    const struct argp_option *option = NULL;
    if (is_long(word)) return matches(list, word + 2, strcspn(word + 2, "="), &option) == 1 ? option : NULL;
    return word[0] == '-' ? find_letter(list, word[1]) : NULL;
}

/* In a cluster of letters the first that takes a value takes the rest of it, if there is any. */
static bool letters_take_next(const struct option_list *list, const char *letters) {
    for (; *letters; letters++) {
        const struct argp_option *option = find_letter(list, *letters);
        if (option && option->arg) return !letters[1];
    }
    return false;
}

bool option_list_takes_next(const struct option_list *list, const char *word) {
    if (!is_long(word)) return word[0] == '-' && letters_take_next(list, word + 1);
    const struct argp_option *option = option_list_find(list, word);
    return option && option->arg && !(option->flags & OPTION_ARG_OPTIONAL) && !strchr(word, '=');
}

static const char *meant(const struct option_list *list, const char *word) {
    static char text[80];
    const char *names[OPTION_LIST_MAX];
    for (size_t i = 0; i < list->count; i++) names[i] = list->options[i].name;
    char name[64];
    size_t size = strcspn(word + 2, "=");
    if (size >= sizeof name) return NULL;
    memcpy(name, word + 2, size);
    name[size] = 0;
    const char *near = nearest(name, names, list->count);
    if (!near || strlen(near) > sizeof text - 3) return NULL;
    strcpy(text, "--");
    strcat(text, near);
    return text;
}

bool option_list_find_unknown(const struct option_list *list, int argc, char **argv, bool stops,
                              const char **ret_word, const char **ret_meant) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const struct argp_option *option = NULL;
        if (stops && argv[i][0] != '-') return false;
        if (is_long(argv[i]) && matches(list, argv[i] + 2, strcspn(argv[i] + 2, "="), &option) == 0) {
            *ret_word = argv[i];
            *ret_meant = meant(list, argv[i]);
            return true;
        }
        if (option_list_takes_next(list, argv[i])) i++;
    }
    return false;
}
