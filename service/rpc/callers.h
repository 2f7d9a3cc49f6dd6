/* Who has how many calls open: one that opens calls without end takes its own share, and not that of all
 * others. A caller is named by its identity, or by its address where it has none. On the loop's thread. */
#ifndef STAGEWIRE_SERVICE_CALLERS_H
#define STAGEWIRE_SERVICE_CALLERS_H

#include <stdint.h>

#include <stagewire/status.h>

#include "service/store/table.h"

struct callers {
    struct table by_name;
    uint32_t max_calls;
};

/* Lives as long as it has a call. */
struct caller {
    struct table_node node;
    uint32_t calls;
    char name[];
};

void callers_init(struct callers *callers, uint32_t max_calls);
void callers_destroy(struct callers *callers); /* when no call is left */

/* One call more. RESOURCE_EXHAUSTED / LIMIT: "calls", or "memory". */
sw_status callers_enter(struct callers *callers, const char *name, struct caller **ret, sw_error *error);
void callers_leave(struct callers *callers, struct caller *caller); /* takes NULL */

#endif
