#include "tests/soak/meter.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/bench_rows.h"

static double count_entries(const char *path) {
    DIR *folder = opendir(path);
    bench_must_have(folder != NULL, path);
    double count = -2; /* . and .. */
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

static void read_field(const char *line, const char *field, double *ret_value) {
    if (strncmp(line, field, strlen(field)) == 0) *ret_value = atof(line + strlen(field));
}

struct reading meter_read(pid_t process) {
    struct reading reading = {0};
    char path[64], line[256];
    double kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    FILE *file = fopen(path, "re");
    bench_must_have(file != NULL, path);
    while (fgets(line, sizeof line, file)) {
        read_field(line, "VmRSS:", &kib);
        read_field(line, "Threads:", &reading.threads);
    }
    fclose(file);
    snprintf(path, sizeof path, "/proc/%d/fd", (int)process);
    reading.descriptors = count_entries(path);
    reading.mib = kib / 1024;
    return reading;
}

static double middle(const struct reading *readings, size_t count, size_t offset) {
    double *values = calloc(count, sizeof *values);
    bench_must_have(values != NULL, "calloc");
    for (size_t i = 0; i < count; i++)
        memcpy(&values[i], (const char *)&readings[i] + offset, sizeof *values);
    double found = bench_quantile(values, count, 0.5);
    free(values);
    return found;
}

struct reading meter_middle(const struct reading *readings, size_t count) {
    return (struct reading){
        .mib = middle(readings, count, offsetof(struct reading, mib)),
        .descriptors = middle(readings, count, offsetof(struct reading, descriptors)),
        .threads = middle(readings, count, offsetof(struct reading, threads)),
    };
}
