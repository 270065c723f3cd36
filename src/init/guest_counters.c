/* SPDX-License-Identifier: Apache-2.0 */
/* What the container has used and which limits it has met, as the kernel counts it: an engine shows
 * a container its own cgroup, and nobody inside can write there. An engine's own statistics come
 * later, take longer and do not tell all of it. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init/guest.h"

#define TOP "/sys/fs/cgroup/"

/* The first file of a row's kind that can be read counts: cgroup v2's, or v1's. */
static const struct {
    const char *path;
    const char *key; /* the line that begins with it; NULL: the whole file is the number */
    size_t offset;
    uint32_t known;
    uint32_t divisor;
} rows[] = {
#define ROW(path, key, slot, known, divisor)                                         \
    {                                                                                \
        TOP path, key, offsetof(struct frame_counters, slot), FRAME_##known, divisor \
    }
    ROW("cpu.stat", "usage_usec ", cpu_us, HAS_CPU, 1),
    ROW("cpuacct/cpuacct.usage", NULL, cpu_us, HAS_CPU, 1000),
    ROW("memory.current", NULL, memory_bytes, HAS_MEMORY, 1),
    ROW("memory/memory.usage_in_bytes", NULL, memory_bytes, HAS_MEMORY, 1),
    ROW("memory.peak", NULL, memory_peak_bytes, HAS_MEMORY_PEAK, 1),
    ROW("memory/memory.max_usage_in_bytes", NULL, memory_peak_bytes, HAS_MEMORY_PEAK, 1),
    ROW("memory.events", "oom_kill ", oom_kills, HAS_OOM_KILLS, 1),
    ROW("memory/memory.oom_control", "oom_kill ", oom_kills, HAS_OOM_KILLS, 1),
    ROW("pids.current", NULL, pids, HAS_PIDS, 1),
    ROW("pids/pids.current", NULL, pids, HAS_PIDS, 1),
    ROW("pids.peak", NULL, pids_peak, HAS_PIDS_PEAK, 1),
    ROW("pids.events", "max ", pids_refused, HAS_PIDS_REFUSED, 1),
    ROW("pids/pids.events", "max ", pids_refused, HAS_PIDS_REFUSED, 1),
#undef ROW
};

static int read_number(const char *path, const char *key, uint64_t *ret_number)
{
    char text[2048];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return -1;
    text[length] = '\0';
    const char *at = text;
    while (key && at && strncmp(at, key, strlen(key)) != 0) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if (!at)
        return -1;
    *ret_number = strtoull(at + (key ? strlen(key) : 0), NULL, 10);
    return 0;
}

void guest_send_counters(struct guest *guest, bool is_end)
{
    struct frame_counters counters = {.full = is_end ? guest_look_for_room() : 0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t number = 0;
        if (counters.known & rows[i].known || read_number(rows[i].path, rows[i].key, &number) < 0)
            continue;
        number /= rows[i].divisor;
        memcpy((char *)&counters + rows[i].offset, &number, sizeof(number));
        counters.known |= rows[i].known;
    }
    frame_put(&guest->tunnel.out, FRAME_COUNTERS, 0, &counters, sizeof(counters));
}
