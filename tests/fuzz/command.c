/* What the command reads: JSON of metrics, base64, and words of its command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base64.h"
#include "client/cli/json_read.h"
#include "client/cli/json_write.h"
#include "client/cli/parse.h"
#include "proto/base/limits.h"
#include "proto/wire/value_codec.h"
#include "tests/fuzz/common/fuzz.h"

struct text {
    char *data;
    size_t size;
};

static struct text line_of_get(const sw_value *metrics) {
    struct text text = {0};
    FILE *out = open_memstream(&text.data, &text.size);
    HOLDS(out);
    fputs("{\"metrics\":", out);
    json_write_value(out, metrics);
    fputc('}', out);
    fclose(out);
    return text;
}

/* Either it is said what is wrong with the value, or it can be published. */
static void may_be_published(const sw_value *metrics) {
    sw_buffer *bytes;
    sw_error error = {0};
    sw_status status = metrics_encode(metrics, false, &bytes, NULL, &error);
    if (status == SW_OK)
        sw_buffer_unref(bytes);
    else
        fuzz_refused(status, &error);
}

static bool read_json(const char *text, size_t size, bool from_get, struct arena *arena,
                      const sw_value **ret) {
    sw_error error = {0};
    sw_status status = json_read_metrics(text, size, from_get, arena, ret, &error);
    if (status != SW_OK) HOLDS(status == SW_INVALID_ARGUMENT && error.message[0]);
    return status == SW_OK;
}

/* A line of `get` is written again as itself. */
static void take_json(const uint8_t *data, size_t size, bool from_get) {
    const sw_value *metrics, *again;
    struct arena arena;
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
    if (read_json((const char *)data, size, from_get, &arena, &metrics)) {
        may_be_published(metrics);
        struct text once = line_of_get(metrics);
        if (from_get) {
            HOLDS(read_json(once.data, once.size, true, &arena, &again));
            struct text twice = line_of_get(again);
            HOLDS(strcmp(once.data, twice.data) == 0);
            free(twice.data);
        }
        free(once.data);
    }
    arena_destroy(&arena);
}

static void take_base64(const uint8_t *text, size_t size) {
    struct text again = {0};
    size_t decoded;
    void *data = malloc(size / 4 * 3 + 1);
    HOLDS(data);
    if (base64_read((const char *)text, size, data, &decoded)) {
        HOLDS(decoded <= size / 4 * 3);
        FILE *out = open_memstream(&again.data, &again.size);
        HOLDS(out);
        base64_write(out, data, decoded);
        fclose(out);
        HOLDS(again.size == size && memcmp(again.data, text, size) == 0);
        free(again.data);
    }
    free(data);
}

static void take_word(const uint8_t *data, size_t size) {
    uint64_t number = 0;
    int64_t duration = 0;
    char *word = fuzz_string(data, size);
    if (parse_number(word, UINT32_MAX, &number)) HOLDS(number <= UINT32_MAX);
    if (parse_duration_ms(word, &duration)) HOLDS(duration > 0 && duration <= PARSE_DURATION_MAX_MS);
    free(word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    switch (data[0] % 4) {
    case 0:
        take_json(data + 1, size - 1, false);
        break;
    case 1:
        take_json(data + 1, size - 1, true);
        break;
    case 2:
        take_base64(data + 1, size - 1);
        break;
    case 3:
        take_word(data + 1, size - 1);
        break;
    }
    return 0;
}
