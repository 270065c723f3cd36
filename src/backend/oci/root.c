/* SPDX-License-Identifier: Apache-2.0 */
/* The tree that a container sees: the native plan without what the runtime makes itself. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/native/programs.h"
#include "backend/oci/oci.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/state_dir.h"

/* sys/mount.h and linux/mount.h do not go together on every C library. */
int mount(const char *source, const char *target, const char *type, unsigned long flags,
          const void *data);
#define MOUNT_NOSUID 2ul
#define MOUNT_NODEV 4ul
#define MOUNT_RECURSIVE 16384ul
#define MOUNT_SLAVE (1ul << 19)

/* The container's root, whose number on the host is nobody's, has to reach the bundle: every
 * directory above it must let everybody through. Hutch's own do not, these do; only this process
 * and its runtime see what is mounted there. */
static const char *const public_places[] = {"/mnt", "/media", "/srv", "/opt", "/home"};

static const char *choose_place(void)
{
    struct stat info;
    char home[400];
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (state_directory("run", home, sizeof(home), &ignored) < 0)
        home[0] = '\0';
    for (size_t i = 0; i < HUTCH_COUNT(public_places); i++) {
        size_t length = strlen(public_places[i]);
        bool is_above = !strncmp(home, public_places[i], length) && home[length] == '/';
        if (!is_above && stat(public_places[i], &info) == 0 && S_ISDIR(info.st_mode))
            return public_places[i];
    }
    return NULL;
}

static int write_program(const struct oci_place *place, struct hutch_error *err)
{
    size_t length = 0;
    const void *image = program_guest(&length);
    hutch_autofd int fd = open(place->program, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
    if (fd < 0 || hutch_write_all(fd, image, length) < 0)
        return hutch_fail_errno(err, errno, "write '%s'", place->program);
    return 0;
}

int oci_place_make(struct oci_place *place, struct hutch_error *err)
{
    const char *top = choose_place();
    if (!top)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "there is none of the directories /mnt, /media, /srv, /opt and /home to "
                          "mount a bundle on; make one of them");
    /* what is unmounted on the host goes here too, what is mounted here stays here */
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MOUNT_RECURSIVE | MOUNT_SLAVE, NULL) < 0)
        return hutch_fail_errno(err, errno, "make a mount namespace for the bundle");
    if (mount("hutch", top, "tmpfs", MOUNT_NOSUID | MOUNT_NODEV, "mode=0711,size=16m") < 0)
        return hutch_fail_errno(err, errno, "mount a bundle on '%s'", top);
    (void)snprintf(place->bundle, sizeof(place->bundle), "%s", top);
    (void)snprintf(place->rootfs, sizeof(place->rootfs), "%s/rootfs", top);
    (void)snprintf(place->state, sizeof(place->state), "%s/state", top);
    (void)snprintf(place->program, sizeof(place->program), "%s/init", top);
    if (mkdir(place->rootfs, 0755) < 0 || mkdir(place->state, 0700) < 0)
        return hutch_fail_errno(err, errno, "make the bundle's directories");
    return write_program(place, err);
}

enum share { SHARE_BUILDER, SHARE_DIRECTORY, SHARE_COVER, SHARE_RUNTIME };

/* Who makes what a step of the plan is about? */
static enum share share_of(const struct init_step *step, const char *path)
{
    if (!strncmp(path, "dev/", 4))
        return SHARE_RUNTIME;
    switch (step->op) {
    case INIT_OP_PROC:
    case INIT_OP_LEND:
        return SHARE_DIRECTORY; /* to mount on, and sure to be no symlink */
    case INIT_OP_TMPFS:
        return !strcmp(path, "dev") ? SHARE_DIRECTORY : SHARE_BUILDER;
    case INIT_OP_MASK_FILE:
    case INIT_OP_MASK_DIRECTORY:
        return SHARE_COVER;
    default:
        return SHARE_BUILDER;
    }
}

static int cover(struct hutch_strlist *covered, const char *path, struct hutch_error *err)
{
    char absolute[128];
    (void)snprintf(absolute, sizeof(absolute), "/%s", path);
    return hutch_strlist_add(covered, absolute, err);
}

/* Takes out of the plan what is not for the builder. */
static int divide_plan(struct plan *plan, struct hutch_strlist *covered, struct hutch_error *err)
{
    size_t kept = 0;
    if (plan->blob.failed)
        return hutch_fail_nomem(err);
    for (size_t i = 0; i < plan->step_count; i++) {
        struct init_step *step = &plan->steps[i];
        const char *path = plan->blob.data + step->path;
        enum share share = share_of(step, path);
        if (share == SHARE_COVER && cover(covered, path, err) < 0)
            return -(int)err->code;
        if (share == SHARE_RUNTIME && step->tree >= 0)
            plan->trees[step->tree].unused = true;
        if (share == SHARE_DIRECTORY)
            *step = (struct init_step){
                .op = INIT_OP_MKDIR, .tree = -1, .path = step->path, .mode = 0555};
        if (share == SHARE_BUILDER || share == SHARE_DIRECTORY)
            plan->steps[kept++] = *step;
    }
    plan->step_count = kept;
    return 0;
}

/* Waits for the tree, or for the reason why there is none. */
static int await_tree(struct keeper *keeper, int *ret_tree, struct hutch_error *err)
{
    struct init_message report;
    int fds[KEEPER_REPORT_FDS];
    size_t count = 0;
    int heard = 0;
    while (heard == 0) {
        struct pollfd watched = {keeper->socket, POLLIN, 0};
        if (poll(&watched, 1, -1) < 0 && errno != EINTR)
            return hutch_fail_errno(err, errno, "wait for the sandbox's files");
        heard = keeper_hear(keeper, &report, fds, &count);
    }
    size_t wanted = keeper->spec->artifacts ? 3 : 2;
    if (heard > 0 && report.type == INIT_READY && count == wanted) {
        keeper->writable = fds[0];
        keeper->artifacts = wanted == 3 ? fds[1] : HUTCH_NO_FD;
        *ret_tree = fds[count - 1];
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
    if (heard > 0 && report.type == INIT_FAILED)
        keeper_explain(keeper, &report, "", NULL, err);
    else
        (void)hutch_fail(err, HUTCH_E_SYSTEM, 0, "hutch-init ended while it built the sandbox");
    return -(int)err->code;
}

int oci_root_build(struct container *container, struct hutch_strlist *covered,
                   struct hutch_error *err)
{
    struct keeper *keeper = container->keeper;
    const struct oci_place *place = &container->place;
    struct cgroup none = {.count = 0};
    hutch_autofd int tree = HUTCH_NO_FD;
    if (keeper_plan(keeper, err) < 0 ||
        plan_add_tree(&keeper->plan, place->program, CONTAINER_GUEST_PATH, err) < 0 ||
        divide_plan(&keeper->plan, covered, err) < 0)
        return -(int)err->code;
    keeper->plan.header.hands_over = 1;
    keeper->plan.header.keeps_writable = container->keeps_memory;
    /* the groups are for the container and its runtime to make; the builder needs none */
    struct cgroup groups = keeper->cgroup;
    keeper->cgroup = none;
    int status = keeper_start(keeper, err);
    if (status == 0)
        status = keeper_instruct(keeper, err);
    if (status == 0)
        status = await_tree(keeper, &tree, err);
    keeper->cgroup = groups;
    if (status < 0 || !keeper->gateway.is_wanted) /* else it stays, for the network is its own */
        keeper_end(keeper);
    if (status == 0 &&
        syscall(SYS_move_mount, tree, "", AT_FDCWD, place->rootfs, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        status = hutch_fail_errno(err, errno, "mount the sandbox's files on '%s'", place->rootfs);
    return status;
}
