#include "client/cli/interrupts.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int descriptor = -1;

static void note(int number) {
    (void)number;
    int before = errno;
    const uint64_t one = 1;
    if (write(descriptor, &one, sizeof one) != sizeof one) _exit(1);
    errno = before;
}

int interrupts_open(void) {
    static const int watched[] = {SIGINT, SIGTERM, SIGHUP};
    descriptor = eventfd(0, EFD_CLOEXEC);
    if (descriptor < 0) return -1;
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
        struct sigaction before, action = {.sa_handler = note, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
        if (sigaction(watched[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(watched[i], &action, NULL);
    }
    return descriptor;
}
