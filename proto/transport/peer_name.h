/* Names of peers as certificates carry them, strictly read: what is not exactly right is no name. Pure. */
#ifndef STAGEWIRE_TRANSPORT_PEER_NAME_H
#define STAGEWIRE_TRANSPORT_PEER_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define PEER_NAME_MAX 2048 /* bytes of the longest: a SPIFFE id */
#define PEER_DNS_MAX  253

/* NULL if it is a SPIFFE id of a workload (`spiffe://TRUST-DOMAIN/PATH`, the SPIFFE-ID specification in its
 * normal form: no port, query, fragment, percent sign, empty, `.` or `..` segment, no slash at the end, the
 * scheme and the trust domain in small letters), else what is wrong with it. */
const char *spiffe_id_wrong(const char *text, size_t size);

/* NULL if it is a DNS name of letters, digits, hyphens and underscores, else what is wrong with it. A
 * wildcard is none. */
const char *dns_name_wrong(const char *text, size_t size);

/* Whether a certificate's DNS name covers the host that was asked for. Letters compare without case, a dot at
 * the host's end doesn't count. `*` may stand for the whole first label, where at least two more follow. */
bool dns_name_covers(const char *pattern, const char *host);

/* Whether two texts are the same IP address. An IPv6 address may stand in brackets. */
bool ip_address_same(const char *one, const char *other);
bool is_ip_address(const char *text);

/* The host of "HOST:PORT", "[V6]:PORT" or of either without port, in `size` bytes without brackets. False if
 * it doesn't fit or is empty. */
bool peer_name_host(const char *target, char *ret_host, size_t size);

#endif
