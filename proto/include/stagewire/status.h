/* Status codes, reasons and errors: what any call of stagewire may answer.
 *
 * Every fallible function returns an `sw_status` and fills a caller-owned `sw_error`, for which NULL is fine.
 * Outputs (`ret_…`) are written only on SW_OK. All functions of this header are thread-safe as long as no
 * `sw_error` is shared. */
#ifndef STAGEWIRE_STATUS_H
#define STAGEWIRE_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include <stagewire/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Status codes: gRPC's, with gRPC's numbers (grpc/status.h). */
#define SW_STATUS_MAP(X)                                                                                     \
    X(OK, 0)                                                                                                 \
    X(CANCELLED, 1)                                                                                          \
    X(UNKNOWN, 2)                                                                                            \
    X(INVALID_ARGUMENT, 3)                                                                                   \
    X(DEADLINE_EXCEEDED, 4)                                                                                  \
    X(NOT_FOUND, 5)                                                                                          \
    X(ALREADY_EXISTS, 6)                                                                                     \
    X(PERMISSION_DENIED, 7)                                                                                  \
    X(RESOURCE_EXHAUSTED, 8)                                                                                 \
    X(FAILED_PRECONDITION, 9)                                                                                \
    X(ABORTED, 10)                                                                                           \
    X(OUT_OF_RANGE, 11)                                                                                      \
    X(UNIMPLEMENTED, 12)                                                                                     \
    X(INTERNAL, 13)                                                                                          \
    X(UNAVAILABLE, 14)                                                                                       \
    X(DATA_LOSS, 15)                                                                                         \
    X(UNAUTHENTICATED, 16)

typedef enum sw_status {
#define SW_STATUS_ENUM(name, number) SW_##name = number,
    SW_STATUS_MAP(SW_STATUS_ENUM)
#undef SW_STATUS_ENUM
} sw_status;

/* Reasons: why, in one word that programs may compare. The code is the one that comes with the reason;
 * NOT_YET is DEADLINE_EXCEEDED where the pull waited and NOT_FOUND where it did not want to.
 *
 * X(name, code, what it means, why it happens, what to do) */
#define SW_REASON_MAP(X)                                                                                     \
    X(MALFORMED, INVALID_ARGUMENT, "the request breaks a rule of the wire format; `path` says where",        \
      "a name with characters that it may not have, a value without a plain form, nesting beyond "           \
      "16, a wrong type, or a client of another version",                                                    \
      "correct the field that `path` names; as it is, the request fails again")                              \
    X(AMBIGUOUS_STAGE, INVALID_ARGUMENT, "several stages have that channel; name one of `stages`",           \
      "the request left the stage out, and more than one stage publishes that channel in that group "        \
      "here",                                                                                                \
      "name one of `stages` (--stage N)")                                                                    \
    X(TOO_LARGE, INVALID_ARGUMENT, "larger than the budget, the message or the manifest allow",              \
      "one item is more than 4 MiB encoded (metrics, objects), than the endpoint's --store-bytes or "        \
      "--metrics-bytes, or has more than 20,000 tensors",                                                    \
      "publish less at once: arrays as tensors, tensors in several channels; or raise the "                  \
      "endpoint's budget")                                                                                   \
    X(RUN_MISMATCH, FAILED_PRECONDITION, "the endpoint serves another run",                                  \
      "the address names another run than the endpoint's --run-id: mostly the endpoint of another "          \
      "job or cluster",                                                                                      \
      "compare the run that 'stagewire info' shows with yours, and correct the endpoint's address "          \
      "or the run")                                                                                          \
    X(STALE_GENERATION, FAILED_PRECONDITION, "a newer generation of the job has begun",                      \
      "the job was started again, and this publisher belongs to an earlier start",                           \
      "end this process; the newer generation's trainer publishes now")                                      \
    X(NOT_ATTACHED, FAILED_PRECONDITION, "a newer generation begins with Attach",                            \
      "a publish names a generation that no trainer has begun here",                                         \
      "attach with that generation first, or publish with generation 0, the current one")                    \
    X(STEP_WENT_BACK, FAILED_PRECONDITION, "steps grow strictly within a channel",                           \
      "the step is below the channel's latest, or below its declared next_step: a resume from a "            \
      "checkpoint without a new generation, or two publishers of one channel",                               \
      "after a resume attach with the next generation; else publish a later step, or in a channel "          \
      "of your own")                                                                                         \
    X(CHANNEL_CLOSED, FAILED_PRECONDITION, "the channel is closed until a new generation begins",            \
      "the channel, or all of its stage and group, was finished or aborted",                                 \
      "publish in another channel, or begin a new generation")                                               \
    X(POLICY_CONFLICT, FAILED_PRECONDITION, "the channel was declared otherwise in this generation",         \
      "two trainers declare other consumers, another keep or another lag for one channel",                   \
      "declare the same everywhere; the first declaration stands until a new generation")                    \
    X(CONFLICT, ALREADY_EXISTS, "something else stands there already",                                       \
      "other content or a failure is published at this address, or the channel is closed in another "        \
      "way: mostly two publishers of one address",                                                           \
      "publish at the next step or call, and find out who else publishes there")                             \
    X(PUBLISH_IN_PROGRESS, ABORTED, "another tensor publish of the channel is open",                         \
      "two tensor publishes of one channel overlap",                                                         \
      "publish a channel's tensors one after the other; the client retries until its deadline")              \
    X(STORE_FULL, RESOURCE_EXHAUSTED, "no room, and expected consumers still need what is held",             \
      "the budget is full, and the consumers that `consumers` names have not released what is held",         \
      "find out why they lag ('stagewire info' shows what they released), raise --store-bytes or "           \
      "--metrics-bytes, or have them dropped with --max-lag-steps")                                          \
    X(CHECKSUM, DATA_LOSS, "a hash does not match the bytes that arrived",                                   \
      "memory or the network changed bytes on their way, or the publisher wrote to memory that was "         \
      "being sent",                                                                                          \
      "try again; if it happens again, test memory and network of both machines, and look for code "         \
      "that writes to a published buffer")                                                                   \
    X(SUPERSEDED, ABORTED, "a newer generation of the job has begun",                                        \
      "the pull is for a generation that has ended: the job was started again",                              \
      "pull from the current generation (0), from the step at which the job resumed")                        \
    X(NO_SUCH_TENSOR, NOT_FOUND, "the item has no tensor of that name; it has `tensors`",                    \
      "the name is misspelt, or the publisher sends other tensors in this step",                             \
      "pull one of `tensors`; 'stagewire get --tensors' lists them")                                         \
    X(BAD_RANGE, OUT_OF_RANGE, "the blocks lie outside the tensor",                                          \
      "block numbers beyond the tensor's last one, mostly because the tensor is another one than "           \
      "its manifest was of",                                                                                 \
      "take the manifest again, and ask for blocks within it")                                               \
    X(STEP_FAILED, ABORTED, "the publisher said that there will be no such item, and why",                   \
      "the publishing stage met an error in that step, and said so instead of letting others wait",          \
      "read its message: the cause lies on the publishing stage")                                            \
    X(EVICTED, OUT_OF_RANGE, "published, and no longer held",                                                \
      "newer steps came, and no expected consumer needed it any more",                                       \
      "pull sooner, from `oldest` on; to have steps held for you, be a consumer of the channel's "           \
      "policy, or raise --keep-steps or the budget")                                                         \
    X(SKIPPED, NOT_FOUND, "never published, and newer ones were",                                            \
      "the publisher went on to a later step without this one: steps may have gaps",                         \
      "pull the latest, or a step that is published")                                                        \
    X(FINISHED, OUT_OF_RANGE, "the channel was finished before that step",                                   \
      "the publisher said that `last` is the channel's last step",                                           \
      "stop pulling; only a new generation reopens the channel")                                             \
    X(PUBLISHER_ABORTED, ABORTED, "the publisher aborted the channel",                                       \
      "the publishing stage gave up, and its message says why",                                              \
      "read the message, and restart the job: a new generation reopens the channel")                         \
    X(PUBLISHER_LOST, ABORTED, "the trainer of that stage is gone",                                          \
      "its connection to the endpoint broke, and it did not come back within the publisher grace "           \
      "(30 s): it crashed, was killed, or its machine is gone",                                              \
      "look at that stage's log, and restart it: this ends when it attaches again")                          \
    X(SHUTTING_DOWN, UNAVAILABLE, "the endpoint is going down",                                              \
      "it was told to end, and serves only what it holds until that is pulled or the drain grace "           \
      "(20 s) is over",                                                                                      \
      "pull at once what is still needed, and publish to the endpoint that replaces it")                     \
    X(LIMIT, RESOURCE_EXHAUSTED, "a configured limit is reached; `limit` names it",                          \
      "more waits, watches, channels, leases or memory than the endpoint or this process may have: "         \
      "too many clients, or names made up without end",                                                      \
      "raise the limit that `limit` names ('stagewired --help' lists the settings), or ask for less "        \
      "at once")                                                                                             \
    X(NOT_YET, DEADLINE_EXCEEDED, "not published yet",                                                       \
      "the publisher has not reached that step in the time that was given, or publishes in another "         \
      "channel, group or stage",                                                                             \
      "wait longer (--timeout), or compare with what 'stagewire info' shows")                                \
    X(ENDPOINT_LOST, UNAVAILABLE, "an endpoint that was reached once is gone",                               \
      "it crashed or was stopped, or the network is cut, for longer than the endpoint grace (30 s)",         \
      "see whether it runs and is reachable ('stagewire wait --ready'), then go on where you were")          \
    X(OUT_OF_STEP, FAILED_PRECONDITION, "this rank's calls within the step differ from the last stage's",    \
      "stages run different code in a step: a branch that calls an operation on some of them only",          \
      "have every stage call the operations equally often within a step")

typedef enum sw_reason {
    SW_REASON_NONE = 0, /* no reason of stagewire's: a plain status */
#define SW_REASON_ENUM(name, code, meaning, cause, remedy) SW_REASON_##name,
    SW_REASON_MAP(SW_REASON_ENUM)
#undef SW_REASON_ENUM
        SW_REASON_COUNT
} sw_reason;

/* An error. It owns nothing: copy it with `=`, keep it as long as you like. Message and details together fit
 * the 4 KiB that travel. Metadata pairs lie in `details` as "key\0value\0…"; read them with
 * sw_error_metadata. */
#define SW_ERROR_MESSAGE_MAX 1024
#define SW_ERROR_DETAILS_MAX 2560

typedef struct sw_error {
    sw_status code;
    sw_reason reason;
    uint16_t details_size;
    char message[SW_ERROR_MESSAGE_MAX]; /* a sentence that names stage, address and what to do; UTF-8 */
    char details[SW_ERROR_DETAILS_MAX];
} sw_error;

/* Names as they travel: "NOT_FOUND", "EVICTED"; "" for SW_REASON_NONE and "UNKNOWN" for a number out of
 * range. */
SW_API const char *sw_status_name(sw_status status);
SW_API const char *sw_reason_name(sw_reason reason);

/* SW_REASON_NONE where `name` is none of ours. */
SW_API sw_reason sw_reason_from_name(const char *name);

/* The code that comes with a reason. */
SW_API sw_status sw_reason_status(sw_reason reason);

/* In words: what a reason means, why it happens, and what to do. */
SW_API const char *sw_reason_meaning(sw_reason reason);
SW_API const char *sw_reason_cause(sw_reason reason);
SW_API const char *sw_reason_remedy(sw_reason reason);

/* The library's version: "0.1.0". */
SW_API const char *sw_version(void);

/* The value of a metadata key (`generation`, `oldest`, `latest`, `last`, `message`, `consumers`, `tensors`,
 * `stages`, `limit`, `path`, `omitted`), or NULL. Lists are JSON arrays, positions "STEP/CALL". Lives as long
 * as `error`. */
SW_API const char *sw_error_metadata(const sw_error *error, const char *key);

#ifdef __cplusplus
}
#endif
#endif
