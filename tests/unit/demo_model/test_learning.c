#include <string.h>

#include "tests/support/test.h"
#include "tests/unit/demo_model/training.h"

#define STEPS 200

/* All that a step publishes, compared by its bits. */
static void expect_same(const struct training *one, const struct training *other, unsigned step) {
    size_t size = one->microbatches * sizeof *one->metrics;
    cr_assert_eq(memcmp(one->metrics, other->metrics, size), 0, "metrics of step %u, %u stages", step,
                 other->stages);
    cr_assert_eq(memcmp(one->log_probs, other->log_probs, sizeof one->log_probs), 0,
                 "log-probabilities of step %u, %u stages", step, other->stages);
}

/* Trains with 1 to 4 stages side by side. */
static void compare_splits(unsigned microbatches, enum training_order order, unsigned steps) {
    struct training *split[NETWORK_STAGES_MAX];
    for (unsigned i = 0; i < NETWORK_STAGES_MAX; i++) {
        split[i] = training_create(i + 1, microbatches, NETWORK_DEFAULT_SEED);
        if (i > 0) split[i]->order = order;
    }
    for (unsigned step = 0; step < steps; step++) {
        training_step(split[0]);
        for (unsigned i = 1; i < NETWORK_STAGES_MAX; i++) {
            training_step(split[i]);
            expect_same(split[0], split[i], step);
        }
    }
    for (unsigned i = 1; i < NETWORK_STAGES_MAX; i++)
        cr_assert_eq(training_accuracy(split[0]), training_accuracy(split[i]));
    for (unsigned i = 0; i < NETWORK_STAGES_MAX; i++) training_destroy(split[i]);
}

Test(learning, losses_of_2_3_and_4_stages_are_the_bits_of_1) {
    compare_splits(8, ALL_FORWARD_FIRST, 60 / TEST_LESS);
}

Test(learning, losses_do_not_depend_on_when_microbatches_go_backward) {
    compare_splits(4, ONE_BY_ONE, 20 / TEST_LESS);
}

Test(learning, any_divisor_of_the_batch_will_do) {
    for (unsigned microbatches = 1; microbatches <= NETWORK_MICROBATCHES_MAX; microbatches *= 2)
        compare_splits(microbatches, ALL_FORWARD_FIRST, 2);
}

#if TEST_LESS == 1 // or minutes, for what the same bits say above
Test(learning, in_200_steps_at_least_95_percent_of_the_held_out_images_are_named_rightly) {
    struct training *training = training_create(4, 8, NETWORK_DEFAULT_SEED);
    cr_assert_lt(training_accuracy(training), 0.5, "before it has learned anything");
    struct network_metrics mean = {0};
    for (unsigned step = 0; step < STEPS; step++) mean = training_step(training);
    cr_assert_lt(mean.loss, 0.1);
    cr_assert_geq(training_accuracy(training), 0.95);
    training_destroy(training);
}

Test(learning, other_seeds_get_there_too) {
    for (uint64_t seed = 2; seed < 4; seed++) {
        struct training *training = training_create(1, 8, seed);
        for (unsigned step = 0; step < STEPS; step++) training_step(training);
        cr_assert_geq(training_accuracy(training), 0.95, "seed %llu", (unsigned long long)seed);
        training_destroy(training);
    }
}
#endif

Test(learning, one_seed_gives_one_curve_and_another_seed_another) {
    struct training *one = training_create(1, 8, 5), *same = training_create(1, 8, 5);
    struct training *other = training_create(1, 8, 6);
    for (unsigned step = 0; step < 30 / TEST_LESS; step++) {
        double loss = training_step(one).loss;
        training_step(same);
        expect_same(one, same, step);
        cr_assert_neq(training_step(other).loss, loss, "step %u", step);
    }
    training_destroy(one);
    training_destroy(same);
    training_destroy(other);
}
