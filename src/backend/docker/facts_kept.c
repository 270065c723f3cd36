/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine said about itself is kept for a while. It cannot change but by a restart of the
 * engine, which mostly makes a new socket, and whatever it has become meanwhile: a limit that it
 * does not keep it refuses, or says so when the container is made (docker_facts_check). */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "backend/docker/facts.h"
#include "backend/docker/state.h"
#include "util/fs.h"
#include "util/own.h"

#define FRESH_SECONDS 600
#define KEY_BYTES 200

struct kept {
    char key[KEY_BYTES];
    int64_t time_s; /* CLOCK_BOOTTIME */
    struct docker_facts facts;
};

static int64_t now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec;
}

/* This boot, this hutch, this engine. */
static void write_key(const struct docker_engine *engine, char key[KEY_BYTES])
{
    char boot[64] = "";
    struct stat info = {0};
    const struct docker_endpoint *endpoint = &engine->endpoint;
    (void)hutch_read_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
    boot[strcspn(boot, "\n")] = '\0';
    if (endpoint->socket[0])
        (void)stat(endpoint->socket, &info);
    memset(key, 0, KEY_BYTES);
    (void)snprintf(key, KEY_BYTES, "%.40s %zu %016" PRIx64 " %ju %ju %jd.%09ld", boot,
                   sizeof(struct kept), docker_sum(endpoint->host, strlen(endpoint->host)),
                   (uintmax_t)info.st_dev, (uintmax_t)info.st_ino, (intmax_t)info.st_ctim.tv_sec,
                   info.st_ctim.tv_nsec);
}

static bool read_kept(const char *path, const char *key, struct docker_facts *ret_facts)
{
    struct kept kept;
    int64_t now = now_s();
    hutch_autofd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || read(fd, &kept, sizeof(kept)) != (ssize_t)sizeof(kept))
        return false;
    if (memcmp(kept.key, key, KEY_BYTES) != 0 || now < kept.time_s ||
        now - kept.time_s > FRESH_SECONDS)
        return false;
    *ret_facts = kept.facts;
    return true;
}

int docker_facts_recall(struct docker_engine *engine, struct docker_facts *ret_facts,
                        struct hutch_error *err)
{
    char directory[STATE_BYTES];
    char path[STATE_BYTES + 32];
    struct kept kept = {0};
    struct hutch_error unkept = HUTCH_ERROR_INIT;
    write_key(engine, kept.key);
    if (docker_state(directory, err) < 0)
        return -(int)err->code;
    (void)snprintf(path, sizeof(path), "%s/facts-%016" PRIx64, directory,
                   docker_sum(kept.key, KEY_BYTES));
    if (read_kept(path, kept.key, ret_facts))
        return 0;
    if (docker_facts_ask(engine, &kept.facts, err) < 0)
        return -(int)err->code;
    kept.time_s = now_s();
    *ret_facts = kept.facts;
    /* Not being quick the next time is nobody's failure. */
    if (docker_state_write(path, 0600, &kept, sizeof(kept), &unkept) < 0)
        return 0;
    return 0;
}
