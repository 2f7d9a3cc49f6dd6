/* fuzz_NAME FOLDER: what is kept in the folder, once, where libFuzzer is not built in. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/common/fuzz.h"

enum { INPUT_MAX = 1 << 20 };

static void replay(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    uint8_t *read = malloc(INPUT_MAX);
    HOLDS(file && read);
    size_t size = fread(read, 1, INPUT_MAX, file);
    HOLDS(size < INPUT_MAX && !ferror(file));
    fclose(file);
    /* of its own size, so that AddressSanitizer sees a byte too far */
    uint8_t *data = realloc(read, size ? size : 1);
    HOLDS(data);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
}

int main(int argc, char **argv) {
    int count = 0;
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        replay(argv[1], entry->d_name);
        count++;
    }
    closedir(folder);
    printf("%d inputs\n", count);
    return count == 0;
}
