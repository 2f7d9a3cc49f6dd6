#include "service/daemon/units.h"

#include <stddef.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t worth;
};

/* Reads the digits and leaves *rest behind them. */
static bool read_digits(const char *text, uint64_t *ret, const char **rest) {
    uint64_t number = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(number, 10u, &number)) return false;
        if (__builtin_add_overflow(number, (uint64_t)(*at - '0'), &number)) return false;
    }
    if (at == text) return false;
    *ret = number;
    *rest = at;
    return true;
}

static bool parse_with_unit(const char *text, const struct unit *units, size_t count, uint64_t *ret) {
    uint64_t number;
    const char *unit;
    if (!read_digits(text, &number, &unit)) return false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(unit, units[i].name) != 0) continue;
        if (__builtin_mul_overflow(number, units[i].worth, &number)) return false;
        *ret = number;
        return true;
    }
    return false;
}

bool parse_number(const char *text, uint64_t most, uint64_t *ret) {
    const char *rest;
    uint64_t number;
    if (!read_digits(text, &number, &rest) || *rest || number > most) return false;
    *ret = number;
    return true;
}

bool parse_bytes(const char *text, uint64_t *ret) {
    static const struct unit units[] = {
        {"", 1}, {"k", 1ull << 10}, {"m", 1ull << 20}, {"g", 1ull << 30}, {"t", 1ull << 40}};
    return parse_with_unit(text, units, sizeof units / sizeof *units, ret);
}

bool parse_milliseconds(const char *text, int64_t *ret) {
    static const struct unit units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    uint64_t number;
    if (strcmp(text, "0") == 0) {
        *ret = 0;
        return true;
    }
    if (!parse_with_unit(text, units, sizeof units / sizeof *units, &number) || number > INT64_MAX)
        return false;
    *ret = (int64_t)number;
    return true;
}
