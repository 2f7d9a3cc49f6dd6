/* A daemon of stage 3 of 4 that serves run "run-a" on loopback, and short words for what tests do with it,
 * all over the wire and with nothing of the client library between. */
#ifndef STAGEWIRE_TESTS_SCENE_H
#define STAGEWIRE_TESTS_SCENE_H

#include "proto/wire/messages.h"
#include "tests/support/daemon.h"
#include "tests/support/raw.h"

struct scene {
    struct daemon *daemon;
    struct raw *raw;
    sw_error error; /* of the last call */
    bool duplicate; /* of the last publish */
};

/* `...`: further arguments of stagewired, then NULL. */
void scene_open(struct scene *scene, ...) __attribute__((sentinel));
void scene_close(struct scene *scene);

#define AT(name, number, ...) ((sw_address){.channel = (name), .step = (number), ##__VA_ARGS__})

/* Metrics {"v": value}. */
sw_status scene_publish(struct scene *scene, sw_address at, int64_t value);
sw_status scene_publish_value(struct scene *scene, sw_address at, const sw_value *metrics);
sw_status scene_fail(struct scene *scene, sw_address at, sw_item_kind kind, const char *message);
sw_status scene_close_channel(struct scene *scene, sw_address at, sw_item_kind kind, bool all,
                              sw_close_reason reason, const char *message);
sw_status scene_release(struct scene *scene, sw_address at, sw_item_kind kind, const char *consumer,
                        uint64_t below);

/* One U8 tensor "t" of `size` bytes, each `fill`; whole. */
sw_status scene_publish_tensor(struct scene *scene, sw_address at, uint64_t size, uint8_t fill);
/* Only its manifest. */
struct raw_call *scene_start_tensor(struct scene *scene, sw_address at, uint64_t size);
/* The same, and returns once the endpoint shows that it is the one open publish. */
struct raw_call *scene_open_tensor(struct scene *scene, sw_address at, uint64_t size);
sw_buffer *scene_manifest(sw_address at, uint64_t size);
/* One chunk of tensor 0; xxh3 0: left out. */
sw_buffer *scene_chunk(uint64_t block, uint64_t size, uint8_t fill, uint64_t xxh3);

/* no_wait; *ret_value is the "v" of what came. */
sw_status scene_get(struct scene *scene, sw_address at, int64_t *ret_value);
sw_status scene_pull_metrics(struct scene *scene, const struct pull_request *request, int64_t *ret_value);
struct raw_call *scene_start_get(struct scene *scene, sw_address at, int64_t timeout_ms);
/* The same, and returns once the endpoint shows that it is the one that waits. */
struct raw_call *scene_waiting_get(struct scene *scene, sw_address at);
/* Waits for it. */
sw_status scene_finish_get(struct scene *scene, struct raw_call *call, int64_t *ret_value);
/* All chunks of tensor 0 in one buffer; *ret_manifest (NULL is fine) gets the pin and the address's numbers.
 */
struct scene_tensor {
    uint64_t pin, generation, size;
    uint8_t *bytes;
};
sw_status scene_stream(struct scene *scene, const struct pull_request *request, struct scene_tensor *ret);
sw_status scene_get_tensor(struct scene *scene, sw_address at, struct scene_tensor *ret);

/* A lease of stage 3, group 0, of 4 stages, held until raw_cancel + raw_finish; NULL if it was refused (see
 * error). */
struct raw_call *scene_attach(struct scene *scene, uint64_t generation, const sw_channel_policy *policies,
                              uint32_t count);
struct raw_call *scene_attach_stage(struct scene *scene, uint32_t stage, uint64_t generation);
void scene_detach(struct raw_call *lease);

/* A policy with one consumer "c0". */
sw_channel_policy scene_policy(const char *channel, sw_item_kind kind, uint32_t keep);

/* Waits until `info` shows what `reached` asks for; false after ten seconds. */
bool scene_until(struct scene *scene, bool (*reached)(const struct stage_info *info));
/* Begins to drain and returns once the daemon refuses publishes. */
void scene_drain(struct scene *scene);

/* The last error is of that code and reason; says what it was otherwise. */
#define expect_error(scene, expected_code, expected_reason)                                                  \
    cr_assert(                                                                                               \
        (scene)->error.code == SW_##expected_code && (scene)->error.reason == SW_REASON_##expected_reason,   \
        "expected " #expected_code " / " #expected_reason ", got %s / %s: %s",                               \
        sw_status_name((scene)->error.code), sw_reason_name((scene)->error.reason), (scene)->error.message)
#define expect_ok(scene)                                                                                     \
    cr_assert((scene)->error.code == SW_OK, "expected OK, got %s / %s: %s",                                  \
              sw_status_name((scene)->error.code), sw_reason_name((scene)->error.reason),                    \
              (scene)->error.message)
#define expect_metadata(scene, key, value)                                                                   \
    cr_assert(sw_error_metadata(&(scene)->error, key) &&                                                     \
                  !strcmp(sw_error_metadata(&(scene)->error, key), value),                                   \
              "metadata %s: expected %s, got %s", key, value,                                                \
              sw_error_metadata(&(scene)->error, key) ? sw_error_metadata(&(scene)->error, key) : "none")
/* The message is a sentence that names all of these. */
#define expect_words(scene, ...)                                                                             \
    for (const char *const *word = (const char *const[]){__VA_ARGS__, NULL}; *word; word++)                  \
    cr_assert(strstr((scene)->error.message, *word), "no \"%s\" in: %s", *word, (scene)->error.message)

#endif
