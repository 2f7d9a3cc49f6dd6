/* MALFORMED, and where: the path of a field as it is written in the words of stage.proto, `policies[1].kind`.
 * Values go on by their keys, `metrics[2].grad.norm`. */
#ifndef STAGEWIRE_WIRE_MALFORMED_H
#define STAGEWIRE_WIRE_MALFORMED_H

#include <stddef.h>
#include <stdint.h>

#include <stagewire/status.h>

/* A step on the way, on the stack of who takes it. */
struct path {
    const struct path *parent; /* NULL: the root */
    enum path_step { PATH_FIELD, PATH_INDEX, PATH_KEY } step;
    const char *name; /* FIELD (NUL-terminated) and KEY */
    size_t size;      /* KEY: bytes of the name; INDEX: which */
};

static inline struct path path_field(const struct path *parent, const char *name) {
    return (struct path){parent, PATH_FIELD, name, 0};
}
static inline struct path path_index(const struct path *parent, size_t index) {
    return (struct path){parent, PATH_INDEX, NULL, index};
}
static inline struct path path_key(const struct path *parent, const char *key, size_t size) {
    return (struct path){parent, PATH_KEY, key, size};
}

/* The message is the path and then the words: "address.channel" "is empty; …". */
sw_status malformed(sw_error *error, const struct path *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a path that is known as it stands. */
sw_status malformed_at(sw_error *error, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
