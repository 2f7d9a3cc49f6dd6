/* The part of Criterion that tests/support/test.h names, for plain programs.
 * A failed assertion ends the process of its test, from whatever thread. */
#ifndef STAGEWIRE_TESTS_SUPPORT_PLAIN_H
#define STAGEWIRE_TESTS_SUPPORT_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plain_test {
    const char *suite, *name;
    void (*run)(void);
    void (*init)(void);
    void (*fini)(void);
    double timeout; // seconds; 0: none
    int exit_code;  // that it must end with
    struct plain_test *next;
};

void plain_add_test(struct plain_test *test);
void plain_add_suite(struct plain_test *suite); // its options are the defaults of its tests
void plain_check(bool holds, const char *file, int line, const char *what, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void plain_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define PLAIN_ENTRY(id, add, ...)                                                                            \
    static struct plain_test plain_entry_##id = {__VA_ARGS__};                                               \
    __attribute__((constructor)) static void plain_add_##id(void) {                                          \
        add(&plain_entry_##id);                                                                              \
    }

#define Test(Suite, Name, ...)                                                                               \
    static void Suite##_##Name##_test(void);                                                                 \
    PLAIN_ENTRY(Suite##_##Name, plain_add_test, .suite = #Suite, .name = #Name,                              \
                .run = Suite##_##Name##_test, ##__VA_ARGS__)                                                 \
    static void Suite##_##Name##_test(void)

#define TestSuite(Suite, ...) PLAIN_ENTRY(Suite, plain_add_suite, .suite = #Suite, ##__VA_ARGS__)

// The message goes after a blank, so that without one the format isn't empty.
#define PLAIN_CHECK(holds, what, ...) plain_check((holds), __FILE__, __LINE__, what, " " __VA_ARGS__)

#define cr_assert(a, ...)            PLAIN_CHECK(a, #a, __VA_ARGS__)
#define cr_assert_not(a, ...)        PLAIN_CHECK(!(a), "!(" #a ")", __VA_ARGS__)
#define cr_assert_null(a, ...)       PLAIN_CHECK((a) == NULL, #a " == NULL", __VA_ARGS__)
#define cr_assert_not_null(a, ...)   PLAIN_CHECK((a) != NULL, #a " != NULL", __VA_ARGS__)
#define cr_assert_eq(a, b, ...)      PLAIN_CHECK((a) == (b), #a " == " #b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...)     PLAIN_CHECK((a) != (b), #a " != " #b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...)      PLAIN_CHECK((a) < (b), #a " < " #b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...)     PLAIN_CHECK((a) <= (b), #a " <= " #b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...)      PLAIN_CHECK((a) > (b), #a " > " #b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...)     PLAIN_CHECK((a) >= (b), #a " >= " #b, __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...)  PLAIN_CHECK(strcmp((a), (b)) == 0, #a " is the string " #b, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) PLAIN_CHECK(strcmp((a), (b)) != 0, #a " is not " #b, __VA_ARGS__)
#define cr_log_info(...)             plain_log(__VA_ARGS__)

#endif
