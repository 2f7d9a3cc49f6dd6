/* Values: what is understood is what protobuf-c understands too, and goes out and comes in again as it was.
 */
#include <string.h>

#include <stagewire/v1/stage.pb-c.h>

#include "proto/base/limits.h"
#include "proto/wire/value_codec.h"
#include "tests/fuzz/common/fuzz.h"

struct codec {
    sw_status (*decode)(const void *, size_t, struct arena *, const sw_value **, sw_error *);
    sw_status (*encode)(const sw_value *, bool, sw_buffer **, struct digest *, sw_error *);
    const ProtobufCMessageDescriptor *descriptor;
};

static void understood(const struct codec *codec, const sw_value *value, struct arena *arena) {
    const sw_value *again;
    sw_buffer *bytes, *bytes_again;
    struct digest digest, digest_again;
    HOLDS(codec->encode(value, true, &bytes, &digest, NULL) == SW_OK);
    HOLDS(codec->decode(sw_buffer_data(bytes), sw_buffer_size(bytes), arena, &again, NULL) == SW_OK);
    HOLDS(value_same(value, again));
    HOLDS(digest_equal(digest, value_digest(value)));
    HOLDS(codec->encode(again, true, &bytes_again, &digest_again, NULL) == SW_OK);
    HOLDS(digest_equal(digest, digest_again));
    HOLDS(fuzz_same_bytes(bytes, bytes_again));
    sw_buffer_unref(bytes);
    sw_buffer_unref(bytes_again);
}

static void protobuf_c_agrees(const struct codec *codec, const uint8_t *data, size_t size) {
    ProtobufCMessage *message = protobuf_c_message_unpack(codec->descriptor, NULL, size, data);
    HOLDS(message);
    protobuf_c_message_free_unpacked(message, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct codec codecs[] = {
        {metrics_decode, metrics_encode, &stagewire__v1__loss_metrics__descriptor},
        {value_decode, value_encode, &stagewire__v1__value__descriptor},
    };
    if (size == 0) return 0;
    const struct codec *codec = &codecs[data[0] & 1];
    const sw_value *value;
    struct arena arena;
    sw_error error = {0};
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
    sw_status status = codec->decode(data + 1, size - 1, &arena, &value, &error);
    if (status == SW_OK) {
        understood(codec, value, &arena);
        protobuf_c_agrees(codec, data + 1, size - 1);
    } else {
        fuzz_refused(status, &error);
    }
    arena_destroy(&arena);
    return 0;
}
