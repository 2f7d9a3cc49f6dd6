#include "client/cli/demo/model/schedule.h"

#define WARM_UP_STEPS 10
#define HALVING_STEPS 100
#define PEAK_RATE     0.1

double schedule_learning_rate(uint64_t step) {
    if (step < WARM_UP_STEPS) return PEAK_RATE * (double)(step + 1) / WARM_UP_STEPS;
    return PEAK_RATE / (1.0 + (double)(step - WARM_UP_STEPS) / HALVING_STEPS);
}
