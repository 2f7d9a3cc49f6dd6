#include <string.h>

#include "tests/model/reference_state.h"

static bool is_same_policy(const struct policy *a, const struct policy *b) {
    return a->keep == b->keep && a->lag == b->lag &&
           memcmp(a->consumers, b->consumers, sizeof a->consumers) == 0;
}

static bool policies_conflict(const struct reference *r, const struct operation *o) {
    for (int i = 0; i < o->policy_count; i++) {
        const struct policy *p = &o->policies[i];
        int channel = ref_channel_find(r, o->stage, o->group, p->name, p->kind);
        if (channel == NONE || !r->channels[channel].declared) continue;
        if (!is_same_policy(&r->channels[channel].policy, p)) return true;
    }
    return false;
}

static void declare(struct reference *r, const struct operation *o, const struct policy *p) {
    int channel = ref_channel_get(r, o->stage, o->group, p->name, p->kind);
    struct channel *c = &r->channels[channel];
    if (p->next > c->next_step) c->next_step = p->next;
    if (c->declared && !is_broken(r, MUTANT_LAST_DECLARATION)) return;
    c->declared = true;
    c->policy = *p;
    memset(c->below, 0, sizeof c->below);
    ref_channel_trim(r, channel);
}

static void grant(struct reference *r, struct lease *lease) {
    lease->held = true;
    lease->pending = false;
    lease->generation = r->generation;
    struct stage *s = ref_stage_get(r, lease->stage, lease->group);
    if (!is_broken(r, MUTANT_GRACE_RUNS_ON)) s->lost_at = REFERENCE_NEVER;
    if (!is_broken(r, MUTANT_LOSS_STAYS)) s->lost = false;
}

static struct reply attach_as_guest(struct reference *r, struct lease lease) {
    lease.pending = true;
    r->leases[r->lease_count] = lease;
    if (!r->generation || lease.generation > r->generation) {
        r->lease_count++;
        return reply_open();
    }
    grant(r, &r->leases[r->lease_count++]);
    return reply_ok("generation %llu", (unsigned long long)r->generation);
}

static bool too_many_are_held(const struct reference *r) {
    uint32_t held = 0;
    for (int i = 0; i < r->lease_count; i++) held += r->leases[i].held || r->leases[i].pending;
    return held == r->setting.max_leases;
}

struct reply ref_attach(struct reference *r, const struct operation *o) {
    if (o->other_run) return reply_refused(SW_REASON_RUN_MISMATCH, "%s", "");
    if (r->draining) return reply_refused(SW_REASON_SHUTTING_DOWN, "%s", "");
    if (o->generation && o->generation < r->generation && !is_broken(r, MUTANT_STALE_ATTACH))
        return reply_refused(SW_REASON_STALE_GENERATION, "generation=%llu",
                             (unsigned long long)r->generation);
    struct lease lease = {
        .handle = o->handle,
        .generation = o->generation ? o->generation : r->generation,
        .stage = o->stage,
        .group = o->group,
        .stage_count = o->stage_count,
    };
    if (o->guest && o->policy_count) return (struct reply){.status = SW_PERMISSION_DENIED};
    if (too_many_are_held(r)) return reply_refused(SW_REASON_LIMIT, "limit=leases");
    if (o->guest && !is_broken(r, MUTANT_GUEST_BEGINS)) return attach_as_guest(r, lease);
    uint64_t generation = lease.generation ? lease.generation : 1;
    if (generation == r->generation && policies_conflict(r, o)) {
        for (int i = 0; is_broken(r, MUTANT_REFUSED_ATTACH_DECLARES) && i < o->policy_count; i++)
            declare(r, o, &o->policies[i]);
        return reply_refused(SW_REASON_POLICY_CONFLICT, "%s", "");
    }
    if (generation > r->generation) ref_begin_generation(r, generation);
    for (int i = 0; i < o->policy_count; i++) declare(r, o, &o->policies[i]);
    r->leases[r->lease_count] = lease;
    grant(r, &r->leases[r->lease_count++]);
    return reply_ok("generation %llu", (unsigned long long)r->generation);
}

static bool has_lease(const struct reference *r, uint32_t stage, uint32_t group) {
    for (int i = 0; i < r->lease_count; i++) {
        const struct lease *lease = &r->leases[i];
        if (lease->held && lease->stage == stage && lease->group == group) return true;
    }
    return false;
}

void ref_detach(struct reference *r, int handle) {
    for (int i = 0; i < r->lease_count; i++) {
        struct lease *lease = &r->leases[i];
        if (lease->handle != handle) continue;
        lease->pending = false;
        if (!lease->held) continue;
        lease->held = false;
        if (!has_lease(r, lease->stage, lease->group) || is_broken(r, MUTANT_ONE_BREAK_IS_LOSS))
            ref_stage_get(r, lease->stage, lease->group)->lost_at = r->now + r->setting.grace_ms;
    }
}

void ref_end_graces(struct reference *r) {
    for (int i = 0; i < r->stage_count; i++) {
        struct stage *s = &r->stages[i];
        if (s->generation != r->generation || s->lost_at == REFERENCE_NEVER || s->lost_at > r->now) continue;
        s->lost_at = REFERENCE_NEVER;
        s->lost = true;
        ref_watch_stage_lost(r, s->stage, s->group);
    }
}

static void end_lease(struct reference *r, struct lease *lease, sw_reason reason) {
    lease->held = lease->pending = false;
    struct note *note = outcome_note(r->outcome, lease->handle, NOTE_LEASE_ENDED, 0, r->now);
    note->reply = reply_refused(reason, "%s", "");
    if (reason == SW_REASON_STALE_GENERATION)
        reply_add(&note->reply, "generation=%llu", (unsigned long long)r->generation);
}

void ref_end_pending_leases(struct reference *r, sw_reason reason) {
    for (int i = 0; i < r->lease_count; i++)
        if (r->leases[i].pending) end_lease(r, &r->leases[i], reason);
}

static void pass_leases_on(struct reference *r) {
    for (int i = 0; i < r->lease_count; i++) {
        struct lease *lease = &r->leases[i];
        bool stale = lease->generation && lease->generation < r->generation;
        if (lease->held || (lease->pending && stale)) {
            end_lease(r, lease, SW_REASON_STALE_GENERATION);
        } else if (lease->pending && lease->generation <= r->generation) {
            struct note *note = outcome_note(r->outcome, lease->handle, NOTE_GRANTED, 0, r->now);
            note->reply = reply_ok("generation %llu", (unsigned long long)r->generation);
            grant(r, lease);
        }
    }
}

void ref_begin_generation(struct reference *r, uint64_t generation) {
    uint64_t before = r->generation;
    r->generation = generation;
    ref_end_publishes(r, ALL_CHANNELS, SW_REASON_STALE_GENERATION);
    for (int i = 0; i < r->item_count; i++)
        if (!is_broken(r, MUTANT_ITEMS_SURVIVE_GENERATION)) ref_item_goes(r, i);
    for (int i = 0; i < r->channel_count; i++)
        if (is_broken(r, MUTANT_ITEMS_SURVIVE_GENERATION)) r->channels[i].generation = generation;
    ref_bound_pinned(r);
    pass_leases_on(r);
    ref_adopt_meetings(r);
    if (before) ref_watch_generation_begun(r);
}
