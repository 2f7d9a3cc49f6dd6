#include "client/cli/demo/model/batches.h"

#include <string.h>

#include "client/cli/demo/model/random.h"
#include "tests/support/test.h"

#define IMAGES 1497

static struct batches create(uint64_t seed) {
    struct batches batches;
    cr_assert_eq(batches_create(&batches, IMAGES, seed, NULL), SW_OK);
    return batches;
}

Test(random, is_splitmix64) {
    struct random random = {.state = 1234567};
    cr_assert_eq(random_next(&random), UINT64_C(6457827717110365317));
    cr_assert_eq(random_next(&random), UINT64_C(3203168211198807973));
}

Test(random, signed_units_fill_their_range_and_stay_within) {
    struct random random = random_stream(1, RANDOM_WEIGHTS, 0);
    float low = 0.0f, high = 0.0f, sum = 0.0f;
    for (int i = 0; i < 100000; i++) {
        float value = random_signed_unit(&random);
        cr_assert(value >= -1.0f && value < 1.0f);
        if (value < low) low = value;
        if (value > high) high = value;
        sum += value;
    }
    cr_assert_lt(low, -0.999f);
    cr_assert_gt(high, 0.999f);
    cr_assert(sum > -1000.0f && sum < 1000.0f);
}

Test(batches, every_epoch_has_each_image_once_and_an_order_of_its_own) {
    struct batches batches = create(1);
    uint32_t epochs[2][IMAGES];
    uint32_t rows[BATCH_ROWS];
    for (size_t at = 0; at < 2 * IMAGES; at++) {
        if (at % BATCH_ROWS == 0) batches_select(&batches, at / BATCH_ROWS, rows);
        epochs[at / IMAGES][at % IMAGES] = rows[at % BATCH_ROWS];
    }
    for (size_t e = 0; e < 2; e++) {
        unsigned char seen[IMAGES] = {0};
        for (size_t i = 0; i < IMAGES; i++) {
            cr_assert_lt(epochs[e][i], IMAGES);
            cr_assert_eq(seen[epochs[e][i]]++, 0, "image %u twice in epoch %zu", epochs[e][i], e);
        }
    }
    cr_assert_neq(memcmp(epochs[0], epochs[1], sizeof epochs[0]), 0);
    batches_destroy(&batches);
}

Test(batches, a_step_is_the_same_for_whoever_asks_in_whatever_order) {
    struct batches one = create(7), two = create(7), other = create(8);
    uint32_t forwards[20][BATCH_ROWS], rows[BATCH_ROWS];
    for (unsigned step = 0; step < 20; step++) batches_select(&one, step, forwards[step]);
    for (unsigned step = 20; step-- > 0;) {
        batches_select(&two, step, rows);
        cr_assert_eq(memcmp(rows, forwards[step], sizeof rows), 0, "step %u", step);
        batches_select(&other, step, rows);
        cr_assert_neq(memcmp(rows, forwards[step], sizeof rows), 0, "step %u does not heed the seed", step);
    }
    batches_destroy(&one);
    batches_destroy(&two);
    batches_destroy(&other);
}
