/* What answers a call of a method that nobody knows. */
#ifndef STAGEWIRE_SERVICE_UNKNOWN_METHOD_H
#define STAGEWIRE_SERVICE_UNKNOWN_METHOD_H

struct method;

extern const struct method unknown_method;

#endif
