/* Leases: a trainer attaches for its (stage, group), and what it holds open is the lease. When the last one
 * of a (stage, group) breaks, there is the publisher grace to come back; then it is lost until somebody
 * attaches. */
#include "service/store/internal.h"
#include "service/store/words.h"

static struct subject subject_of(const struct store *store, const sw_attachment *request) {
    sw_address address = {
        .run_id = request->run_id,
        .generation = request->generation ? request->generation : store->generation,
        .has_stage = true,
        .stage = request->stage,
        .group = request->group,
        .channel = "",
    };
    return (struct subject){.address = address, .about = ABOUT_STAGE};
}

/* What it asks for, the current one if it asks for none. */
static uint64_t generation_of(const struct store *store, const sw_attachment *request) {
    if (request->generation != 0) return request->generation;
    return store->generation ? store->generation : 1;
}

static sw_status check(const struct store *store, const sw_attachment *request, bool may_publish,
                       sw_error *error) {
    struct subject subject = subject_of(store, request);
    if (store_is_other_run(store, request->run_id)) return say_other_run(store, &subject, error);
    if (store->draining) return say_shutting_down(&subject, error);
    if (generation_of(store, request) < store->generation) return say_stale(store, &subject, error);
    if (request->policy_count > 0 && !may_publish) return say_may_not_declare(&subject, error);
    bool unknown = !stage_find(store, request->stage, request->group);
    if (store->lease_count >= store->options.max_leases || (unknown && stage_table_full(store)))
        return say_limit(store, &subject, "leases", store->options.max_leases, error);
    return SW_OK;
}

static void grant(struct store *store, struct store_lease *lease) {
    struct store_stage *stage = lease->stage;
    lease->generation = store->generation;
    stage->stage_count = lease->request->stage_count;
    lease->request = NULL;
    list_append(&stage->leases, &lease->link);
    stage_find_again(store, stage);
}

static void await_generation(struct store *store, struct store_lease *lease) {
    lease->pending = true;
    lease->stage->holds++;
    list_append(&store->pending, &lease->link);
}

static void stop_awaiting(struct store_lease *lease) {
    lease->pending = false;
    lease->stage->holds--;
    list_remove(&lease->link);
}

sw_status store_attach(struct store *store, struct store_lease *lease, const sw_attachment *request,
                       bool may_publish, bool *ret_pending, sw_error *error) {
    lease->link = (struct list){NULL, NULL};
    sw_status status = check(store, request, may_publish, error);
    if (status != SW_OK) return status;
    uint64_t generation = generation_of(store, request);
    bool pending = generation > store->generation && !may_publish;
    struct declarations declarations;
    status = declarations_prepare(store, request, generation, &declarations, error);
    if (status != SW_OK) return status;
    struct store_stage *stage = stage_get(store, request->stage, request->group);
    if (!stage) {
        struct subject subject = subject_of(store, request);
        declarations_discard(store, &declarations);
        return say_no_memory(store, &subject, error);
    }
    stage->holds++; /* holds it while an older generation is cleared away */
    if (generation > store->generation && !pending) generation_begin(store, generation);
    declarations_apply(store, &declarations);
    stage->holds--;

    lease->stage = stage;
    lease->request = request;
    lease->pending = false;
    lease->generation = 0;
    store->lease_count++;
    if (pending)
        await_generation(store, lease);
    else
        grant(store, lease);
    *ret_pending = pending;
    return SW_OK;
}

void store_detach(struct store *store, struct store_lease *lease) {
    if (!list_linked(&lease->link)) return;
    struct store_stage *stage = lease->stage;
    store->lease_count--;
    if (lease->pending) {
        stop_awaiting(lease);
        stage_put(store, stage);
        return;
    }
    list_remove(&lease->link);
    if (!list_empty(&stage->leases)) return;
    int64_t over = clock_after(store_now(store), store->options.publisher_grace_ms);
    queue_put(&store->timers, &stage->grace, (uint64_t)over, TIMER_GRACE);
}

void lease_grace_over(struct store *store, struct store_stage *stage) {
    stage_lose(store, stage);
}

static void end(struct store *store, struct store_lease *lease, const sw_error *why) {
    if (lease->pending)
        stop_awaiting(lease);
    else
        list_remove(&lease->link);
    store->lease_count--;
    lease->ended(lease, why);
}

static void end_stale(struct store *store, struct store_lease *lease) {
    const struct store_stage *stage = lease->stage;
    struct subject subject = {.about = ABOUT_STAGE,
                              .address = {.stage = stage->number, .group = stage->group}};
    sw_error why;
    say_stale(store, &subject, &why);
    end(store, lease, &why);
}

void leases_supersede(struct store *store, struct store_stage *stage) {
    while (!list_empty(&stage->leases))
        end_stale(store, container_of(stage->leases.next, struct store_lease, link));
}

void leases_begin(struct store *store) {
    list_each_safe(node, &store->pending) {
        struct store_lease *lease = container_of(node, struct store_lease, link);
        struct store_stage *stage = lease->stage;
        uint64_t asked = lease->request->generation;
        if (asked > store->generation) continue;
        if (asked != 0 && asked < store->generation) {
            end_stale(store, lease);
            stage_put(store, stage);
            continue;
        }
        stop_awaiting(lease);
        grant(store, lease);
        lease->granted(lease);
    }
}

void leases_refuse_pending(struct store *store) {
    while (!list_empty(&store->pending)) {
        struct store_lease *lease = container_of(store->pending.next, struct store_lease, link);
        struct store_stage *stage = lease->stage;
        struct subject subject = subject_of(store, lease->request);
        sw_error why;
        say_shutting_down(&subject, &why);
        end(store, lease, &why);
        stage_put(store, stage);
    }
}
