#include "client/cli/show_info.h"

#include <inttypes.h>
#include <time.h>

#include "client/cli/json_write.h"
#include "client/cli/text_table.h"
#include "proto/base/error.h"

static const char *reason_name(sw_close_reason reason) {
    switch (reason) {
    case SW_CLOSE_FINISHED:
        return "FINISHED";
    case SW_CLOSE_ABORTED:
        return "ABORTED";
    case SW_CLOSE_PUBLISHER_LOST:
        return "PUBLISHER_LOST";
    case SW_CLOSE_SUPERSEDED:
        return "SUPERSEDED";
    default:
        return "UNKNOWN";
    }
}

static void add_pair(struct text_table *table, const char *name, uint64_t number) {
    text_table_add(table, "%s", name);
    text_table_add(table, "%" PRIu64, number);
}

static void add_budget(struct text_table *table, const char *name, uint64_t used, uint64_t limit) {
    text_table_add(table, "%s", name);
    text_table_add(table, "%" PRIu64 " of %" PRIu64 " bytes", used, limit);
}

static void add_words(struct text_table *table, const char *name, const char *const *words, uint32_t count) {
    struct text_table_cell cell;
    text_table_add(table, "%s", name);
    FILE *out = text_table_cell_open(&cell);
    if (count == 0) fputc('-', out);
    for (uint32_t i = 0; i < count; i++) fprintf(out, "%s%s", i ? " " : "", words[i]);
    text_table_cell_close(table, &cell);
}

static void add_caller(struct text_table *table, const sw_info *info) {
    if (!info->caller) return;
    text_table_add(table, "you are");
    text_table_add(table, "%s", info->caller);
    add_words(table, "you may", info->rights, info->right_count);
    add_words(table, "pull as", info->consumer_ids, info->consumer_id_count);
}

static void add_time(struct text_table *table, const char *name, int64_t unix_s) {
    char words[40];
    time_t time = (time_t)unix_s;
    struct tm parts;
    gmtime_r(&time, &parts);
    strftime(words, sizeof words, "%Y-%m-%d %H:%M:%S UTC", &parts);
    text_table_add(table, "%s", name);
    text_table_add(table, "%s", words);
}

static void add_security(struct text_table *table, const sw_security_info *security) {
    text_table_add(table, "TCP");
    text_table_add(table, "%s",
                   security->tls                  ? "mTLS"
                   : security->insecure_plaintext ? "plaintext, also beyond its machine: anyone can read"
                                                  : "plaintext, on its machine only");
    if (!security->tls) return;
    text_table_add(table, "certificate of");
    text_table_add(table, "%s, by %s", security->name, security->issuer);
    add_time(table, "it holds until", security->not_after_unix_s);
    add_time(table, "it is used since", security->taken_unix_s);
    if (!security->error[0]) return;
    text_table_add(table, "not taken");
    text_table_add(table, "%s", security->error);
    add_time(table, "files don't fit since", security->failed_unix_s);
}

static void add_hand_over(struct text_table *table, const sw_hand_over_info *hand_over) {
    text_table_add(table, "memory");
    text_table_add(table, "%s",
                   !hand_over->is_open ? "not handed over: no Unix socket; tensors go as chunks"
                   : hand_over->is_reached
                       ? "may be handed over, to and from this client too"
                       : "may be handed over on its Unix socket; to and from this client go chunks");
    if (!hand_over->is_open) return;
    text_table_add(table, "handed in, out");
    text_table_add(table, "%" PRIu64 ", %" PRIu64 " tensors; %" PRIu64 ", %" PRIu64 " bytes",
                   hand_over->tensors_in, hand_over->tensors_out, hand_over->bytes_in, hand_over->bytes_out);
}

static void put_endpoint(FILE *out, const char *endpoint, const sw_info *info) {
    struct text_table table;
    text_table_init(&table, 2, (const char *const[]){"endpoint", endpoint});
    text_table_add(&table, "run");
    text_table_add(&table, "%s", info->run_id);
    add_pair(&table, "generation", info->generation);
    text_table_add(&table, "version");
    text_table_add(&table, "%s", info->version);
    add_words(&table, "features", info->features, info->feature_count);
    text_table_add(&table, "incarnation");
    text_table_add(&table, "%016" PRIx64, info->incarnation);
    add_security(&table, &info->security);
    add_hand_over(&table, &info->hand_over);
    add_budget(&table, "tensors held", info->held_bytes, info->store_bytes);
    add_budget(&table, "metrics held", info->metrics_held_bytes, info->metrics_bytes);
    text_table_add(&table, "pinned");
    text_table_add(&table, "%" PRIu64 " bytes", info->pinned_bytes);
    add_pair(&table, "open calls", info->open_calls);
    add_pair(&table, "waiting", info->waiting);
    add_pair(&table, "streams", info->streams);
    add_pair(&table, "watches", info->watches);
    add_pair(&table, "open publishes", info->open_publishes);
    add_caller(&table, info);
    for (uint32_t i = 0; i < info->warning_count; i++) {
        text_table_add(&table, "warning");
        text_table_add(&table, "%s", info->warnings[i]);
    }
    text_table_print(&table, out);
    text_table_destroy(&table);
}

static void put_leases(FILE *out, const sw_info *info) {
    struct text_table table;
    text_table_init(&table, 4, (const char *const[]){"lease of stage", "group", "stages", "state"});
    for (uint32_t i = 0; i < info->lease_count; i++) {
        const sw_lease_info *lease = &info->leases[i];
        text_table_add(&table, "%" PRIu32, lease->stage);
        text_table_add(&table, "%" PRIu32, lease->group);
        text_table_add(&table, "%" PRIu32, lease->stage_count);
        text_table_add(&table, "%s", lease->lost ? "lost" : "attached");
    }
    text_table_print(&table, out);
    text_table_destroy(&table);
}

static void add_position(struct text_table *table, const sw_channel_info *channel,
                         const sw_address *position) {
    if (channel->has_items)
        text_table_add(table, "%" PRIu64 "/%" PRIu32, position->step, position->call);
    else
        text_table_add(table, "-");
}

/* "stage-0<8": it has released every step below 8. */
static void add_consumers(struct text_table *table, const sw_channel_info *channel) {
    struct text_table_cell cell;
    FILE *out = text_table_cell_open(&cell);
    if (channel->consumer_count == 0) fputc('-', out);
    for (uint32_t i = 0; i < channel->consumer_count; i++)
        fprintf(out, "%s%s<%" PRIu64, i ? " " : "", channel->consumers[i], channel->released_below[i]);
    text_table_cell_close(table, &cell);
}

static void put_channels(FILE *out, const sw_info *info) {
    struct text_table table;
    text_table_init(&table, 10,
                    (const char *const[]){"channel", "kind", "stage", "group", "items", "bytes", "oldest",
                                          "latest", "released", "state"});
    for (uint32_t i = 0; i < info->channel_count; i++) {
        const sw_channel_info *channel = &info->channels[i];
        text_table_add(&table, "%s", channel->latest.channel);
        text_table_add(&table, "%s", item_kind_name(channel->kind));
        text_table_add(&table, "%" PRIu32, channel->latest.stage);
        text_table_add(&table, "%" PRIu32, channel->latest.group);
        text_table_add(&table, "%" PRIu64, channel->items);
        text_table_add(&table, "%" PRIu64, channel->held_bytes);
        add_position(&table, channel, &channel->oldest);
        add_position(&table, channel, &channel->latest);
        add_consumers(&table, channel);
        text_table_add(&table, "%s", channel->is_closed ? reason_name(channel->closed_reason) : "open");
    }
    text_table_print(&table, out);
    text_table_destroy(&table);
}

void show_info_tables(FILE *out, const char *endpoint, const sw_info *info) {
    put_endpoint(out, endpoint, info);
    fputc('\n', out);
    put_leases(out, info);
    fputc('\n', out);
    put_channels(out, info);
}

static void put_strings_json(FILE *out, const char *const *items, uint32_t count) {
    fputc('[', out);
    for (uint32_t i = 0; i < count; i++) {
        if (i) fputs(", ", out);
        json_write_string(out, items[i]);
    }
    fputc(']', out);
}

static void put_lease_json(FILE *out, const sw_lease_info *lease) {
    fprintf(out,
            "{\"stage\": %" PRIu32 ", \"group\": %" PRIu32 ", \"stage_count\": %" PRIu32 ", \"lost\": %s}",
            lease->stage, lease->group, lease->stage_count, lease->lost ? "true" : "false");
}

static void put_position_json(FILE *out, const char *name, const sw_address *position) {
    fprintf(out, ", \"%s\": {\"step\": %" PRIu64 ", \"call\": %" PRIu32 "}", name, position->step,
            position->call);
}

static void put_consumers_json(FILE *out, const sw_channel_info *channel) {
    fputs(", \"consumers\": [", out);
    for (uint32_t i = 0; i < channel->consumer_count; i++) {
        fprintf(out, "%s{\"id\": ", i ? ", " : "");
        json_write_string(out, channel->consumers[i]);
        fprintf(out, ", \"released_below\": %" PRIu64 "}", channel->released_below[i]);
    }
    fputc(']', out);
}

static void put_channel_json(FILE *out, const sw_channel_info *channel) {
    fputs("{\"channel\": ", out);
    json_write_string(out, channel->latest.channel);
    fprintf(out,
            ", \"kind\": \"%s\", \"stage\": %" PRIu32 ", \"group\": %" PRIu32 ", \"items\": %" PRIu64
            ", \"bytes\": %" PRIu64,
            item_kind_name(channel->kind), channel->latest.stage, channel->latest.group, channel->items,
            channel->held_bytes);
    if (channel->has_items) {
        put_position_json(out, "oldest", &channel->oldest);
        put_position_json(out, "latest", &channel->latest);
    }
    put_consumers_json(out, channel);
    if (channel->is_closed) {
        fprintf(out, ", \"closed\": \"%s\", \"message\": ", reason_name(channel->closed_reason));
        json_write_string(out, channel->closed_message ? channel->closed_message : "");
    }
    fputc('}', out);
}

static void put_load_json(FILE *out, const sw_info *info) {
    fprintf(out,
            "\"store\": {\"held_bytes\": %" PRIu64 ", \"store_bytes\": %" PRIu64
            ", \"metrics_held_bytes\": %" PRIu64 ", \"metrics_bytes\": %" PRIu64 "}, ",
            info->held_bytes, info->store_bytes, info->metrics_held_bytes, info->metrics_bytes);
    fprintf(out,
            "\"load\": {\"open_calls\": %" PRIu64 ", \"waiting\": %" PRIu64 ", \"streams\": %" PRIu64
            ", \"watches\": %" PRIu64 ", \"open_publishes\": %" PRIu64 ", \"pinned_bytes\": %" PRIu64 "}",
            info->open_calls, info->waiting, info->streams, info->watches, info->open_publishes,
            info->pinned_bytes);
}

static void put_caller_json(FILE *out, const sw_info *info) {
    if (info->caller) {
        fputs(", \"caller\": {\"identity\": ", out);
        json_write_string(out, info->caller);
        fputs(", \"rights\": ", out);
        put_strings_json(out, info->rights, info->right_count);
        fputs(", \"consumer_ids\": ", out);
        put_strings_json(out, info->consumer_ids, info->consumer_id_count);
        fputc('}', out);
    }
    fputs(", \"warnings\": ", out);
    put_strings_json(out, info->warnings, info->warning_count);
}

static void put_text_json(FILE *out, const char *name, const char *text) {
    fprintf(out, ", \"%s\": ", name);
    json_write_string(out, text);
}

static void put_security_json(FILE *out, const sw_security_info *security) {
    fprintf(out, "\"security\": {\"tls\": %s, \"insecure_plaintext\": %s", security->tls ? "true" : "false",
            security->insecure_plaintext ? "true" : "false");
    if (security->tls) {
        put_text_json(out, "name", security->name);
        put_text_json(out, "issuer", security->issuer);
        put_text_json(out, "sha256", security->sha256);
        put_text_json(out, "error", security->error);
        fprintf(out,
                ", \"not_after_unix_s\": %" PRId64 ", \"taken_unix_s\": %" PRId64
                ", \"failed_unix_s\": %" PRId64 ", \"taken\": %" PRIu64 ", \"failed\": %" PRIu64,
                security->not_after_unix_s, security->taken_unix_s, security->failed_unix_s, security->taken,
                security->failed);
    }
    fputs("}, ", out);
}

static void put_hand_over_json(FILE *out, const sw_hand_over_info *hand_over) {
    fprintf(out,
            "\"hand_over\": {\"open\": %s, \"reached\": %s, \"connections\": %" PRIu64
            ", \"waiting\": %" PRIu64 ", \"tensors_in\": %" PRIu64 ", \"bytes_in\": %" PRIu64
            ", \"tensors_out\": %" PRIu64 ", \"bytes_out\": %" PRIu64 "}, ",
            hand_over->is_open ? "true" : "false", hand_over->is_reached ? "true" : "false",
            hand_over->connections, hand_over->waiting, hand_over->tensors_in, hand_over->bytes_in,
            hand_over->tensors_out, hand_over->bytes_out);
}

void show_info_json(FILE *out, const sw_info *info) {
    fputs("{\"run_id\": ", out);
    json_write_string(out, info->run_id);
    fprintf(out, ", \"generation\": %" PRIu64 ", \"version\": ", info->generation);
    json_write_string(out, info->version);
    fputs(", \"features\": ", out);
    put_strings_json(out, info->features, info->feature_count);
    fprintf(out, ", \"incarnation\": \"%016" PRIx64 "\", ", info->incarnation);
    put_security_json(out, &info->security);
    put_hand_over_json(out, &info->hand_over);
    put_load_json(out, info);
    put_caller_json(out, info);
    fputs(", \"leases\": [", out);
    for (uint32_t i = 0; i < info->lease_count; i++) {
        if (i) fputs(", ", out);
        put_lease_json(out, &info->leases[i]);
    }
    fputs("], \"channels\": [", out);
    for (uint32_t i = 0; i < info->channel_count; i++) {
        if (i) fputs(", ", out);
        put_channel_json(out, &info->channels[i]);
    }
    fputs("]}\n", out);
}
