/* What every test includes: Criterion, or under sanitizers and qemu, where it aborts at
 * start or is slow, a stand-in for the part of it that tests may use. That part is
 *
 *   Test(suite, name, .init, .fini, .timeout, .exit_code)    TestSuite(suite, .init, .fini, .timeout)
 *   cr_assert  cr_assert_not  cr_assert_null  cr_assert_not_null
 *   cr_assert_eq  cr_assert_neq  cr_assert_lt  cr_assert_leq  cr_assert_gt  cr_assert_geq
 *   cr_assert_str_eq  cr_assert_str_neq  cr_log_info
 *
 * each with an optional message, a string literal and its arguments. Both run every
 * test in a process of its own.
 *
 * TEST_LESS is how many times less is repeated where everything is slow: what chance or
 * patience would find is left to the release, and to the fuzzers. */
#ifndef STAGEWIRE_TESTS_SUPPORT_TEST_H
#define STAGEWIRE_TESTS_SUPPORT_TEST_H

#ifdef STAGEWIRE_PLAIN_TESTS
#include "tests/support/plain/plain.h"
#define TEST_LESS 10
#else
#include <criterion/criterion.h>
#define TEST_LESS 1
#endif

#endif
