#include "proto/transport/tls_pem.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/pem.h>

#include "proto/base/error.h"

sw_status pem_wrong(const struct pem_file *file, sw_error *error, const char *format, ...) {
    char why[SW_ERROR_MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "%s %s: %s", file->option, file->path,
                          why);
}

const char *pem_openssl_words(char *words, size_t size) {
    unsigned long last = ERR_peek_last_error();
    const char *reason = last ? ERR_reason_error_string(last) : NULL;
    snprintf(words, size, "%s", reason ? reason : "OpenSSL does not say why");
    ERR_clear_error();
    return words;
}

/* ---- reading ---- */

/* The end of the text, and not a broken block. */
static bool was_the_end(void) {
    unsigned long last = ERR_peek_last_error();
    bool is_end = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
    if (is_end) ERR_clear_error();
    return is_end;
}

static sw_status broken_block(const struct pem_file *file, const char *what, int number, sw_error *error) {
    char why[128];
    return pem_wrong(file, error, "%s %d is broken or not whole (%s)", what, number,
                     pem_openssl_words(why, sizeof why));
}

void pem_free_certificates(STACK_OF(X509) * certificates) {
    sk_X509_pop_free(certificates, X509_free);
}

static sw_status read_certificates(const struct pem_file *file, BIO *bio, STACK_OF(X509) * into,
                                   sw_error *error) {
    X509 *certificate;
    while ((certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
        if (sk_X509_push(into, certificate) > 0) continue;
        X509_free(certificate);
        return error_no_memory(error);
    }
    int count = sk_X509_num(into);
    if (!was_the_end()) return broken_block(file, "certificate", count + 1, error);
    if (count > 0) return SW_OK;
    return pem_wrong(file, error,
                     "has no certificate; it must be a PEM file with -----BEGIN CERTIFICATE-----");
}

sw_status pem_certificates(const struct pem_file *file, STACK_OF(X509) * *ret, sw_error *error) {
    BIO *bio = BIO_new_mem_buf(file->text, -1);
    STACK_OF(X509) *certificates = sk_X509_new_null();
    sw_status status =
        bio && certificates ? read_certificates(file, bio, certificates, error) : error_no_memory(error);
    BIO_free(bio);
    ERR_clear_error();
    if (status == SW_OK)
        *ret = certificates;
    else
        pem_free_certificates(certificates);
    return status;
}

/* Asked for a password: there is one, and nobody to ask. */
static int note_encrypted(char *password, int size, int is_write, void *context) {
    (void)password, (void)size, (void)is_write;
    *(bool *)context = true;
    return -1;
}

sw_status pem_key(const struct pem_file *file, EVP_PKEY **ret, sw_error *error) {
    BIO *bio = BIO_new_mem_buf(file->text, -1);
    if (!bio) return error_no_memory(error);
    bool is_encrypted = false;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, note_encrypted, &is_encrypted);
    BIO_free(bio);
    if (key) {
        *ret = key;
        return SW_OK;
    }
    if (is_encrypted) {
        ERR_clear_error();
        return pem_wrong(file, error,
                         "the private key has a password, and nobody is there to type it; write it without "
                         "(openssl pkey -in FILE -out NEW) and keep others from reading it");
    }
    if (!strstr(file->text, "PRIVATE KEY-----"))
        return pem_wrong(file, error,
                         "has no private key; it must be a PEM file with -----BEGIN PRIVATE KEY-----");
    return broken_block(file, "private key", 1, error);
}

sw_status pem_crls(const struct pem_file *file, STACK_OF(X509_CRL) * crls, sw_error *error) {
    BIO *bio = BIO_new_mem_buf(file->text, -1);
    if (!bio) return error_no_memory(error);
    sw_status status = SW_OK;
    int count = 0;
    X509_CRL *crl;
    while (status == SW_OK && (crl = PEM_read_bio_X509_CRL(bio, NULL, NULL, NULL))) {
        count++;
        if (sk_X509_CRL_push(crls, crl) > 0) continue;
        X509_CRL_free(crl);
        status = error_no_memory(error);
    }
    BIO_free(bio);
    if (status == SW_OK && !was_the_end()) status = broken_block(file, "revocation list", count + 1, error);
    if (status == SW_OK && count == 0)
        status = pem_wrong(file, error,
                           "has no revocation list; it must be a PEM file with -----BEGIN X509 CRL-----");
    ERR_clear_error();
    return status;
}

/* ---- writing ---- */

/* Takes `bio` over. */
static char *text_of(BIO *bio, bool whole) {
    char *data, *text = NULL;
    long size = BIO_get_mem_data(bio, &data);
    if (whole && (text = malloc((size_t)size + 1))) {
        memcpy(text, data, (size_t)size);
        text[size] = 0;
    }
    BIO_free(bio);
    return text;
}

char *pem_of_certificates(const STACK_OF(X509) * certificates) {
    BIO *bio = BIO_new(BIO_s_mem());
    if (!bio) return NULL;
    bool whole = true;
    for (int i = 0; i < sk_X509_num(certificates); i++)
        whole = PEM_write_bio_X509(bio, sk_X509_value(certificates, i)) && whole;
    return text_of(bio, whole);
}

char *pem_of_key(EVP_PKEY *key) {
    BIO *bio = BIO_new(BIO_s_secmem());
    if (!bio) return NULL;
    bool whole = PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
    return text_of(bio, whole);
}

/* ---- words ---- */

const char *pem_name_words(const X509_NAME *name, char *words, size_t size) {
    BIO *bio = BIO_new(BIO_s_mem());
    words[0] = 0;
    if (!bio) return words;
    char *data;
    if (X509_NAME_print_ex(bio, name, 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB) >= 0) {
        long length = BIO_get_mem_data(bio, &data);
        snprintf(words, size, "%.*s", (int)length, data);
    }
    BIO_free(bio);
    return words;
}

int64_t pem_seconds(const ASN1_TIME *time) {
    struct tm parts = {0};
    return ASN1_TIME_to_tm(time, &parts) ? (int64_t)timegm(&parts) : 0;
}

const char *pem_time_words(int64_t seconds, char *words) {
    time_t time = (time_t)seconds;
    struct tm parts;
    if (!gmtime_r(&time, &parts)) return "an unknown time";
    strftime(words, PEM_TIME_WORDS, "%Y-%m-%d %H:%M:%S UTC", &parts);
    return words;
}
