/*
 * The images that the demo learns from: 1,797 handwritten digits of 8 by 8 pixels, built into the program
 * from client/examples/data/digits.csv.gz (its origin and licence: the README.md there).
 *
 * Every sixth image (the 1st, 7th, 13th, ...) is held out: `evaluation` has those 300, `training` the other
 * 1,497, both in the file's order. What was loaded is never changed, so any thread may read it.
 */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_MODEL_DIGITS_H
#define STAGEWIRE_CLIENT_CLI_DEMO_MODEL_DIGITS_H

#include <stddef.h>
#include <stdint.h>

#include <stagewire/status.h>

#define DIGITS_PIXELS     64
#define DIGITS_CLASSES    10
#define DIGITS_HOLD_OUT   6
#define DIGITS_PIXEL_MAX  16 /* as in the file; it becomes 1.0 */
#define DIGITS_IMAGES_MIN 2
#define DIGITS_IMAGES_MAX 4096 /* stops a broken or foreign file from filling the memory */

struct digits_set {
    size_t count;
    float *pixels;   /* [count, DIGITS_PIXELS], from 0.0 to 1.0, row by row from the top left */
    uint8_t *labels; /* [count], from 0 to 9 */
};

struct digits {
    struct digits_set training;
    struct digits_set evaluation;
};

/* Loads the digits that are built into the program. The caller ends them with digits_destroy. Errors as
 * digits_parse. */
enum sw_status digits_load(struct digits *ret, struct sw_error *error);

/*
 * Reads a gzip file of lines of 64 pixels (integers from 0 to 16) and a label (0 to 9), separated by commas;
 * `name` stands for it in messages. At least DIGITS_IMAGES_MIN are needed, so that both sets have one.
 *
 * DATA_LOSS: not gzip, cut off, or more than DIGITS_IMAGES_MAX lines would take. INVALID_ARGUMENT: a line
 * that is not as it should be, named with its field, or too few or too many of them. RESOURCE_EXHAUSTED: no
 * memory.
 */
enum sw_status digits_parse(const char *name, const void *gzip, size_t size, struct digits *ret,
                            struct sw_error *error);

/* Takes digits of zeros too. */
void digits_destroy(struct digits *digits);

/* Copies the images [count] numbered by `indices` to `pixels` [count, DIGITS_PIXELS] and `labels` [count];
 * each may be NULL. */
void digits_gather(const struct digits_set *set, const uint32_t *indices, size_t count, float *pixels,
                   uint8_t *labels);

#endif
