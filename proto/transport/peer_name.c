#include "proto/transport/peer_name.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define SPIFFE_SCHEME    "spiffe://"
#define TRUST_DOMAIN_MAX 255
#define LABEL_MAX        63

#define SMALL   "abcdefghijklmnopqrstuvwxyz"
#define CAPITAL "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

static size_t span(const char *text, size_t size, const char *allowed) {
    size_t at = 0;
    while (at < size && text[at] && strchr(allowed, text[at])) at++;
    return at;
}

/* ---- SPIFFE ---- */

static bool is_dots(const char *segment, size_t size) {
    return (size == 1 || size == 2) && segment[0] == '.' && segment[size - 1] == '.';
}

static const char *path_wrong(const char *path, size_t size) {
    for (size_t at = 0; at < size;) {
        size_t length = span(path + at + 1, size - at - 1, SMALL CAPITAL DIGITS ".-_");
        const char *segment = path + at + 1;
        at += 1 + length;
        if (at < size && path[at] != '/')
            return "its path has a character other than letters, digits, '.', '-' and '_'";
        if (length == 0) return "its path has an empty segment";
        if (is_dots(segment, length)) return "its path has a segment '.' or '..'";
    }
    return NULL;
}

const char *spiffe_id_wrong(const char *text, size_t size) {
    size_t scheme = strlen(SPIFFE_SCHEME);
    if (size < scheme || memcmp(text, SPIFFE_SCHEME, scheme) != 0) return "it does not begin with spiffe://";
    if (size > PEER_NAME_MAX) return "it is longer than 2048 bytes";
    const char *domain = text + scheme;
    size_t left = size - scheme, length = span(domain, left, SMALL DIGITS ".-_");
    if (length == 0) return "its trust domain is empty or not in small letters";
    if (length > TRUST_DOMAIN_MAX) return "its trust domain is longer than 255 bytes";
    if (length == left) return "it names a trust domain and no workload: a path is missing";
    if (domain[length] != '/')
        return "its trust domain has a character other than small letters, digits, '.', '-' and '_'";
    return path_wrong(domain + length, left - length);
}

/* ---- DNS ---- */

const char *dns_name_wrong(const char *text, size_t size) {
    if (size == 0) return "it is empty";
    if (size > PEER_DNS_MAX) return "it is longer than 253 bytes";
    for (size_t at = 0;;) {
        size_t length = span(text + at, size - at, SMALL CAPITAL DIGITS "-_");
        const char *label = text + at;
        at += length;
        if (at < size && text[at] != '.')
            return "it has a character other than letters, digits, '.', '-' and '_'";
        if (length == 0) return "it has an empty label";
        if (length > LABEL_MAX) return "it has a label of more than 63 bytes";
        if (label[0] == '-' || label[length - 1] == '-') return "it has a label with a hyphen at an end";
        if (at == size) return NULL;
        at++;
    }
}

static size_t size_of_host(const char *host) {
    size_t size = strlen(host);
    return size > 0 && host[size - 1] == '.' ? size - 1 : size;
}

static bool same_letters(const char *one, size_t one_size, const char *other, size_t other_size) {
    return one_size == other_size && strncasecmp(one, other, one_size) == 0;
}

bool dns_name_covers(const char *pattern, const char *host) {
    size_t pattern_size = strlen(pattern), host_size = size_of_host(host);
    if (dns_name_wrong(host, host_size)) return false;
    if (strncmp(pattern, "*.", 2) != 0)
        return !dns_name_wrong(pattern, pattern_size) && same_letters(pattern, pattern_size, host, host_size);
    const char *parent = pattern + 2, *dot = memchr(host, '.', host_size);
    size_t parent_size = pattern_size - 2;
    if (!dot || dns_name_wrong(parent, parent_size) || !memchr(parent, '.', parent_size)) return false;
    return same_letters(parent, parent_size, dot + 1, host_size - (size_t)(dot + 1 - host));
}

/* ---- addresses ---- */

struct ip {
    int family;
    unsigned char bytes[16];
};

static bool parse_ip(const char *text, struct ip *ret) {
    char plain[INET6_ADDRSTRLEN];
    size_t size = strlen(text);
    bool bracketed = size > 2 && text[0] == '[' && text[size - 1] == ']';
    if (bracketed) text++, size -= 2;
    if (size >= sizeof plain) return false;
    memcpy(plain, text, size);
    plain[size] = 0;
    *ret = (struct ip){.family = strchr(plain, ':') ? AF_INET6 : AF_INET};
    return inet_pton(ret->family, plain, ret->bytes) == 1;
}

bool is_ip_address(const char *text) {
    struct ip ip;
    return parse_ip(text, &ip);
}

bool ip_address_same(const char *one, const char *other) {
    struct ip first, second;
    return parse_ip(one, &first) && parse_ip(other, &second) && first.family == second.family &&
           memcmp(first.bytes, second.bytes, sizeof first.bytes) == 0;
}

bool peer_name_host(const char *target, char *ret_host, size_t size) {
    const char *end = target + strlen(target), *colon = strrchr(target, ':');
    bool bracketed = target[0] == '[';
    if (bracketed) {
        const char *close = strchr(target, ']');
        if (!close) return false;
        target++, end = close;
    } else if (colon && colon == strchr(target, ':')) {
        end = colon;
    }
    size_t length = (size_t)(end - target);
    if (length == 0 || length >= size) return false;
    memcpy(ret_host, target, length);
    ret_host[length] = 0;
    return true;
}
