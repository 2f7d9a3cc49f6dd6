#include "client/cli/demo/model/batches.h"

#include <stdlib.h>

#include "client/cli/demo/model/random.h"
#include "proto/base/error.h"

static void shuffle(struct batches *batches, uint64_t epoch) {
    struct random random = random_stream(batches->seed, RANDOM_ORDER, epoch);
    uint32_t *order = batches->order;
    for (uint32_t i = 0; i < batches->images; i++) order[i] = i;
    for (uint32_t left = batches->images; left > 1; left--) {
        uint32_t at = random_below(&random, left);
        uint32_t image = order[at];
        order[at] = order[left - 1];
        order[left - 1] = image;
    }
    batches->epoch = epoch;
}

enum sw_status batches_create(struct batches *ret, uint32_t images, uint64_t seed, struct sw_error *error) {
    uint32_t *order = malloc(images * sizeof *order);
    if (!order)
        return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory to shuffle %u images",
                              (unsigned)images);
    *ret = (struct batches){.seed = seed, .images = images, .order = order};
    shuffle(ret, 0);
    return SW_OK;
}

void batches_destroy(struct batches *batches) {
    free(batches->order);
    *batches = (struct batches){0};
}

void batches_select(struct batches *batches, uint64_t step, uint32_t ret_indices[BATCH_ROWS]) {
    uint64_t first = step * BATCH_ROWS;
    for (uint32_t row = 0; row < BATCH_ROWS; row++) {
        uint64_t epoch = (first + row) / batches->images;
        if (epoch != batches->epoch) shuffle(batches, epoch);
        ret_indices[row] = batches->order[(first + row) % batches->images];
    }
}
