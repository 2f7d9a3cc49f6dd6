/* A peer as gRPC names it, without what differs from connection to connection. Pure. */
#ifndef STAGEWIRE_SERVICE_PEER_ADDRESS_H
#define STAGEWIRE_SERVICE_PEER_ADDRESS_H

#define PEER_ADDRESS_MAX 64

/* "ipv4:10.0.0.7:40123" is "10.0.0.7", "ipv6:%5Bfd00::7%5D:40123" is "fd00::7" (its zone stays), and
 * everything else is what stands before its first colon ("unix"). */
void peer_address_of(const char *peer, char ret[PEER_ADDRESS_MAX]);

#endif
