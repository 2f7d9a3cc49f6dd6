/* The messages of grpc.reflection (v1 and v1alpha are the same on the wire) as plain structs, as messages.h
 * has those of stage.proto, and by its rules. */
#ifndef STAGEWIRE_WIRE_REFLECTION_H
#define STAGEWIRE_WIRE_REFLECTION_H

#include <stddef.h>
#include <stdint.h>

#include <stagewire/buffer.h>
#include <stagewire/status.h>

#include "proto/wire/arena.h"
#include "proto/wire/reader.h"

enum reflection_question {
    REFLECTION_UNKNOWN, /* none is set, or one of a later version */
    REFLECTION_FILE_BY_NAME,
    REFLECTION_FILE_OF_SYMBOL,
    REFLECTION_FILE_OF_EXTENSION,
    REFLECTION_EXTENSIONS_OF_TYPE,
    REFLECTION_SERVICES,
};

struct reflection_request {
    const char *host;
    enum reflection_question question;
    const char *name; /* of the file, the symbol, or the type that is extended */
    int32_t number;   /* of the extension */
};
sw_status reflection_request_decode(const void *data, size_t size, struct arena *arena,
                                    struct reflection_request *ret, sw_error *error);

enum reflection_answer_kind {
    REFLECTION_FILES,
    REFLECTION_EXTENSIONS, /* of `type`: none */
    REFLECTION_NAMES,
    REFLECTION_ERROR,
};

struct reflection_answer {
    enum reflection_answer_kind kind;
    const struct span *files; /* each a FileDescriptorProto */
    const char *const *services;
    size_t count; /* of files or services */
    const char *type;
    sw_status code;
    const char *message;
};
/* The request goes along. */
sw_status reflection_answer_encode(const struct reflection_request *request,
                                   const struct reflection_answer *answer, sw_buffer **ret, sw_error *error);

#endif
