/* Ending a wait from the thread that waits: for interpreters, which answer signals outside of their handlers.
 *
 * Who waits in C cannot run what an interpreter has to do when a signal came. So while a call of a thread
 * waits, the library asks that thread now and then. */
#ifndef STAGEWIRE_INTERRUPT_H
#define STAGEWIRE_INTERRUPT_H

#include <stdbool.h>

#include <stagewire/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on every wait of a call of this thread asks `is_interrupted(context)` every 50 ms, with no lock
 * held. True ends the call with CANCELLED, once: the question is then forgotten until it is set again. NULL
 * ends that; waits then take no notice of signals. Other threads are not concerned. */
SW_API void sw_interrupt_set(bool (*is_interrupted)(void *context), void *context);

#ifdef __cplusplus
}
#endif
#endif
