#include "client/cli/parse.h"

#include <stddef.h>
#include <string.h>

/* Digits up to `end`. */
static bool digits(const char *word, const char *end, uint64_t max, uint64_t *ret_number) {
    if (word == end) return false;
    uint64_t number = 0;
    for (; word < end; word++) {
        if (*word < '0' || *word > '9') return false;
        uint64_t digit = (uint64_t)(*word - '0');
        if (number > (max - digit) / 10 || digit > max) return false;
        number = number * 10 + digit;
    }
    *ret_number = number;
    return true;
}

bool parse_number(const char *word, uint64_t max, uint64_t *ret_number) {
    return digits(word, word + strlen(word), max, ret_number);
}

bool parse_duration_ms(const char *word, int64_t *ret_ms) {
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    const char *unit = word + strspn(word, "0123456789");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        uint64_t number;
        if (strcmp(unit, units[i].name) != 0) continue;
        if (!digits(word, unit, PARSE_DURATION_MAX_MS / units[i].ms, &number) || number == 0) return false;
        *ret_ms = (int64_t)(number * units[i].ms);
        return true;
    }
    return false;
}
