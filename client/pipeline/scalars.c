#include "client/pipeline/scalars.h"

#include <math.h>
#include <string.h>

static struct scalar integer_of(int64_t value) {
    return (struct scalar){.kind = SCALAR_INTEGER, .integer = value};
}

static struct scalar number_of(double value) {
    return (struct scalar){.kind = SCALAR_NUMBER, .number = value};
}

static struct scalar natural_of(uint64_t value) {
    if (value <= INT64_MAX) return integer_of((int64_t)value);
    return (struct scalar){.kind = SCALAR_UNSIGNED, .natural = value};
}

/* How a float of up to 16 bits is built; the sign is the bit above the exponent. */
struct float_format {
    int exponent_bits, mantissa_bits, bias;
    enum {
        IEEE,          /* the highest exponent is infinity and NaN */
        FINITE,        /* only all ones is NaN */
        UNSIGNED_ZERO, /* only the pattern of -0 is NaN */
    } specials;
};

static const struct float_format f16 = {5, 10, 15, IEEE};
static const struct float_format bf16 = {8, 7, 127, IEEE};
static const struct float_format e5m2 = {5, 2, 15, IEEE};
static const struct float_format e4m3fn = {4, 3, 7, FINITE};
static const struct float_format e4m3fnuz = {4, 3, 8, UNSIGNED_ZERO};
static const struct float_format e5m2fnuz = {5, 2, 16, UNSIGNED_ZERO};

static double small_float(unsigned bits, const struct float_format *format) {
    unsigned mantissa_ones = (1u << format->mantissa_bits) - 1;
    unsigned exponent_ones = (1u << format->exponent_bits) - 1;
    unsigned mantissa = bits & mantissa_ones;
    unsigned exponent = (bits >> format->mantissa_bits) & exponent_ones;
    unsigned sign = bits >> (format->mantissa_bits + format->exponent_bits);
    double magnitude;

    bool highest = exponent == exponent_ones;
    if (format->specials == IEEE && highest)
        magnitude = mantissa ? NAN : INFINITY;
    else if (format->specials == FINITE && highest && mantissa == mantissa_ones)
        magnitude = NAN;
    else if (format->specials == UNSIGNED_ZERO && sign && !exponent && !mantissa)
        return NAN;
    else if (exponent == 0)
        magnitude = ldexp(mantissa, 1 - format->bias - format->mantissa_bits);
    else
        magnitude = ldexp(mantissa + mantissa_ones + 1, (int)exponent - format->bias - format->mantissa_bits);
    return sign ? -magnitude : magnitude;
}

static double power_of_two(unsigned bits) {
    return bits == 0xff ? NAN : ldexp(1.0, (int)bits - 127);
}

#define READ(type)                                                                                           \
    type value;                                                                                              \
    memcpy(&value, (const char *)data + index * sizeof value, sizeof value)

static struct scalar read_integer(sw_dtype dtype, const void *data, size_t index) {
    switch (dtype) {
    case SW_U8: {
        READ(uint8_t);
        return integer_of(value);
    }
    case SW_I8: {
        READ(int8_t);
        return integer_of(value);
    }
    case SW_U16: {
        READ(uint16_t);
        return integer_of(value);
    }
    case SW_I16: {
        READ(int16_t);
        return integer_of(value);
    }
    case SW_U32: {
        READ(uint32_t);
        return integer_of(value);
    }
    case SW_I32: {
        READ(int32_t);
        return integer_of(value);
    }
    case SW_U64: {
        READ(uint64_t);
        return natural_of(value);
    }
    default: {
        READ(int64_t);
        return integer_of(value);
    }
    }
}

static struct scalar read_byte_float(sw_dtype dtype, const void *data, size_t index) {
    READ(uint8_t);
    switch (dtype) {
    case SW_F8_E4M3FN:
        return number_of(small_float(value, &e4m3fn));
    case SW_F8_E5M2:
        return number_of(small_float(value, &e5m2));
    case SW_F8_E4M3FNUZ:
        return number_of(small_float(value, &e4m3fnuz));
    case SW_F8_E5M2FNUZ:
        return number_of(small_float(value, &e5m2fnuz));
    default:
        return number_of(power_of_two(value));
    }
}

static struct scalar read_float(sw_dtype dtype, const void *data, size_t index) {
    switch (dtype) {
    case SW_F16:
    case SW_BF16: {
        READ(uint16_t);
        return number_of(small_float(value, dtype == SW_F16 ? &f16 : &bf16));
    }
    case SW_F32: {
        READ(float);
        return number_of(value);
    }
    case SW_F64: {
        READ(double);
        return number_of(value);
    }
    default:
        return read_byte_float(dtype, data, index);
    }
}

struct scalar scalar_read(sw_dtype dtype, const void *data, size_t index) {
    switch (dtype) {
    case SW_BOOL:
        return (struct scalar){.kind = SCALAR_BOOL, .boolean = ((const uint8_t *)data)[index] != 0};
    case SW_U8:
    case SW_I8:
    case SW_U16:
    case SW_I16:
    case SW_U32:
    case SW_I32:
    case SW_U64:
    case SW_I64:
        return read_integer(dtype, data, index);
    case SW_F16:
    case SW_BF16:
    case SW_F32:
    case SW_F64:
    case SW_F8_E4M3FN:
    case SW_F8_E5M2:
    case SW_F8_E4M3FNUZ:
    case SW_F8_E5M2FNUZ:
    case SW_F8_E8M0FNU:
        return read_float(dtype, data, index);
    default:
        return (struct scalar){.kind = SCALAR_NONE};
    }
}

bool scalar_as_number(struct scalar scalar, double *ret_number) {
    switch (scalar.kind) {
    case SCALAR_BOOL:
        *ret_number = scalar.boolean;
        return true;
    case SCALAR_INTEGER:
        *ret_number = (double)scalar.integer;
        return true;
    case SCALAR_UNSIGNED:
        *ret_number = (double)scalar.natural;
        return true;
    case SCALAR_NUMBER:
        *ret_number = scalar.number;
        return true;
    default:
        return false;
    }
}
