/* The reference broken once for each promise: each must be caught by some seed, or the sequences don't ask
 * for it. */
#ifndef STAGEWIRE_TESTS_MODEL_MUTANTS_H
#define STAGEWIRE_TESTS_MODEL_MUTANTS_H

#define MUTANT_MAP(X)                                                                                        \
    X(OTHER_IS_DUPLICATE, "other content is taken as a duplicate")                                           \
    X(CALL_IGNORED, "the call does not count for order")                                                     \
    X(DIGESTS_GO, "digests go with the item")                                                                \
    X(PUBLISH_AFTER_CLOSE, "publishing goes on after a close")                                               \
    X(KEEPS_ONE_MORE, "one step more is kept")                                                               \
    X(RELEASES_ITSELF, "releasing below n releases n too")                                                   \
    X(RELEASE_GOES_BACK, "a release can be taken back")                                                      \
    X(DROPPED_EARLY, "consumers are dropped a step early")                                                   \
    X(DROPPED_STILL_HOLDS, "a dropped consumer still holds")                                                 \
    X(NEEDED_IS_EVICTED, "room is made from what is needed")                                                 \
    X(NEWEST_FIRST, "the newest goes first")                                                                 \
    X(REFUSED_HAS_EVICTED, "a refused publish has evicted")                                                  \
    X(BROKEN_KEEPS_PLACE, "a broken publish keeps its place")                                                \
    X(OPEN_RESERVES_NOTHING, "an open publish reserves nothing")                                             \
    X(BROKEN_IS_COMMITTED, "a broken publish is committed")                                                  \
    X(ITEMS_SURVIVE_GENERATION, "a new generation keeps the items")                                          \
    X(OTHER_GENERATION_ANSWERS, "a generation to come is answered from the current one")                     \
    X(STALE_ATTACH, "a stale attach is taken")                                                               \
    X(LOSS_STAYS, "a re-attach doesn't end the loss")                                                        \
    X(GRACE_RUNS_ON, "a re-attach doesn't stop the grace")                                                   \
    X(ONE_BREAK_IS_LOSS, "one break of several is a loss")                                                   \
    X(UNKNOWN_NOT_LOST, "unknown channels aren't lost")                                                      \
    X(LAST_DECLARATION, "the last declaration stands")                                                       \
    X(LATEST_FAILED, "latest returns failures")                                                              \
    X(SKIPPED_IS_EVICTED, "a skipped step is evicted")                                                       \
    X(FINISHED_FIRST, "finished before evicted")                                                             \
    X(PIN_HOLDS_NOTHING, "a pin holds nothing")                                                              \
    X(PIN_NEVER_ENDS, "a pin never ends")                                                                    \
    X(PIN_ENDS_IN_STREAM, "a pin ends while its stream goes on")                                             \
    X(PINNED_WITHOUT_LIMIT, "pins keep more than pinned_bytes")                                              \
    X(WORD_KEEPS_PIN, "a pin stands although all who streamed have ended it")                                \
    X(RELEASE_ENDS_PIN, "a pin ends with a release that says nothing of pins")                               \
    X(OBSERVER_LOSES_PIN, "a pin ends although an observer streamed")                                        \
    X(CONSUMER_LOSES_PIN, "a pin ends although a consumer that streamed has yet to end it")                  \
    X(DRAIN_BEFORE_LOST, "shutting down before lost")                                                        \
    X(DRAIN_PUBLISHES, "a drain lets publishes in")                                                          \
    X(DRAIN_HANGS, "a drain lets waits hang")                                                                \
    X(WORD_MAY_CHANGE, "a stage may change its word")                                                        \
    X(TWO_OWNERS, "two owners have a value")                                                                 \
    X(MEETING_OUTWAITS, "a meeting outwaits a lost stage")                                                   \
    X(MEETINGS_STAY, "old meetings are kept")                                                                \
    X(WATCH_HIDES_GAPS, "a watch hides gaps")                                                                \
    X(WATCH_REPEATS, "a watch repeats what it had")                                                          \
    X(FAILURE_AS_ITEM, "a watcher isn't told of failures")                                                   \
    X(LOSS_UNTOLD, "a watcher isn't told of losses")                                                         \
    X(CLOSING_UNTOLD, "a watcher isn't told of closings")                                                    \
    X(GENERATION_UNTOLD, "a watcher isn't told of generations")                                              \
    X(CLOSE_TWICE, "a second closing replaces the first")                                                    \
    X(ALL_SPARES_UNKNOWN, "closing all spares channels never seen")                                          \
    X(FIRST_STAGE_ANSWERS, "an ambiguous stage is answered by the first")                                    \
    X(GUEST_BEGINS, "whoever may not publish begins a generation")                                           \
    X(NEXT_STEP_IGNORED, "next_step is ignored")                                                             \
    X(REFUSED_ATTACH_DECLARES, "a refused attach has declared")                                              \
    X(STAGE_UNFILTERED, "a watch is told of stages that it didn't ask for")                                  \
    X(FIRST_WORDS_LOST, "words for the first generation are lost in it")                                     \
    X(VALUE_IS_FREE, "an object's value takes no room")

enum mutant {
    MUTANT_NONE,
#define MUTANT_ENUM(name, what) MUTANT_##name,
    MUTANT_MAP(MUTANT_ENUM)
#undef MUTANT_ENUM
        MUTANT_COUNT
};

#endif
