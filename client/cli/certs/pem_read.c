#include "client/cli/certs/pem_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>

#include "client/cli/memory.h"

static __attribute__((format(printf, 1, 2))) char *say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text;
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    return memory_check(size < 0 ? NULL : text);
}

/* ---- blocks ---- */

static bool is_one_of(const char *label, const char *const *labels) {
    for (; *labels; labels++)
        if (strcmp(label, *labels) == 0) return true;
    return false;
}

static const char *const certificate_labels[] = {PEM_STRING_X509, PEM_STRING_X509_OLD,
                                                 PEM_STRING_X509_TRUSTED, NULL};
static const char *const request_labels[] = {PEM_STRING_X509_REQ, PEM_STRING_X509_REQ_OLD, NULL};
static const char *const key_labels[] = {PEM_STRING_PKCS8INF, PEM_STRING_RSA, PEM_STRING_ECPRIVATEKEY, NULL};

static void not_readable(struct cert_block *block, const char *label) {
    block->kind = PEM_UNREADABLE;
    block->problem = say("a block \"%.60s\" that is damaged: copy the file again", label);
}

static void read_block(struct cert_block *block, const char *label, const char *header,
                       const unsigned char *data, long size) {
    if (strcmp(label, PEM_STRING_PKCS8) == 0 || strstr(header, "ENCRYPTED")) {
        block->kind = PEM_UNREADABLE;
        block->problem =
            say("a key that is locked with a passphrase, which nobody is there to type; write it "
                "without: openssl pkey -in OLD -out NEW");
    } else if (is_one_of(label, certificate_labels)) {
        block->kind = PEM_CERTIFICATE;
        block->certificate = strcmp(label, PEM_STRING_X509_TRUSTED) == 0 ? d2i_X509_AUX(NULL, &data, size)
                                                                         : d2i_X509(NULL, &data, size);
        if (!block->certificate || !X509_get0_pubkey(block->certificate)) not_readable(block, label);
    } else if (is_one_of(label, key_labels)) {
        block->kind = PEM_KEY;
        block->key = d2i_AutoPrivateKey(NULL, &data, size);
        if (!block->key) not_readable(block, label);
    } else if (strcmp(label, PEM_STRING_X509_CRL) == 0) {
        block->kind = PEM_CRL;
        block->crl = d2i_X509_CRL(NULL, &data, size);
        if (!block->crl) not_readable(block, label);
    } else if (is_one_of(label, request_labels)) {
        block->kind = PEM_REQUEST;
        block->request = d2i_X509_REQ(NULL, &data, size);
        if (!block->request) not_readable(block, label);
    } else {
        block->kind = PEM_UNREADABLE;
        block->problem =
            say("a block \"%.60s\", which is neither certificate, key, revocation list nor request", label);
    }
}

static struct cert_block *add_block(struct cert_file *file) {
    size_t room = (file->count + 1) * sizeof *file->blocks;
    file->blocks = memory_check(realloc(file->blocks, room));
    struct cert_block *block = &file->blocks[file->count++];
    *block = (struct cert_block){0};
    return block;
}

/* "EC PARAMETERS" stands before a key that names its curve itself. */
static bool is_idle(const char *label) {
    return strcmp(label, PEM_STRING_ECPARAMETERS) == 0;
}

static void read_blocks(struct cert_file *file, BIO *in) {
    char *label, *header;
    unsigned char *data;
    long size;
    while (PEM_read_bio(in, &label, &header, &data, &size)) {
        if (!is_idle(label)) read_block(add_block(file), label, header, data, size);
        OPENSSL_free(label);
        OPENSSL_free(header);
        OPENSSL_clear_free(data, (size_t)size);
    }
    if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
        struct cert_block *block = add_block(file);
        block->kind = PEM_UNREADABLE;
        block->problem = say("a block that breaks off or is no base64: copy the file again");
    }
    ERR_clear_error();
}

/* ---- what is no PEM ---- */

static bool whole(const void *object, const unsigned char *at, const unsigned char *end) {
    return object && at == end;
}

/* What DER holds, in words, with the command that makes PEM of it; NULL if it is none of these. */
static char *der_in_words(const char *path, const unsigned char *bytes, size_t size) {
    const unsigned char *at = bytes, *end = bytes + size;
    X509 *certificate = d2i_X509(NULL, &at, (long)size);
    bool is_certificate = whole(certificate, at, end);
    X509_free(certificate);
    if (is_certificate)
        return say("a certificate in DER, not PEM: openssl x509 -inform DER -in %s -out NEW.pem", path);
    at = bytes;
    EVP_PKEY *key = d2i_AutoPrivateKey(NULL, &at, (long)size);
    bool is_key = key != NULL;
    EVP_PKEY_free(key);
    if (is_key) return say("a key in DER, not PEM: openssl pkey -inform DER -in %s -out NEW.pem", path);
    at = bytes;
    X509_CRL *crl = d2i_X509_CRL(NULL, &at, (long)size);
    bool is_crl = whole(crl, at, end);
    X509_CRL_free(crl);
    if (is_crl)
        return say("a revocation list in DER, not PEM: openssl crl -inform DER -in %s -out NEW.pem", path);
    at = bytes;
    PKCS12 *bundle = d2i_PKCS12(NULL, &at, (long)size);
    bool is_bundle = whole(bundle, at, end);
    PKCS12_free(bundle);
    if (is_bundle) return say("a PKCS #12 bundle, not PEM: openssl pkcs12 -nodes -in %s -out NEW.pem", path);
    return NULL;
}

static char *no_pem_in_words(const char *path, const char *bytes, size_t size) {
    if (size == 0) return say("empty; whatever writes it may be in the middle of it");
    char *der = der_in_words(path, (const unsigned char *)bytes, size);
    ERR_clear_error();
    if (der) return der;
    return say("no PEM: no line of it reads -----BEGIN ...-----");
}

void pem_read_bytes(const char *path, const char *bytes, size_t size, struct cert_file *ret) {
    *ret = (struct cert_file){.path = path};
    BIO *in = memory_check(BIO_new_mem_buf(bytes, (int)size));
    if (memmem(bytes, size, "-----BEGIN ", 11)) read_blocks(ret, in);
    BIO_free(in);
    if (ret->count == 0) ret->problem = no_pem_in_words(path, bytes, size);
}

/* ---- files ---- */

static char *unfit_in_words(const struct stat *facts) {
    if (S_ISDIR(facts->st_mode)) return say("a directory; name the files in it");
    if (!S_ISREG(facts->st_mode)) return say("no plain file");
    if ((size_t)facts->st_size > PEM_FILE_BYTES_MAX)
        return say("larger than %u MiB, which no certificate or key is", PEM_FILE_BYTES_MAX >> 20);
    return NULL;
}

static char *slurp(int fd, size_t room, size_t *ret_size) {
    char *bytes = memory_check(malloc(room + 1));
    size_t size = 0;
    ssize_t got;
    while (size < room && (got = read(fd, bytes + size, room - size)) != 0) {
        if (got > 0) {
            size += (size_t)got;
        } else if (errno != EINTR) {
            free(bytes);
            return NULL;
        }
    }
    *ret_size = size;
    return bytes;
}

void pem_read(const char *path, struct cert_file *ret) {
    *ret = (struct cert_file){.path = path};
    struct stat facts;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &facts) != 0) {
        ret->problem = say("cannot be read: %s", strerror(errno));
    } else if (!(ret->problem = unfit_in_words(&facts))) {
        size_t size;
        char *bytes = slurp(fd, (size_t)facts.st_size, &size);
        if (bytes)
            pem_read_bytes(path, bytes, size, ret);
        else
            ret->problem = say("cannot be read: %s", strerror(errno));
        if (bytes) OPENSSL_cleanse(bytes, size);
        free(bytes);
        ret->is_open_to_all = facts.st_mode & S_IROTH;
    }
    if (fd >= 0) close(fd);
}

void cert_file_free(struct cert_file *file) {
    for (size_t i = 0; i < file->count; i++) {
        X509_free(file->blocks[i].certificate);
        EVP_PKEY_free(file->blocks[i].key);
        X509_CRL_free(file->blocks[i].crl);
        X509_REQ_free(file->blocks[i].request);
        free(file->blocks[i].problem);
    }
    free(file->blocks);
    free(file->problem);
    *file = (struct cert_file){0};
}

struct cert_block *cert_file_find(const struct cert_file *file, enum pem_kind kind) {
    for (size_t i = 0; i < file->count; i++)
        if (file->blocks[i].kind == kind) return &file->blocks[i];
    return NULL;
}
