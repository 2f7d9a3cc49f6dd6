#include "tests/support/plain/plain.h"

#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

static struct plain_test *tests, **tests_end = &tests;
static struct plain_test *suites;

// Sanitizers slow what a timeout was chosen for.
enum { SLOWER = 10 };

void plain_add_test(struct plain_test *test) {
    *tests_end = test;
    tests_end = &test->next;
}

void plain_add_suite(struct plain_test *suite) {
    suite->next = suites;
    suites = suite;
}

void plain_check(bool holds, const char *file, int line, const char *what, const char *format, ...) {
    if (holds) return;
    fprintf(stderr, "%s:%d: does not hold: %s:", file, line, what);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    _exit(EXIT_FAILURE); // other threads of the test may be running
}

void plain_log(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

static void take_suite_options(struct plain_test *test) {
    for (const struct plain_test *suite = suites; suite; suite = suite->next) {
        if (strcmp(suite->suite, test->suite) != 0) continue;
        if (!test->init) test->init = suite->init;
        if (!test->fini) test->fini = suite->fini;
        if (test->timeout == 0) test->timeout = suite->timeout;
    }
}

static void run_in_child(const struct plain_test *test) {
    if (test->timeout > 0) alarm((unsigned)(test->timeout * SLOWER) + 1);
    if (test->init) test->init();
    test->run();
    if (test->fini) test->fini();
    exit(EXIT_SUCCESS);
}

static bool passes(struct plain_test *test) {
    take_suite_options(test);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) run_in_child(test);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("cannot run a test");
        return false;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == test->exit_code) return true;
    if (WIFSIGNALED(status))
        fprintf(stderr, "FAILED %s/%s: signal %d\n", test->suite, test->name, WTERMSIG(status));
    else
        fprintf(stderr, "FAILED %s/%s: exit status %d\n", test->suite, test->name, WEXITSTATUS(status));
    return false;
}

int main(int argc, char **argv) {
    int tested = 0, failed = 0;
    for (struct plain_test *test = tests; test; test = test->next) {
        if (argc > 1 && !strstr(test->name, argv[1]) && !strstr(test->suite, argv[1])) continue;
        tested++;
        if (!passes(test)) failed++;
    }
    printf("Tested: %d | Failing: %d\n", tested, failed);
    return tested > 0 && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
