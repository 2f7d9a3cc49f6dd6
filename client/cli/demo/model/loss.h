/* Softmax cross entropy over the ten digits: what only the last stage computes. */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_MODEL_LOSS_H
#define STAGEWIRE_CLIENT_CLI_DEMO_MODEL_LOSS_H

#include <stddef.h>
#include <stdint.h>

#include "client/cli/demo/model/digits.h"

struct loss {
    double mean;    /* of -log p(label) over the rows */
    size_t correct; /* rows whose largest logit is the label's; the lowest of equal ones counts */
};

/*
 * logits [rows, DIGITS_CLASSES] and labels [rows], rows at least 1. Writes to `log_probs` [rows,
 * DIGITS_CLASSES] the logarithm of each digit's probability, to `gradient` [rows, DIGITS_CLASSES] that of the
 * mean by the logits. The three must not overlap. Sums are taken in row order; exp and log are the C
 * library's, in double.
 */
struct loss loss_cross_entropy(size_t rows, const float *logits, const uint8_t *labels, float *log_probs,
                               float *gradient);

/* The `correct` of struct loss alone, for evaluation. */
size_t loss_count_correct(size_t rows, const float *logits, const uint8_t *labels);

#endif
