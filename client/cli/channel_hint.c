#include "client/cli/channel_hint.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/messages.h"
#include "client/cli/nearest.h"
#include "proto/base/error.h"

#define PATIENCE_MS 2000

/* Names of that kind; the caller frees the array. */
static const char **channels_of(const sw_info *info, sw_item_kind kind, size_t *ret_count) {
    const char **names = calloc(info->channel_count + 1, sizeof *names);
    size_t count = 0;
    for (uint32_t i = 0; names && i < info->channel_count; i++)
        if (info->channels[i].kind == kind) names[count++] = info->channels[i].latest.channel;
    *ret_count = count;
    return names;
}

static bool is_among(const char *name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static void look(const struct options *options, const sw_info *info, sw_item_kind kind) {
    size_t count;
    const char *channel = options->address.channel, **names = channels_of(info, kind, &count);
    if (!names) return;
    const char *meant = nearest(channel, names, count);
    if (!is_among(channel, names, count) && meant)
        messages_say(options->who, EXIT_OK, "there is no channel \"%s\" for %s yet; did you mean \"%s\"?",
                     channel, item_kind_name(kind), meant);
    else if (!is_among(channel, names, count))
        messages_say(options->who, EXIT_OK,
                     "there is no channel \"%s\" for %s yet; 'stagewire info' lists those "
                     "that there are",
                     channel, item_kind_name(kind));
    free(names);
}

enum cli_exit channel_hint_error(const struct options *options, sw_client *client, sw_item_kind kind,
                                 const sw_error *error) {
    enum cli_exit code = messages_error(options->who, error);
    sw_info *info;
    if (error->reason != SW_REASON_NOT_YET) return code;
    if (sw_client_info(client, PATIENCE_MS, &info, NULL) != SW_OK) return code;
    look(options, info, kind);
    sw_info_destroy(info);
    return code;
}
