/* A command without memory ends with EXIT_EXHAUSTED and says so. */
#ifndef STAGEWIRE_CLIENT_CLI_MEMORY_H
#define STAGEWIRE_CLIENT_CLI_MEMORY_H

/* `memory`, unless it is NULL. */
void *memory_check(void *memory);

#endif
