#include <stagewire/status.h>

#include <string.h>

const char *sw_status_name(sw_status status) {
    switch (status) {
#define STATUS_NAME(name, number)                                                                            \
    case SW_##name:                                                                                          \
        return #name;
        SW_STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
    }
    return "UNKNOWN";
}

struct reason_row {
    const char *name;
    sw_status status;
    const char *meaning, *cause, *remedy;
};

static const struct reason_row reasons[SW_REASON_COUNT] = {
    {"", SW_UNKNOWN, "no reason of stagewire's", "the code says all there is", "see the code"},
#define REASON_ROW(name, code, meaning, cause, remedy) {#name, SW_##code, meaning, cause, remedy},
    SW_REASON_MAP(REASON_ROW)
#undef REASON_ROW
};

static const struct reason_row unknown = {"UNKNOWN", SW_UNKNOWN, "a reason that this version does not know",
                                          "the other side is of a newer version",
                                          "read the message; a newer version of this side knows it"};

static const struct reason_row *row_of(sw_reason reason) {
    return (unsigned)reason < SW_REASON_COUNT ? &reasons[reason] : &unknown;
}

const char *sw_reason_name(sw_reason reason) {
    return row_of(reason)->name;
}

sw_reason sw_reason_from_name(const char *name) {
    for (int i = 1; name && i < SW_REASON_COUNT; i++) {
        if (strcmp(reasons[i].name, name) == 0) return (sw_reason)i;
    }
    return SW_REASON_NONE;
}

sw_status sw_reason_status(sw_reason reason) {
    return row_of(reason)->status;
}

const char *sw_reason_meaning(sw_reason reason) {
    return row_of(reason)->meaning;
}

const char *sw_reason_cause(sw_reason reason) {
    return row_of(reason)->cause;
}

const char *sw_reason_remedy(sw_reason reason) {
    return row_of(reason)->remedy;
}

const char *sw_version(void) {
    return STAGEWIRE_VERSION;
}
