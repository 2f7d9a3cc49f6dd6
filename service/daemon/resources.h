/* What the process asks of its surroundings. A library must not; the daemon may. */
#ifndef STAGEWIRE_DAEMON_RESOURCES_H
#define STAGEWIRE_DAEMON_RESOURCES_H

/* Memory that gRPC reads into is kept, not given back with each read; as many files as are allowed. Before
 * the first thread. */
void resources_prepare(void);

#endif
