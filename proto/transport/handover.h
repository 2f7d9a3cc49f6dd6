/* What ThreadSanitizer is told of hand-overs through gRPC, which Debian does not instrument: everything that
 * happened before `release` on one thread is seen after `acquire` on another. Nothing in any other build. */
#ifndef STAGEWIRE_TRANSPORT_HANDOVER_H
#define STAGEWIRE_TRANSPORT_HANDOVER_H

#if defined(__SANITIZE_THREAD__)
#define HANDOVER_TOLD 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HANDOVER_TOLD 1
#endif
#endif

#ifdef HANDOVER_TOLD
#include <sanitizer/tsan_interface.h>
#define handover_release(address) __tsan_release(address)
#define handover_acquire(address) __tsan_acquire(address)
#else
#define handover_release(address) ((void)(address))
#define handover_acquire(address) ((void)(address))
#endif

#endif
