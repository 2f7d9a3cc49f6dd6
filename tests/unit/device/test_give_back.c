/* Memory that is given back while nobody waits for it. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/limits.h"
#include "proto/device/give_back.h"
#include "tests/support/test.h"

struct piece {
    struct giving_back job;
    sem_t begun, may_end, ended;
    pthread_t by;
};

static void take_long(struct giving_back *job) {
    struct piece *piece = container_of(job, struct piece, job);
    piece->by = pthread_self();
    sem_post(&piece->begun);
    sem_wait(&piece->may_end);
    sem_post(&piece->ended);
}

static void let_go(struct piece *piece, size_t size, bool may_end) {
    piece->job = (struct giving_back){.size = size, .run = take_long};
    sem_init(&piece->begun, 0, 0);
    sem_init(&piece->may_end, 0, may_end);
    sem_init(&piece->ended, 0, 0);
    give_back(&piece->job);
}

static bool is_given_back(struct piece *piece) {
    return sem_trywait(&piece->ended) == 0;
}

static void wait_until_given_back(struct piece *piece) {
    sem_post(&piece->may_end);
    sem_wait(&piece->ended);
}

TestSuite(give_back, .timeout = 60);

Test(give_back, who_lets_go_of_memory_does_not_wait_until_the_kernel_has_it) {
    static struct piece first, second;
    for (int round = 0; round < 3; round++) { /* the thread ends meanwhile, or does not */
        let_go(&first, 1, false);
        let_go(&second, 1, false);
        sem_wait(&first.begun);
        cr_assert_not(pthread_equal(first.by, pthread_self()));
        cr_assert_not(is_given_back(&first));
        wait_until_given_back(&first);
        wait_until_given_back(&second);
    }
}

Test(give_back, who_lets_go_of_more_than_may_wait_gives_it_back_himself) {
    static struct piece large, fits, beyond;
    let_go(&large, LIMIT_GIVEN_BACK_LATER - 1, false);
    let_go(&fits, 1, true);
    let_go(&beyond, 1, true);
    cr_assert(is_given_back(&beyond));
    cr_assert(pthread_equal(beyond.by, pthread_self()));
    cr_assert_not(is_given_back(&fits));
    wait_until_given_back(&large);
    wait_until_given_back(&fits);
}

Test(give_back, a_piece_larger_than_all_that_may_wait_keeps_nobody_waiting_either) {
    static struct piece huge;
    let_go(&huge, 2ul * LIMIT_GIVEN_BACK_LATER, false);
    cr_assert_not(is_given_back(&huge));
    wait_until_given_back(&huge);
}

#ifndef __SANITIZE_THREAD__ /* which has no threads in a child of a process with threads */
Test(give_back, a_forked_child_gives_back_what_it_lets_go_of_and_what_waited) {
    static struct piece held, waits, own;
    let_go(&held, 1, false);
    sem_wait(&held.begun);
    let_go(&waits, 1, true);
    pid_t child = fork();
    if (child == 0) {
        let_go(&own, 1, true);
        wait_until_given_back(&own);
        wait_until_given_back(&waits);
        _exit(0);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    wait_until_given_back(&held);
    wait_until_given_back(&waits);
}
#endif
