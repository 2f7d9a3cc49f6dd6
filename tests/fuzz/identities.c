/* Who a peer is: names in certificates, and PEM files. What is a name holds what its rules say; PEM that was
 * read is written as PEM that reads the same. */
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "proto/transport/peer_name.h"
#include "proto/transport/tls_pem.h"
#include "tests/fuzz/common/fuzz.h"

static void take_name(const uint8_t *data, size_t size) {
    const char *name = (const char *)data;
    if (!spiffe_id_wrong(name, size)) {
        HOLDS(size > strlen("spiffe://") && memcmp(name, "spiffe://", strlen("spiffe://")) == 0);
        HOLDS(size <= PEER_NAME_MAX && name[size - 1] != '/');
        for (const char *wrong = "%?#@ \t\n*\\"; *wrong; wrong++) HOLDS(!memchr(name, *wrong, size));
        HOLDS(!memchr(name, 0, size));
        HOLDS(dns_name_wrong(name, size));
    }
    if (!dns_name_wrong(name, size)) {
        HOLDS(size > 0 && size <= PEER_DNS_MAX);
        HOLDS(!memchr(name, '*', size) && !memchr(name, '/', size) && !memchr(name, 0, size));
    }
}

/* Two lines: what a certificate carries, and what was asked for. */
static void take_pair(const uint8_t *data, size_t size) {
    char *pattern = fuzz_string(data, size), *host = strchr(pattern, '\n'), without_port[64];
    if (host) {
        *host++ = 0;
        bool covers = dns_name_covers(pattern, host);
        HOLDS(!covers || strchr(pattern, '*') == NULL || strncmp(pattern, "*.", 2) == 0);
        if (!dns_name_wrong(pattern, strlen(pattern))) HOLDS(dns_name_covers(pattern, pattern));
        HOLDS(ip_address_same(pattern, host) == ip_address_same(host, pattern));
        if (ip_address_same(pattern, host)) HOLDS(is_ip_address(pattern) && is_ip_address(host));
        if (peer_name_host(host, without_port, sizeof without_port))
            HOLDS(without_port[0] && strstr(host, without_port));
    }
    free(pattern);
}

static void certificates_again(const STACK_OF(X509) * certificates) {
    char *text = pem_of_certificates(certificates);
    struct pem_file file = {"again", "fuzz", text};
    STACK_OF(X509) * again;
    HOLDS(text && pem_certificates(&file, &again, NULL) == SW_OK);
    HOLDS(sk_X509_num(again) == sk_X509_num(certificates));
    for (int i = 0; i < sk_X509_num(again); i++) {
        char words[PEM_NAME_WORDS], time[PEM_TIME_WORDS];
        HOLDS(X509_cmp(sk_X509_value(again, i), sk_X509_value(certificates, i)) == 0);
        pem_name_words(X509_get_subject_name(sk_X509_value(again, i)), words, sizeof words);
        pem_time_words(pem_seconds(X509_get0_notAfter(sk_X509_value(again, i))), time);
    }
    pem_free_certificates(again);
    free(text);
}

static void take_pem(const uint8_t *data, size_t size) {
    char *text = fuzz_string(data, size);
    struct pem_file file = {"made-up.pem", "fuzz", text};
    STACK_OF(X509) * certificates;
    STACK_OF(X509_CRL) *crls = sk_X509_CRL_new_null();
    EVP_PKEY *key;
    sw_error error = {0};
    HOLDS(crls);
    if (pem_certificates(&file, &certificates, &error) == SW_OK) {
        certificates_again(certificates);
        pem_free_certificates(certificates);
    } else {
        HOLDS(strstr(error.message, "made-up.pem"));
    }
    error = (sw_error){0};
    if (pem_key(&file, &key, &error) == SW_OK)
        EVP_PKEY_free(key);
    else
        HOLDS(strstr(error.message, "made-up.pem"));
    error = (sw_error){0};
    if (pem_crls(&file, crls, &error) != SW_OK) HOLDS(strstr(error.message, "made-up.pem"));
    sk_X509_CRL_pop_free(crls, X509_CRL_free);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    switch (data[0] % 3) {
    case 0:
        take_name(data + 1, size - 1);
        break;
    case 1:
        take_pair(data + 1, size - 1);
        break;
    case 2:
        take_pem(data + 1, size - 1);
        break;
    }
    return 0;
}
