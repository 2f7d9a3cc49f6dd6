#include "service/daemon/signals.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/base/error.h"
#include "proto/base/log.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sw_endpoint *draining;
static pthread_cond_t first = PTHREAD_COND_INITIALIZER;
static bool told;
static int64_t told_ms;

static void on_first(int number) {
    log_info("draining", LOG_TEXT("signal", strsignal(number)));
    pthread_mutex_lock(&mutex);
    told = true;
    told_ms = clock_now_ms(&clock_system);
    pthread_cond_signal(&first);
    if (draining) sw_endpoint_drain(draining);
    pthread_mutex_unlock(&mutex);
}

static void *await(void *context) {
    const sigset_t *set = context;
    int number;
    while (sigwait(set, &number) != 0) {
    }
    on_first(number);
    while (sigwait(set, &number) != 0) {
    }
    log_warn("ended at once by a second signal", LOG_TEXT("signal", strsignal(number)));
    _exit(128 + number);
}

sw_status signals_start(sw_error *error) {
    static sigset_t set;
    pthread_t thread;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN); /* whoever reads the log may go */
    if (pthread_create(&thread, NULL, await, &set) != 0) {
        return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no thread to wait for signals");
    }
    pthread_detach(thread);
    return SW_OK;
}

void signals_drain(sw_endpoint *endpoint) {
    pthread_mutex_lock(&mutex);
    draining = endpoint;
    if (endpoint && told) sw_endpoint_drain(endpoint);
    pthread_mutex_unlock(&mutex);
}

int64_t signals_await_drain(void) {
    pthread_mutex_lock(&mutex);
    while (!told) pthread_cond_wait(&first, &mutex);
    int64_t when = told_ms;
    pthread_mutex_unlock(&mutex);
    return when;
}
