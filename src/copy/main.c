/* SPDX-License-Identifier: Apache-2.0 */
/* hutch-copy: the half of a copy that happens inside a sandbox. Executed there from a sealed memory
 * file, in the sandbox's namespaces and behind its filter: whatever the sandbox does to names and
 * links meanwhile, there is nothing of the host in reach.
 *
 *     hutch-copy pack PATH '' OWNERS MAP      the archive goes to standard output
 *     hutch-copy unpack PATH NAME OWNERS MAP  of one entry, as 'cp NAME PATH' would put it
 *     hutch-copy untar PATH '' OWNERS MAP     of anything, into a directory
 *     hutch-copy stat|list PATH '' OWNERS MAP what it is; what a directory holds: see entry.h
 *     hutch-copy read PATH RANGE OWNERS MAP   the same of a file, then its bytes
 *     hutch-copy put PATH MODE OWNERS MAP     makes a file of what comes
 *     hutch-copy remove PATH WHAT OWNERS MAP  'tree': also a directory that is not empty
 *
 * OWNERS is "keep" where files can have other owners than ours, "own" otherwise. MAP is
 * "UID:GID:UID:GID", a user inside and whom it stands for in the archive, or empty. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "copy/half.h"
#include "copy/report.h"

/* From here on a file in the page cache would crowd out what else a sandbox of ordinary size has
 * there. */
#define LARGE_FILE_BYTES (UINT64_C(64) << 20)

static void report(struct copy *copy, bool skipped, const struct tar_failure *failure)
{
    struct copy_report record = {.skipped = skipped, .failure = *failure};
    if (copy->reports++ < COPY_MAX_REPORTS || !skipped)
        (void)!write(STDERR_FILENO, &record, sizeof(record));
}

static void on_skipped(void *context, const char *path, mode_t type, int os_errno)
{
    struct tar_failure failure = {.what = os_errno ? TAR_SOURCE : TAR_KIND, .os_errno = os_errno};
    (void)type;
    (void)snprintf(failure.path, sizeof(failure.path), "%s", path);
    for (char *at = failure.path; *at; at++)
        if ((unsigned char)*at < 32 || *at == 127)
            *at = '?';
    report(context, true, &failure);
}

/* ---- owners ---- */

static bool read_map(struct copy *copy, const char *map)
{
    copy->maps_owners = *map;
    return !*map || sscanf(map, "%u:%u:%u:%u", &copy->inside.uid, &copy->inside.gid,
                           &copy->outside.uid, &copy->outside.gid) == 4;
}

static void owner_in_archive(void *context, uid_t *uid, gid_t *gid)
{
    const struct copy *copy = context;
    if (!copy->maps_owners || *uid != copy->inside.uid)
        return;
    *uid = copy->outside.uid;
    *gid = copy->outside.gid;
}

static void owner_here(void *context, uid_t *uid, gid_t *gid)
{
    const struct copy *copy = context;
    if (!copy->maps_owners || (*uid != copy->outside.uid && *uid < 65536 && *gid < 65536))
        return;
    *uid = copy->inside.uid;
    *gid = copy->inside.gid;
}

/* The kernel takes the capabilities over files away with the number 0, and lets us have them back.
 */
void half_become(void *context, uid_t uid, gid_t gid)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2];
    (void)context;
    (void)setfsgid(gid);
    (void)setfsuid(uid);
    if (syscall(SYS_capget, &header, sets) < 0)
        return;
    sets[0].effective = sets[0].permitted;
    (void)syscall(SYS_capset, &header, sets);
    (void)prctl(PR_SET_DUMPABLE, 0); /* which a change of numbers undoes */
}

/* ---- halves ---- */

int half_fail(enum tar_what what, const char *path, struct tar_failure *failure)
{
    failure->what = what;
    failure->os_errno = errno;
    (void)snprintf(failure->path, sizeof(failure->path), "%s", path);
    return -1;
}

int half_open_parent(char *path, const char **ret_name, struct tar_failure *failure)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        path[--length] = '\0';
    char *slash = strrchr(path, '/');
    *ret_name = slash ? slash + 1 : path;
    if (slash)
        *slash = '\0';
    int dir = open(!slash ? "." : *path ? path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir < 0 ? half_fail(TAR_SOURCE, path, failure) : dir;
}

/* The last component is taken as it is, a link as a link; the way to it is followed. */
static int pack(struct copy *copy, char *path, const char *name, struct tar_failure *failure)
{
    int dir = half_open_parent(path, &name, failure);
    if (dir < 0)
        return -1;
    struct tar_pack_options options = {.dir = dir,
                                       .path = *name ? name : ".",
                                       .name = *name && strcmp(name, ".") != 0 ? NULL : "root",
                                       .without_kernel = true,
                                       .drop_special = true,
                                       .map_owner = owner_in_archive,
                                       .skipped = on_skipped,
                                       .context = copy};
    return tar_pack(&options, STDOUT_FILENO, failure);
}

static int unpack(struct copy *copy, char *path, const char *name, struct tar_failure *failure)
{
    struct tar_destination destination;
    if (tar_destination_open(AT_FDCWD, path, name, &destination, failure) < 0)
        return -1;
    struct tar_unpack_options options = {.dir = destination.fd,
                                         .rename_first = destination.name,
                                         .make_fifos = true,
                                         .map_owner = copy->keeps_owners ? owner_here : NULL,
                                         .become = copy->keeps_owners ? half_become : NULL,
                                         .skipped = on_skipped,
                                         .context = copy,
                                         .direct_from = LARGE_FILE_BYTES};
    return tar_unpack(&options, STDIN_FILENO, failure);
}

static int untar(struct copy *copy, char *path, const char *name, struct tar_failure *failure)
{
    (void)name;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return half_fail(TAR_TARGET, path, failure);
    struct tar_unpack_options options = {.dir = dir,
                                         .names = TAR_NAMES_RELATIVE,
                                         .make_fifos = true,
                                         .map_owner = copy->keeps_owners ? owner_here : NULL,
                                         .become = copy->keeps_owners ? half_become : NULL,
                                         .skipped = on_skipped,
                                         .context = copy,
                                         .direct_from = LARGE_FILE_BYTES};
    return tar_unpack(&options, STDIN_FILENO, failure);
}

static const struct {
    const char *name;
    half *run;
} modes[] = {{"pack", pack},      {"unpack", unpack},  {"untar", untar},  {"stat", half_stat},
             {"list", half_list}, {"read", half_read}, {"put", half_put}, {"remove", half_remove}};

int main(int argc, char **argv)
{
    struct copy copy = {0};
    struct tar_failure failure = {.what = TAR_OPTIONS};
    int status = -1;
    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)signal(SIGPIPE, SIG_IGN);
    bool fine = argc == 6 && read_map(&copy, argv[5]);
    copy.keeps_owners = fine && !strcmp(argv[4], "keep");
    for (size_t i = 0; fine && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (!strcmp(argv[1], modes[i].name))
            status = modes[i].run(&copy, argv[2], argv[3], &failure);
    if (status < 0)
        report(&copy, false, &failure);
    return status < 0 ? 1 : 0;
}
