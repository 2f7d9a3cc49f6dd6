/* Gives memory of a kind that costs the kernel work for each page, a quarter of a second a GiB, back on a
 * thread of its own: meanwhile the loop that let go of it answers. The thread is there while there is
 * something to give back. Any thread. */
#ifndef STAGEWIRE_DEVICE_GIVE_BACK_H
#define STAGEWIRE_DEVICE_GIVE_BACK_H

#include <stddef.h>

#include "proto/base/list.h"

struct giving_back {
    size_t size;
    void (*run)(struct giving_back *job); /* the job is gone after it */

    struct list place; /* private */
};

/* `size` and `run` are set. At once where LIMIT_GIVEN_BACK_LATER bytes wait already: nobody lets go of memory
 * faster for long than the kernel takes it. */
void give_back(struct giving_back *job);

#endif
