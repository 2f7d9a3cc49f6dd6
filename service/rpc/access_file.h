/* The access table in its file, kept current: looked at once a second, taken when it has stayed the same for
 * a second, so that a file which is being written isn't read halfway. One that is wrong leaves the old table
 * in force. On the loop's thread, but where it says any. */
#ifndef STAGEWIRE_SERVICE_ACCESS_FILE_H
#define STAGEWIRE_SERVICE_ACCESS_FILE_H

#include <sys/stat.h>

#include "proto/transport/loop.h"
#include "service/rpc/access.h"

struct access_file {
    struct access_table *table; /* NULL: there is no file */
    char *path;
    char problem[SW_ERROR_MESSAGE_MAX]; /* why what is there now isn't taken; "": it is */

    /* private */
    struct loop *loop;
    struct loop_timer look;
    struct stat seen, taken;
};

/* Any thread. `path` NULL or "": none. INVALID_ARGUMENT names the file and what is wrong with it. */
sw_status access_file_open(struct access_file *file, const char *path, sw_error *error);
void access_file_start(struct access_file *file, struct loop *loop);
void access_file_stop(struct access_file *file);
void access_file_close(struct access_file *file); /* any thread, once it was stopped */

#endif
