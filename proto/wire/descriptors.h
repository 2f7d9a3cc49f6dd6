/* What is served, in protobuf's own description, as the build made it from the .proto files: a
 * FileDescriptorSet, and looking things up in it. It is ours, so it is read without suspicion. Any thread. */
#ifndef STAGEWIRE_WIRE_DESCRIPTORS_H
#define STAGEWIRE_WIRE_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/wire/reader.h"

extern const unsigned char embedded_descriptors[];
extern const size_t embedded_descriptors_size;

/* A file, and after it all that it imports, and what that imports; each a FileDescriptorProto in the set. */
#define DESCRIPTOR_FILES_MAX 16
struct descriptor_files {
    struct span files[DESCRIPTOR_FILES_MAX];
    size_t count;
};

/* The file of that name; false if there is none. */
bool descriptors_of_file(struct span set, const char *name, struct descriptor_files *ret);
/* The file that says what the symbol is: a service, a method, a message, a field, an enumeration or one of
 * its values, by its full name. */
bool descriptors_of_symbol(struct span set, const char *symbol, struct descriptor_files *ret);
/* Whether a message of that full name is there. */
bool descriptors_have_message(struct span set, const char *name);

#endif
