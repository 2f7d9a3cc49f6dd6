#include "client/cli/certs/pem_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/pem.h>

#include "proto/base/error.h"

#define MODE_SECRET 0600
#define MODE_PUBLIC 0644

static sw_status failed(const char *path, const char *doing, int why, sw_error *error) {
    if (why == EEXIST)
        return error_set_code(error, SW_ALREADY_EXISTS, SW_REASON_NONE,
                              "%s: is there already; --force replaces it", path);
    return error_set_code(error, SW_INTERNAL, SW_REASON_NONE, "%s: cannot %s: %s", path, doing,
                          strerror(why));
}

static bool put(FILE *out, const struct pem_content *content) {
    return (!content->key || PEM_write_PKCS8PrivateKey(out, content->key, NULL, NULL, 0, NULL, NULL)) &&
           (!content->certificate || PEM_write_X509(out, content->certificate)) &&
           (!content->crl || PEM_write_X509_CRL(out, content->crl));
}

/* Fills the file and closes it; 0 or an error's number. */
static int fill(int fd, const struct pem_content *content) {
    FILE *out = fdopen(fd, "w");
    if (!out) {
        int why = errno;
        close(fd);
        return why;
    }
    errno = 0;
    bool is_whole = put(out, content) && fflush(out) == 0 &&
                    fchmod(fd, content->key ? MODE_SECRET : MODE_PUBLIC) == 0 && fsync(fd) == 0;
    int why = is_whole ? 0 : errno ? errno : EIO;
    if (fclose(out) != 0 && why == 0) why = errno;
    return why;
}

/* A link, other than a rename, replaces nothing. */
static int move_there(const char *from, const char *path, bool replace) {
    if (replace) return rename(from, path) == 0 ? 0 : errno;
    int why = link(from, path) == 0 ? 0 : errno;
    unlink(from);
    return why;
}

sw_status pem_write(const char *path, const struct pem_content *content, bool replace, sw_error *error) {
    char *beside;
    if (asprintf(&beside, "%s.XXXXXX", path) < 0) return error_no_memory(error);
    sw_status status = SW_OK;
    int fd = mkstemp(beside);
    if (fd < 0) {
        status = failed(path, "be made", errno, error);
        goto free_name;
    }
    int why = fill(fd, content);
    const char *doing = "be written";
    if (why == 0) {
        why = move_there(beside, path, replace);
        doing = "be put in place";
    }
    if (why != 0) {
        unlink(beside);
        status = failed(path, doing, why, error);
    }
free_name:
    free(beside);
    return status;
}
