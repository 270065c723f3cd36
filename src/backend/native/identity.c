/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/clone.h"
#include "backend/native/state.h"
#include "backend/native/subid.h"
#include "util/fs.h"
#include "util/own.h"

bool identity_is_privileged(void)
{
    char map[128];
    unsigned long inside, outside, count;
    if (geteuid() != 0)
        return false;
    /* Not knowing is no reason to give the command this process's own id, which may be host root.
     */
    if (hutch_read_at(AT_FDCWD, "/proc/self/uid_map", map, sizeof(map)) < 0)
        return true;
    /* A root that stands for root outside ("unshare -Ur") has no other ids to give: its map is
     * refused by the kernel, and that is better than a command which is host root. */
    return sscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3 && inside == 0 &&
           outside == 0;
}

void identity_choose_map(struct identity *identity, bool privileged, bool many_owners)
{
    identity->can_set_groups = true;
    if (privileged) {
        identity->map = IDENTITY_SLOT;
        return;
    }
    identity->map = IDENTITY_SINGLE;
    if (many_owners && subid_find(&identity->first_host_id, &identity->first_host_gid)) {
        identity->map = IDENTITY_SUBIDS;
        return;
    }
    /* The kernel lets a single-user map be written only after setgroups has been given up. */
    identity->can_set_groups = false;
}

static int write_map(pid_t child, const char *file, const char *text, struct hutch_error *err)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)child, file);
    if (hutch_write_at(AT_FDCWD, path, text) < 0)
        return hutch_fail_errno(err, errno, "write '%.*s' to the sandbox's %s",
                                (int)strcspn(text, "\n"), text, file);
    return 0;
}

static int write_ranges(pid_t child, uint32_t uid, uint32_t host_uid, uint32_t gid,
                        uint32_t host_gid, uint32_t count, struct hutch_error *err)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "%u %u %u", uid, host_uid, count);
    if (write_map(child, "uid_map", text, err) < 0)
        return -(int)err->code;
    (void)snprintf(text, sizeof(text), "%u %u %u", gid, host_gid, count);
    return write_map(child, "gid_map", text, err);
}

int identity_write_maps(const struct identity *identity, pid_t child, struct hutch_error *err)
{
    switch (identity->map) {
    case IDENTITY_SLOT:
        return write_ranges(child, 0, identity->first_host_id, 0, identity->first_host_gid,
                            STATE_IDS_PER_SLOT, err);
    case IDENTITY_SUBIDS:
        return subid_write_maps(identity, child, err);
    case IDENTITY_SINGLE:
        break;
    }
    if (write_map(child, "setgroups", "deny", err) < 0)
        return -(int)err->code;
    return write_ranges(child, identity->uid, geteuid(), identity->gid, getegid(), 1, err);
}

/* Lines "file-id host-id count" for an idmapped mount: the owner's files become the command's,
 * every other id keeps its number, and the number that the command itself would have on disk is
 * left out, since two ids cannot become one. Where the sandbox's root makes files for the command,
 * and the owner's number is that root's, they belong to the slot for that moment. */
static void format_owner_map(char *text, size_t size, uint32_t owner, uint32_t inside,
                             uint32_t first, bool root_writes)
{
    uint32_t low = owner < inside ? owner : inside;
    uint32_t high = owner < inside ? inside : owner;
    size_t used = 0;
    struct {
        uint32_t from, until;
    } keep[] = {{0, low}, {low + 1, high}, {high + 1, STATE_IDS_PER_SLOT}};
    used += (size_t)snprintf(text, size, "%u %u 1\n", owner, first + inside);
    for (size_t i = 0; i < HUTCH_COUNT(keep); i++) {
        uint32_t until = keep[i].until < STATE_IDS_PER_SLOT ? keep[i].until : STATE_IDS_PER_SLOT;
        if (keep[i].from < until && used < size)
            used += (size_t)snprintf(text + used, size - used, "%u %u %u\n", keep[i].from,
                                     first + keep[i].from, until - keep[i].from);
    }
    if (root_writes && owner == 0 && inside != 0 && used < size)
        (void)snprintf(text + used, size - used, "%u %u 1\n", first, first);
}

/* Since Linux 6.11; PIDFD_GET_USER_NAMESPACE in newer headers. */
#define GET_USER_NAMESPACE _IO(0xff, 9)

int identity_open_namespace(pid_t pid, int pidfd)
{
    char path[64];
    int fd = ioctl(pidfd, GET_USER_NAMESPACE, 0);
    if (fd >= 0)
        return fd;
    (void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

int identity_owner_namespace(const struct identity *identity, uid_t owner, gid_t group,
                             struct hutch_error *err)
{
    char uid_map[200];
    char gid_map[200];
    char path[64];
    format_owner_map(uid_map, sizeof(uid_map), owner, identity->uid, identity->first_host_id,
                     identity->root_writes);
    format_owner_map(gid_map, sizeof(gid_map), group, identity->gid, identity->first_host_gid,
                     identity->root_writes);
    pid_t holder = clone_namespace_holder();
    if (holder < 0)
        return hutch_fail_errno(err, errno, "make a user namespace for an idmapped mount");
    hutch_autofd int fd = HUTCH_NO_FD;
    int status = write_map(holder, "uid_map", uid_map, err);
    if (status == 0)
        status = write_map(holder, "gid_map", gid_map, err);
    if (status == 0) {
        (void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)holder);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            status = hutch_fail_errno(err, errno, "open '%s'", path);
    }
    if (kill(holder, SIGKILL) == 0)
        (void)waitpid(holder, NULL, __WALL);
    return status < 0 ? status : HUTCH_TAKE_FD(fd);
}

/* Every slot begins at a multiple of its size: which one it was does not matter. Around the
 * caller's own id the subordinate ones follow each other, as subid_write_maps has them. */
static uint32_t id_to_inside(const struct identity *identity, uint32_t id, uint32_t inside,
                             uint32_t own, uint32_t first)
{
    if (identity->map == IDENTITY_SLOT)
        return id < STATE_FIRST_ID ? id : (id - STATE_FIRST_ID) % STATE_IDS_PER_SLOT;
    if (id == own || identity->map == IDENTITY_SINGLE)
        return inside;
    return id < first ? id : id - first + (id - first >= inside);
}

void identity_to_inside(const struct identity *identity, uid_t *uid, gid_t *gid)
{
    *uid = id_to_inside(identity, *uid, identity->uid, geteuid(), identity->first_host_id);
    *gid = id_to_inside(identity, *gid, identity->gid, getegid(), identity->first_host_gid);
}
