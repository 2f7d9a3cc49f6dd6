/* The store, driven by operations that the bytes decide on, against the reference of tests/model. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/common/fuzz.h"
#include "tests/model/play.h"

enum { LENGTH = 120 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct sequence sequence;
    sequence_decode(&sequence, data, size, LENGTH);
    int differs = play(&sequence, MUTANT_NONE, NULL);
    if (differs == NO_DIFFERENCE) return 0;
    differs = shrink(&sequence, MUTANT_NONE);
    sequence_print(&sequence, differs + 1, stderr);
    print_last(stderr);
    abort();
}
