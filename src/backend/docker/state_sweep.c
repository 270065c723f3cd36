/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/docker/state.h"
#include "util/own.h"
#include "util/remove_tree.h"
#include "util/state_dir.h"

#define OLD_SECONDS 86400

/* A run whose container mounts the file has had its day: the kernel keeps what is mounted, and the
 * next one writes it again. */
static void sweep_directory(const char *path, const char *const *prefixes, size_t count)
{
    DIR *directory = opendir(path);
    time_t now = time(NULL);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        struct stat info;
        for (size_t i = 0; i < count; i++) {
            if (strncmp(entry->d_name, prefixes[i], strlen(prefixes[i])) != 0 ||
                fstatat(dirfd(directory), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
                now - info.st_mtime < OLD_SECONDS)
                continue;
            if (unlinkat(dirfd(directory), entry->d_name, 0) < 0)
                (void)remove_tree(dirfd(directory), entry->d_name);
            break;
        }
    }
    if (directory)
        (void)closedir(directory);
}

void docker_state_sweep(void)
{
    static const char *const kept[] = {"init-", "facts-"};
    static const char *const fetched[] = {".fetched-"};
    char path[STATE_BYTES];
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (docker_state(path, &ignored) == 0)
        sweep_directory(path, kept, HUTCH_COUNT(kept));
    if (state_directory("lib", path, sizeof(path), &ignored) == 0)
        sweep_directory(path, fetched, HUTCH_COUNT(fetched));
}
