#include "tests/model/operation.h"

#include <inttypes.h>

#include "proto/base/error.h"

const char *const channel_names[] = {"train", "aux", "obj", "never"};
const char *const consumer_names[] = {"c0", "c1", "who"};
const char *const messages[] = {"boom", "nan", "why"};
const struct filter filters[] = {
    {.count = 0, .text = "all"},
    {{{"train", ANYTHING, ANYTHING}}, 1, "train"},
    {{{"t*", ANYTHING, ANYTHING}}, 1, "t*"},
    {{{NULL, OWN_STAGE, 0}}, 1, "all of stage 3, group 0"},
    {{{"*", 2, ANYTHING}, {"aux", ANYTHING, 0}}, 2, "all of stage 2, and aux of group 0"},
    {{{"train", 2, 1}, {"train", OWN_STAGE, ANYTHING}}, 2, "train of stage 2, group 1, and of stage 3"},
};

static const char *const type_names[OPERATION_TYPES] = {
    [OP_PUBLISH] = "publish",   [OP_FAIL] = "fail",       [OP_OPEN] = "open",     [OP_COMMIT] = "commit",
    [OP_BREAK] = "break",       [OP_CLOSE] = "close",     [OP_ATTACH] = "attach", [OP_DETACH] = "detach",
    [OP_RELEASE] = "release",   [OP_PULL] = "pull",       [OP_FINISH] = "finish", [OP_CANCEL] = "cancel",
    [OP_EXCHANGE] = "exchange", [OP_WATCH] = "watch",     [OP_READ] = "read",     [OP_UNWATCH] = "unwatch",
    [OP_INFO] = "info",         [OP_ADVANCE] = "advance", [OP_DRAIN] = "drain",
};

const char *operation_name(enum operation_type type) {
    return type_names[type];
}

static const char *const kind_names[] = {"", "metrics", "tensors", "object"};

void setting_print(const struct setting *s, FILE *out) {
    fprintf(out,
            "endpoint generation %" PRIu64 ", keep %u, keep_tensors %u, max_lag %u, store %" PRIu64
            ", metrics %" PRIu64 ", pinned %" PRIu64 ", grace %" PRId64 " ms, drain_grace %" PRId64
            " ms, max_wait %" PRId64 " ms, pin %" PRId64
            " ms, at most %u waiters, %u watches, %u publishes, %u leases%s\n",
            s->generation, s->keep, s->keep_tensors, s->lag, s->store_bytes, s->metrics_bytes,
            s->pinned_bytes, s->grace_ms, s->drain_grace_ms, s->max_wait_ms, s->pin_ms, s->max_waiters,
            s->max_watches, s->max_publishes, s->max_leases,
            s->memory_fails ? ", memory fails now and then" : "");
}

static void address_print(const struct operation *o, FILE *out) {
    if (o->other_run) fprintf(out, " of another run");
    if (o->generation) fprintf(out, " generation %" PRIu64, o->generation);
    if (o->has_stage) fprintf(out, " stage %u", o->stage);
    if (o->group) fprintf(out, " group %u", o->group);
}

static void item_print(const struct operation *o, FILE *out) {
    fprintf(out, " %s %s %" PRIu64 "/%u", kind_names[o->kind], channel_names[o->name], o->step, o->call);
    address_print(o, out);
}

static void policy_print(const struct policy *p, FILE *out) {
    fprintf(out, "\n        policy %s %s keep %u lag %u next %" PRIu64 " consumers", kind_names[p->kind],
            channel_names[p->name], p->keep, p->lag, p->next);
    for (int i = 0; i < CONSUMERS; i++)
        if (p->consumers[i]) fprintf(out, " %s", consumer_names[i]);
}

static void attach_print(const struct operation *o, FILE *out) {
    fprintf(out, " #%d stage %u of %u group %u generation %" PRIu64 "%s%s", o->handle, o->stage,
            o->stage_count, o->group, o->generation, o->other_run ? " of another run" : "",
            o->guest ? " as one who may not publish" : "");
    for (int i = 0; i < o->policy_count; i++) policy_print(&o->policies[i], out);
}

static void wait_print(const struct operation *o, FILE *out) {
    if (o->no_wait)
        fprintf(out, " no_wait");
    else if (o->wait_ms)
        fprintf(out, " wait %" PRId64, o->wait_ms);
}

static void pull_print(const struct operation *o, FILE *out) {
    static const char *const wants[] = {"", " a tensor that isn't there", " a block outside"};
    fprintf(out, " #%d", o->handle);
    item_print(o, out);
    if (o->latest) fprintf(out, " latest");
    wait_print(o, out);
    if (o->consumer != NOBODY)
        fprintf(out, " consumer %s below %" PRIu64 "%s", consumer_names[o->consumer], o->below,
                o->ends_pins ? " ends pins" : "");
    fprintf(out, "%s%s", wants[o->want], o->keep_open ? " keep open" : "");
    if (o->of >= 0) fprintf(out, " pin of #%d", o->of);
    if (o->of == UNKNOWN_PIN) fprintf(out, " unknown pin");
}

static void exchange_print(const struct operation *o, FILE *out) {
    fprintf(out, " #%d", o->handle);
    item_print(o, out);
    fprintf(out, " of %u", o->stage_count);
    if (o->present)
        fprintf(out, " has %u, %" PRIu64 " bytes", o->value, o->size);
    else
        fprintf(out, " has none");
    wait_print(o, out);
}

static void watch_print(const struct operation *o, FILE *out) {
    static const char *const starts[] = {"", "new", "oldest held", "positions"};
    fprintf(out, " #%d %s%s of %s%s", o->handle, starts[o->start], o->lags ? " lagging" : "",
            filters[o->filter].text, o->other_run ? " of another run" : "");
    for (int i = 0; i < o->position_count; i++)
        fprintf(out, " %s from %" PRIu64 "/%u of generation %" PRIu64, channel_names[o->positions[i].name],
                o->positions[i].step, o->positions[i].call, o->positions[i].generation);
}

void operation_print(const struct operation *o, FILE *out) {
    fprintf(out, "%s", type_names[o->type]);
    switch (o->type) {
    case OP_PUBLISH:
        item_print(o, out);
        fprintf(out, " = %u, %" PRIu64 " bytes", o->value, o->size);
        break;
    case OP_OPEN:
        fprintf(out, " #%d", o->handle);
        item_print(o, out);
        fprintf(out, " = %u, %" PRIu64 " bytes", o->value, o->size);
        break;
    case OP_FAIL:
        item_print(o, out);
        fprintf(out, ": %s", messages[o->message]);
        break;
    case OP_CLOSE:
        if (o->all)
            fprintf(out, " all");
        else
            fprintf(out, " %s %s", kind_names[o->kind], channel_names[o->name]);
        address_print(o, out);
        fprintf(out, " %s: %s", o->reason == SW_CLOSE_FINISHED ? "finished" : "aborted",
                messages[o->message]);
        break;
    case OP_RELEASE:
        fprintf(out, " %s %s", kind_names[o->kind], channel_names[o->name]);
        address_print(o, out);
        fprintf(out, " by %s%s below %" PRIu64, consumer_names[o->consumer], o->both ? " and c0" : "",
                o->below);
        break;
    case OP_ATTACH:
        attach_print(o, out);
        break;
    case OP_PULL:
        pull_print(o, out);
        break;
    case OP_EXCHANGE:
        exchange_print(o, out);
        break;
    case OP_WATCH:
        watch_print(o, out);
        break;
    case OP_ADVANCE:
        fprintf(out, " %" PRId64 " ms", o->advance_ms);
        break;
    case OP_DRAIN:
    case OP_INFO:
        break;
    default:
        fprintf(out, " #%d", o->of);
    }
    fputc('\n', out);
}
