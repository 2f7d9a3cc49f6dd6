/* Not for people: the shells' completions ask it. Whatever goes wrong here, nothing is offered. */
#include <string.h>

#include "client/cli/commands.h"
#include "client/cli/complete.h"
#include "client/cli/options.h"
#include "proto/base/error.h"

#define PATIENCE_MS 500 /* of somebody who pressed Tab */

static void offer_channels(sw_client *client, const struct complete_wish *wish) {
    sw_info *info;
    if (sw_client_info(client, PATIENCE_MS, &info, NULL) != SW_OK) return;
    for (uint32_t i = 0; i < info->channel_count; i++)
        complete_offer(stdout, wish->word, info->channels[i].latest.channel,
                       item_kind_name(info->channels[i].kind));
    sw_info_destroy(info);
}

static void offer_tensors(sw_client *client, const struct complete_wish *wish) {
    sw_tensors *tensors;
    sw_pull pull = {
        .address.channel = wish->channel, .latest = true, .no_wait = true, .timeout_ms = PATIENCE_MS};
    if (sw_client_get_manifest(client, &pull, &tensors, NULL) != SW_OK) return;
    for (uint32_t i = 0; i < sw_tensors_count(tensors); i++)
        complete_offer(stdout, wish->word, sw_tensors_name(tensors, i),
                       sw_dtype_name(sw_tensors_view(tensors, i)->dtype));
    sw_tensors_destroy(tensors);
}

enum cli_exit cmd_complete(int argc, char **argv) {
    struct complete_wish wish;
    sw_client *client;
    complete_words(argc - 1, argv + 1, stdout, &wish);
    if (wish.what == COMPLETE_NOTHING) return EXIT_OK;
    struct options options = {.who = argv[0], .endpoint = wish.endpoint, .timeout_ms = PATIENCE_MS};
    options_parse(&options_common, 1, argv, 0, &options); /* for what the environment says */
    if (options_connect(&options, &client) != EXIT_OK) return EXIT_OK;
    if (wish.what == COMPLETE_CHANNELS)
        offer_channels(client, &wish);
    else
        offer_tensors(client, &wish);
    sw_client_close(client);
    return EXIT_OK;
}
