#include "client/cli/demo/model/loss.h"

#include <math.h>

static size_t largest(const float *logits) {
    size_t best = 0;
    for (size_t c = 1; c < DIGITS_CLASSES; c++)
        if (logits[c] > logits[best]) best = c;
    return best;
}

static double log_of_sum(const float *logits) {
    double top = logits[largest(logits)];
    double sum = 0.0;
    for (size_t c = 0; c < DIGITS_CLASSES; c++) sum += exp(logits[c] - top);
    return top + log(sum);
}

struct loss loss_cross_entropy(size_t rows, const float *logits, const uint8_t *labels, float *log_probs,
                               float *gradient) {
    struct loss loss = {.correct = loss_count_correct(rows, logits, labels)};
    for (size_t row = 0; row < rows; row++) {
        size_t at = row * DIGITS_CLASSES;
        double normaliser = log_of_sum(logits + at);
        for (size_t c = 0; c < DIGITS_CLASSES; c++) {
            double log_prob = logits[at + c] - normaliser;
            double target = c == labels[row] ? 1.0 : 0.0;
            log_probs[at + c] = (float)log_prob;
            gradient[at + c] = (float)((exp(log_prob) - target) / (double)rows);
            if (c == labels[row]) loss.mean -= log_prob;
        }
    }
    loss.mean /= (double)rows;
    return loss;
}

size_t loss_count_correct(size_t rows, const float *logits, const uint8_t *labels) {
    size_t correct = 0;
    for (size_t row = 0; row < rows; row++) correct += largest(logits + row * DIGITS_CLASSES) == labels[row];
    return correct;
}
