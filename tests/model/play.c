#include "tests/model/play.h"

#include "tests/model/reference.h"
#include "tests/model/store_target.h"

static struct outcome wanted, got;

static void count(struct seen *seen, const struct reply *reply) {
    if (reply->open)
        seen->open++;
    else if (reply->reason)
        seen->reasons[reply->reason]++;
    else if (reply->status == SW_OK)
        seen->ok++;
    else
        seen->other++;
}

static void count_all(struct seen *seen, const struct outcome *outcome) {
    seen->operations++;
    seen->notes += outcome->note_count;
    count(seen, &outcome->reply);
    for (int i = 0; i < outcome->note_count; i++)
        if (outcome->notes[i].kind != NOTE_INFO) count(seen, &outcome->notes[i].reply);
}

int play(const struct sequence *sequence, enum mutant mutant, struct seen *seen) {
    struct reference *reference = reference_create(&sequence->setting, mutant);
    struct store_target *target = store_target_create(&sequence->setting, sequence->seed);
    int differs = NO_DIFFERENCE;
    for (int i = 0; i < sequence->count && differs == NO_DIFFERENCE; i++) {
        reference_apply(reference, &sequence->operations[i], &wanted);
        store_target_apply(target, &sequence->operations[i], &got);
        if (seen) count_all(seen, &wanted);
        if (!outcome_equal(&wanted, &got)) differs = i;
        if (wanted.drained) break;
    }
    reference_destroy(reference);
    store_target_destroy(target);
    return differs;
}

void print_last(FILE *out) {
    fprintf(out, "   wanted   ");
    outcome_print(&wanted, &got, out);
    fprintf(out, "   got      ");
    outcome_print(&got, &wanted, out);
}

void sequence_print(const struct sequence *sequence, int until, FILE *out) {
    setting_print(&sequence->setting, out);
    for (int i = 0; i < until; i++) {
        fprintf(out, "   %3d  ", i);
        operation_print(&sequence->operations[i], out);
    }
}

static void remove_some(const struct sequence *from, int at, int count_removed, struct sequence *ret) {
    ret->seed = from->seed;
    ret->setting = from->setting;
    ret->count = 0;
    for (int i = 0; i < from->count; i++)
        if (i < at || i >= at + count_removed) ret->operations[ret->count++] = from->operations[i];
}

int shrink(struct sequence *sequence, enum mutant mutant) {
    static struct sequence candidate;
    int differs = play(sequence, mutant, NULL);
    sequence->count = differs + 1;
    for (int size = sequence->count / 2; size > 0;) {
        bool smaller = false;
        for (int at = 0; at < sequence->count - 1; at += size) {
            remove_some(sequence, at, size, &candidate);
            differs = play(&candidate, mutant, NULL);
            if (differs == NO_DIFFERENCE) continue;
            candidate.count = differs + 1;
            *sequence = candidate;
            smaller = true;
        }
        if (!smaller || size > sequence->count) size /= 2;
    }
    return play(sequence, mutant, NULL);
}
