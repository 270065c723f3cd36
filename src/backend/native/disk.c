/* SPDX-License-Identifier: Apache-2.0 */
/* Was the writable layer full? tmpfs and quotas have no counter of refused writes, so the keeper
 * looks: when the command has ended, and while it runs at a pace that slows down as long as nothing
 * changes. */
#include <sys/statfs.h>

#include "backend/native/keeper.h"

#define DISK_FIRST_PAUSE_US 20000
#define DISK_LONGEST_PAUSE_US 1000000

void disk_look(struct keeper *keeper)
{
    struct statfs info;
    uint64_t used = 0;
    bool full = false;
    if (keeper->pool.dir >= 0) {
        if (pool_usage(&keeper->pool, &used, &full) < 0)
            return;
    } else if (keeper->writable >= 0 && fstatfs(keeper->writable, &info) == 0) {
        used = (uint64_t)(info.f_blocks - info.f_bfree) * (uint64_t)info.f_bsize;
        full = info.f_bfree == 0 || info.f_ffree == 0;
    }
    keeper->disk_full |= full;
    keeper->disk_pause_us = keeper->disk_pause_us && used == keeper->disk_seen_bytes
                                ? keeper->disk_pause_us * 2
                                : DISK_FIRST_PAUSE_US;
    if (keeper->disk_pause_us > DISK_LONGEST_PAUSE_US)
        keeper->disk_pause_us = DISK_LONGEST_PAUSE_US;
    if (used > keeper->disk_seen_bytes)
        keeper->disk_seen_bytes = used;
    keeper->disk_check_us = now_us() + keeper->disk_pause_us;
}
