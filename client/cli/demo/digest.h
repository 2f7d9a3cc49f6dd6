/* The digest of all metrics and log-probabilities that went by, in order: XXH3-128 over their decoded values,
 * so that a publisher's and its readers' are equal if and only if they saw the same. */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_DIGEST_H
#define STAGEWIRE_CLIENT_CLI_DEMO_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

#include <stagewire/value.h>

#define DIGEST_TEXT_SIZE 33 /* hex and NUL */

struct running_digest;

struct running_digest *running_digest_create(void); /* NULL without memory */
void running_digest_destroy(struct running_digest *digest);

void running_digest_metrics(struct running_digest *digest, uint64_t step, const sw_value *metrics);
void running_digest_tensor(struct running_digest *digest, uint64_t step, const sw_tensor_view *view);

void running_digest_text(const struct running_digest *digest, char ret_text[DIGEST_TEXT_SIZE]);

#endif
