#include "service/rpc/peer_check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "service/store/table.h"

void peer_check_init(struct peer_check *check, struct tls_source *source) {
    *check = (struct peer_check){.source = source};
}

void peer_check_close(struct peer_check *check) {
    for (size_t i = 0; i < PEER_CHECK_KEPT; i++) free(check->good[i].pem);
}

static void remember(struct good_peer *good, const char *pem, uint64_t generation, int64_t now_s) {
    if (!good->pem || strcmp(good->pem, pem) != 0) {
        free(good->pem);
        good->pem = strdup(pem); /* without memory it is looked at each time */
    }
    good->generation = generation;
    good->checked_s = now_s;
}

sw_status peer_check_certificate(struct peer_check *check, const char *pem, int64_t now_s, sw_error *error) {
    struct good_peer *good = &check->good[hash_text(0, pem) % PEER_CHECK_KEPT];
    uint64_t generation = tls_source_generation(check->source);
    bool is_fresh = good->generation == generation && good->checked_s == now_s;
    if (is_fresh && good->pem && strcmp(good->pem, pem) == 0) return SW_OK;
    struct tls_identity *identity = tls_source_current(check->source);
    sw_status status = tls_identity_check_peer(identity, pem, now_s, error);
    tls_identity_unref(identity);
    if (status == SW_OK) remember(good, pem, generation, now_s);
    return status;
}
