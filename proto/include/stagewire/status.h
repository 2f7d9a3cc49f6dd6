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
 * NOT_YET is DEADLINE_EXCEEDED where the pull waited and NOT_FOUND where it did not want to. */
#define SW_REASON_MAP(X)                                                                                     \
    X(MALFORMED, INVALID_ARGUMENT, "the request breaks a rule of the wire format; `path` says where")        \
    X(AMBIGUOUS_STAGE, INVALID_ARGUMENT, "several stages have that channel; name one of `stages`")           \
    X(TOO_LARGE, INVALID_ARGUMENT, "larger than the budget, the message or the manifest allow")              \
    X(RUN_MISMATCH, FAILED_PRECONDITION, "the endpoint serves another run")                                  \
    X(STALE_GENERATION, FAILED_PRECONDITION, "a newer generation of the job has begun")                      \
    X(NOT_ATTACHED, FAILED_PRECONDITION, "a newer generation begins with Attach")                            \
    X(STEP_WENT_BACK, FAILED_PRECONDITION, "steps grow strictly within a channel")                           \
    X(CHANNEL_CLOSED, FAILED_PRECONDITION, "the channel is closed until a new generation begins")            \
    X(POLICY_CONFLICT, FAILED_PRECONDITION, "the channel was declared otherwise in this generation")         \
    X(CONFLICT, ALREADY_EXISTS, "something else stands there already")                                       \
    X(PUBLISH_IN_PROGRESS, ABORTED, "another tensor publish of the channel is open")                         \
    X(STORE_FULL, RESOURCE_EXHAUSTED, "no room, and expected consumers still need what is held")             \
    X(CHECKSUM, DATA_LOSS, "a hash does not match the bytes that arrived")                                   \
    X(SUPERSEDED, ABORTED, "a newer generation of the job has begun")                                        \
    X(NO_SUCH_TENSOR, NOT_FOUND, "the item has no tensor of that name; it has `tensors`")                    \
    X(BAD_RANGE, OUT_OF_RANGE, "the blocks lie outside the tensor")                                          \
    X(STEP_FAILED, ABORTED, "the publisher said that there will be no such item, and why")                   \
    X(EVICTED, OUT_OF_RANGE, "published, and no longer held")                                                \
    X(SKIPPED, NOT_FOUND, "never published, and newer ones were")                                            \
    X(FINISHED, OUT_OF_RANGE, "the channel was finished before that step")                                   \
    X(PUBLISHER_ABORTED, ABORTED, "the publisher aborted the channel")                                       \
    X(PUBLISHER_LOST, ABORTED, "the trainer of that stage is gone")                                          \
    X(SHUTTING_DOWN, UNAVAILABLE, "the endpoint is going down")                                              \
    X(LIMIT, RESOURCE_EXHAUSTED, "a configured limit is reached; `limit` names it")                          \
    X(NOT_YET, DEADLINE_EXCEEDED, "not published yet")                                                       \
    X(ENDPOINT_LOST, UNAVAILABLE, "an endpoint that was reached once is gone")                               \
    X(OUT_OF_STEP, FAILED_PRECONDITION, "this rank's calls within the step differ from the last stage's")

typedef enum sw_reason {
    SW_REASON_NONE = 0, /* no reason of stagewire's: a plain status */
#define SW_REASON_ENUM(name, code, meaning) SW_REASON_##name,
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

/* The code that comes with a reason, and what it means in a sentence. */
SW_API sw_status sw_reason_status(sw_reason reason);
SW_API const char *sw_reason_meaning(sw_reason reason);

/* The value of a metadata key (`generation`, `oldest`, `latest`, `last`, `message`, `consumers`, `tensors`,
 * `stages`, `limit`, `path`, `omitted`), or NULL. Lists are JSON arrays, positions "STEP/CALL". Lives as long
 * as `error`. */
SW_API const char *sw_error_metadata(const sw_error *error, const char *key);

#ifdef __cplusplus
}
#endif
#endif
