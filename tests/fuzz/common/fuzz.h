/* A fuzz target is a file of tests/fuzz with LLVMFuzzerTestOneInput: clang's libFuzzer calls it with bytes
 * that it makes up, and every other build with those that are kept in tests/fuzz/corpus. */
#ifndef STAGEWIRE_TESTS_FUZZ_H
#define STAGEWIRE_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/buffer.h>
#include <stagewire/status.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must be so whatever comes in. */
#define HOLDS(condition) fuzz_holds((condition), #condition, __FILE__, __LINE__)
void fuzz_holds(bool condition, const char *text, const char *file, int line);

/* A decoder of proto/wire refuses in one of two ways, and says why. */
void fuzz_refused(sw_status status, const sw_error *error);

bool fuzz_same_bytes(const sw_buffer *a, const sw_buffer *b);

/* A copy that ends with NUL and holds none before, for what reads strings; the caller frees it. */
char *fuzz_string(const uint8_t *data, size_t size);

#endif
