/* What stagewired is told. What it makes of it, printed and read again, is the same.
 *
 *   flags, a line each | empty line | variables, a line each | empty line | the file of --config */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "service/daemon/config.h"
#include "tests/fuzz/common/fuzz.h"

enum { WORDS_MAX = 32, PATH_SIZE = 64 };

struct words {
    char *list[WORDS_MAX + 3];
    int count;
};

/* Lines up to an empty one; returns what comes after it. */
static char *read_words(char *text, struct words *ret) {
    while (text && *text && *text != '\n' && ret->count < WORDS_MAX) {
        ret->list[ret->count++] = text;
        text = strchr(text, '\n');
        if (text) *text++ = 0;
    }
    ret->list[ret->count] = NULL;
    return text && *text == '\n' ? text + 1 : text ? text : "";
}

static int file_of(const char *text, char *ret_path) {
    int fd = memfd_create("configuration", MFD_CLOEXEC);
    size_t size = strlen(text);
    HOLDS(fd >= 0 && write(fd, text, size) == (ssize_t)size);
    snprintf(ret_path, PATH_SIZE, "/proc/self/fd/%d", fd);
    return fd;
}

/* Without the comments, which say where a value came from. */
static char *printed(const struct config *config) {
    char *text = NULL, *line = NULL, *kept;
    size_t size = 0, capacity = 0, length = 0;
    FILE *out = open_memstream(&text, &size);
    HOLDS(out);
    config_print(config, out);
    fclose(out);
    kept = malloc(size + 1);
    FILE *in = fmemopen(text, size + 1, "r");
    HOLDS(kept && in);
    for (ssize_t got; (got = getline(&line, &capacity, in)) > 0;) {
        if (line[0] == '#' || line[0] == 0) continue;
        memcpy(kept + length, line, (size_t)got);
        length += (size_t)got;
    }
    kept[length] = 0;
    fclose(in);
    free(line);
    free(text);
    return kept;
}

static void is_read_as_printed(const struct config *config) {
    char path[PATH_SIZE], *environment[] = {NULL};
    char *argv[] = {"stagewired", "--config", path, "--print-config", NULL};
    struct config again;
    sw_error error = {0};
    char *text = printed(config);
    int fd = file_of(text, path);
    sw_status status = config_load(&again, 4, argv, environment, &error);
    if (status != SW_OK) fprintf(stderr, "%s\n", error.message);
    HOLDS(status == SW_OK);
    char *text_again = printed(&again);
    HOLDS(strcmp(text, text_again) == 0);
    free(text);
    free(text_again);
    config_free(&again);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_string(data, size), path[PATH_SIZE];
    struct words flags = {{"stagewired"}, 1}, variables = {0};
    struct config config;
    sw_error error = {0};
    char *file = read_words(read_words(text, &flags), &variables);
    int fd = file_of(file, path);
    flags.list[flags.count++] = "--config";
    flags.list[flags.count++] = path;
    flags.list[flags.count] = NULL;
    sw_status status = config_load(&config, flags.count, flags.list, variables.list, &error);
    if (status == SW_OK)
        is_read_as_printed(&config);
    else
        HOLDS(status == SW_INVALID_ARGUMENT && error.message[0]);
    config_free(&config);
    close(fd);
    free(text);
    return 0;
}
