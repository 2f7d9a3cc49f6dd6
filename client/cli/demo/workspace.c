#include "client/cli/demo/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/error.h"

#define TEMPLATE "stagewire-demo-XXXXXX"

sw_status workspace_create(struct workspace *workspace, sw_error *error) {
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder || strlen(folder) + sizeof "/" TEMPLATE > sizeof workspace->path) folder = "/tmp";
    char path[WORKSPACE_PATH_MAX];
    snprintf(path, sizeof path, "%s/" TEMPLATE, folder);
    if (!mkdtemp(path))
        return error_set_code(
            error, SW_UNAVAILABLE, SW_REASON_NONE,
            "no folder for the stages' sockets in %s: %s; set TMPDIR to one that is writable, "
            "or use --transport tcp",
            folder, strerror(errno));
    memcpy(workspace->path, path, sizeof path);
    return SW_OK;
}

void workspace_remove(struct workspace *workspace) {
    DIR *folder = *workspace->path ? opendir(workspace->path) : NULL;
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    rmdir(workspace->path);
    *workspace->path = 0;
}
