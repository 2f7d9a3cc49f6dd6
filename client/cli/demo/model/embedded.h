/* Files that the build puts into the program (model.cmake), so that it finds them wherever it is run from. */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_MODEL_EMBEDDED_H
#define STAGEWIRE_CLIENT_CLI_DEMO_MODEL_EMBEDDED_H

#include <stddef.h>

extern const unsigned char embedded_digits[]; /* client/examples/data/digits.csv.gz */
extern const size_t embedded_digits_size;

#endif
