#include "proto/transport/peer_identity.h"

#include <string.h>

#include <grpc/grpc_security_constants.h>

#include "proto/base/error.h"
#include "proto/base/text.h"

/* ---- of a context ---- */

static const grpc_auth_property *next_of(grpc_auth_property_iterator *at) {
    return grpc_auth_property_iterator_next(at);
}

static const grpc_auth_property *first_of(const grpc_auth_context *context, const char *property,
                                          uint32_t *ret_count) {
    grpc_auth_property_iterator at = grpc_auth_context_find_properties_by_name(context, property);
    const grpc_auth_property *first = next_of(&at);
    *ret_count = first ? 1 : 0;
    while (first && next_of(&at)) ++*ret_count;
    return first;
}

bool peer_used_tls(const grpc_auth_context *context) {
    uint32_t count;
    const grpc_auth_property *type = first_of(context, GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME, &count);
    return count == 1 && (strcmp(type->value, GRPC_SSL_TRANSPORT_SECURITY_TYPE) == 0 ||
                          strcmp(type->value, GRPC_TLS_TRANSPORT_SECURITY_TYPE) == 0);
}

static sw_status nobody(sw_error *error, const char *why) {
    return error_set_code(error, SW_UNAUTHENTICATED, SW_REASON_NONE,
                          "the peer's certificate names nobody: %s; it needs one SPIFFE id "
                          "(spiffe://TRUST-DOMAIN/PATH), or DNS names",
                          why);
}

static sw_status nobody_named(sw_error *error, const char *uri, size_t size, const char *why) {
    char words[512];
    struct text text;
    text_init(&text, words, sizeof words);
    text_put(&text, "its URI name ");
    text_put_json(&text, uri, size, 200);
    text_put(&text, " is no SPIFFE id: ");
    text_put(&text, why);
    return nobody(error, words);
}

static bool add_name(struct peer_identity *identity, size_t *used, const char *name, size_t size) {
    if (size + 2 > sizeof identity->names - *used) return false;
    memcpy(identity->names + *used, name, size);
    *used += size;
    identity->names[(*used)++] = 0;
    identity->names[*used] = 0;
    identity->count++;
    return true;
}

static sw_status read_dns(const grpc_auth_context *context, struct peer_identity *ret, sw_error *error) {
    grpc_auth_property_iterator at =
        grpc_auth_context_find_properties_by_name(context, GRPC_PEER_DNS_PROPERTY_NAME);
    size_t used = 0;
    const grpc_auth_property *name;
    while ((name = next_of(&at))) {
        if (dns_name_wrong(name->value, name->value_length)) continue;
        if (!add_name(ret, &used, name->value, name->value_length))
            return nobody(error, "its DNS names are too many");
    }
    return ret->count > 0 ? SW_OK : nobody(error, "it has neither a URI name nor a DNS name");
}

sw_status peer_identity_read(const grpc_auth_context *context, struct peer_identity *ret, sw_error *error) {
    uint32_t uris, pems;
    size_t used = 0;
    const grpc_auth_property *uri = first_of(context, GRPC_PEER_URI_PROPERTY_NAME, &uris);
    const grpc_auth_property *pem = first_of(context, GRPC_X509_PEM_CERT_PROPERTY_NAME, &pems);
    if (!peer_used_tls(context) || pems != 1) return nobody(error, "it showed none");
    ret->count = 0;
    ret->names[0] = 0;
    ret->pem = pem->value;
    if (uris > 1) return nobody(error, "it has several URI names");
    if (uris == 0) return read_dns(context, ret, error);
    const char *why = spiffe_id_wrong(uri->value, uri->value_length);
    if (why) return nobody_named(error, uri->value, uri->value_length, why);
    add_name(ret, &used, uri->value, uri->value_length);
    return SW_OK;
}

const char *peer_identity_next(const struct peer_identity *identity, const char *name) {
    const char *next = name ? name + strlen(name) + 1 : identity->names;
    return *next ? next : NULL;
}

/* ---- of a server ---- */

static void put_names(struct text *text, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (text->size > 0) text_put(text, ", ");
        text_put_clean(text, names[i], strlen(names[i]));
    }
}

static sw_status wrong_name(const struct peer_names *names, const char *expected, const char *what_to_do,
                            sw_error *error) {
    char shown[400];
    struct text text;
    text_init(&text, shown, sizeof shown);
    put_names(&text, names->uris, names->uri_count);
    put_names(&text, names->dns, names->dns_count);
    put_names(&text, names->ips, names->ip_count);
    return error_set_code(error, SW_UNAUTHENTICATED, SW_REASON_NONE,
                          "wrong name: the server's certificate is for %s, and not for %.512s; %s",
                          text.size > 0 ? shown : "nobody", expected, what_to_do);
}

static bool any(const char *const *names, size_t count, const char *expected,
                bool (*fits)(const char *, const char *)) {
    for (size_t i = 0; i < count; i++)
        if (fits(names[i], expected)) return true;
    return false;
}

sw_status peer_names_check(const struct peer_names *names, const char *expected, sw_error *error) {
    bool is_spiffe = strncmp(expected, "spiffe:", 7) == 0;
    if (is_spiffe && names->uri_count > 1)
        return wrong_name(names, expected, "a certificate with several URI names is nobody's", error);
    if (is_spiffe) {
        if (names->uri_count == 1 && strcmp(names->uris[0], expected) == 0) return SW_OK;
        return wrong_name(names, expected, "is this the right endpoint, and peer_identity the right one?",
                          error);
    }
    bool fits = is_ip_address(expected) ? any(names->ips, names->ip_count, expected, ip_address_same)
                                        : any(names->dns, names->dns_count, expected, dns_name_covers);
    if (fits) return SW_OK;
    return wrong_name(names, expected,
                      "name the endpoint as the certificate does, or say whose it must be with peer_identity "
                      "(--peer-identity spiffe://…)",
                      error);
}
