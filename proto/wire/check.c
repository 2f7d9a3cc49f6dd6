#include "proto/wire/check.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "proto/base/limits.h"
#include "proto/base/utf8.h"

static const char channel_rule[] = "a channel's name is 1 to 128 bytes of A-Z a-z 0-9 . _ - /";

static bool allowed_in_channel(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("._-/", c));
}

sw_status check_channel(const char *channel, const struct path *path, sw_error *error) {
    size_t size = channel ? strlen(channel) : 0;
    if (size == 0) return malformed(error, path, "is empty; %s", channel_rule);
    if (size > SW_CHANNEL_MAX) return malformed(error, path, "is %zu bytes long; %s", size, channel_rule);
    for (size_t i = 0; i < size; i++) {
        if (!allowed_in_channel(channel[i]))
            return malformed(error, path, "is \"%s\", which has a character that may not be there; %s",
                             channel, channel_rule);
    }
    return SW_OK;
}

sw_status check_text(const char *text, size_t least, size_t most, const char *what, const struct path *path,
                     sw_error *error) {
    size_t size = text ? strlen(text) : 0;
    if (size < least)
        return malformed(error, path, "is empty; %s is %zu to %zu bytes of UTF-8", what, least, most);
    if (size > most)
        return malformed(error, path, "is %zu bytes long; %s is at most %zu bytes of UTF-8", size, what,
                         most);
    if (!utf8_valid(text, size)) return malformed(error, path, "is not UTF-8");
    return SW_OK;
}

sw_status check_run_id(const char *run_id, const struct path *path, sw_error *error) {
    return check_text(run_id, 0, SW_RUN_ID_MAX, "a run's name", path, error);
}

sw_status check_kind(int kind, const struct path *path, sw_error *error) {
    if (kind == 0) return malformed(error, path, "is not set; it is METRICS, TENSORS or OBJECT");
    if (kind < SW_METRICS || kind > SW_OBJECT)
        return malformed(error, path, "is %d, which this version does not know", kind);
    return SW_OK;
}

sw_status check_stage_count(uint32_t stage, uint32_t stage_count, const struct path *stage_path,
                            const struct path *count_path, sw_error *error) {
    if (stage_count == 0) return malformed(error, count_path, "is 0; it says how many stages there are");
    if (stage_count > LIMIT_STAGE_COUNT)
        return malformed(error, count_path, "is %" PRIu32 "; at most %u stages can be", stage_count,
                         LIMIT_STAGE_COUNT);
    if (stage >= stage_count)
        return malformed(error, stage_path, "is %" PRIu32 " of %" PRIu32 " stages; they are numbered from 0",
                         stage, stage_count);
    return SW_OK;
}

sw_status check_address(const sw_address *address, unsigned needs, const struct path *path, sw_error *error) {
    struct path run_id = path_field(path, "run_id"), channel = path_field(path, "channel");
    struct path stage = path_field(path, "stage"), step = path_field(path, "step");
    struct path generation = path_field(path, "generation");
    bool has_channel = address->channel && address->channel[0];
    sw_status status = check_run_id(address->run_id, &run_id, error);
    if (status == SW_OK && (has_channel || (needs & CHECK_CHANNEL)))
        status = check_channel(address->channel, &channel, error);
    if (status != SW_OK) return status;
    if ((needs & CHECK_STAGE) && !address->has_stage)
        return malformed(error, &stage, "is not set; this request must name the stage");
    if ((needs & CHECK_GENERATION) && address->generation == 0)
        return malformed(error, &generation, "is 0; here it must be that of an item");
    if ((needs & CHECK_STEP) && address->step > SW_STEP_MAX)
        return malformed(error, &step, "is %" PRIu64 "; the largest step is 2^63-1", address->step);
    return SW_OK;
}
