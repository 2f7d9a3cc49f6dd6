#include "tests/support/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void must(bool good, const char *name) {
    if (good) return;
    perror(name);
    abort();
}

void folder_make(char *name) {
    must(mkdtemp(name) != NULL, name);
}

void folder_remove(const char *name) {
    DIR *folder = opendir(name);
    must(folder != NULL, name);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            must(unlinkat(dirfd(folder), entry->d_name, 0) == 0, entry->d_name);
    closedir(folder);
    must(rmdir(name) == 0, name);
}
