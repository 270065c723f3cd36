/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the sandbox's file tree from the plan: grab the host's trees while they are still in
 * sight, make the writable layer, put the root together on top of it, and leave the old root for
 * good. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/init.h"
#include "init/sys.h"

/* Any directory that is sure to exist serves to hang the new root on until pivot_root; the host's
 * own tree is untouched, for this mount namespace is private. */
#define STAGING "/proc"

static int fail(struct sandbox *box, uint32_t stage)
{
    box->failure.stage = stage;
    return -1;
}

/* With the caller's own rights: the path is cloned here, not by the keeper. Kernel rule: in a user
 * namespace a mount with others below it can only be cloned together with them. */
static int clone_path(const char *path)
{
    unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
    int fd = sys_open_tree(AT_FDCWD, path, flags);
    if (fd < 0 && errno == EINVAL)
        fd = sys_open_tree(AT_FDCWD, path, flags | SYS_AT_RECURSIVE);
    return fd;
}

int tree_restrict(int tree, uint32_t attrs)
{
    struct mount_attr attr = {.attr_set = attrs, .propagation = SYS_MS_PRIVATE};
    return sys_mount_setattr(tree, SYS_AT_RECURSIVE, &attr);
}

static int grab_path(const char *path, uint32_t attrs)
{
    int fd = clone_path(path);
    return fd < 0 || tree_restrict(fd, attrs) < 0 ? -1 : fd;
}

static int grab_trees(struct sandbox *box, const struct init_plan *plan)
{
    const struct init_tree *trees = blob_at(plan, plan->trees);
    int received[INIT_MAX_TREES];
    uint32_t next = 0;
    memcpy(received, box->trees, box->tree_count * sizeof(received[0]));
    for (uint32_t i = 0; i < plan->tree_count; i++) {
        if (trees[i].absent) {
            box->trees[i] = -1;
            continue;
        }
        if (!trees[i].path) {
            if (next >= box->tree_count)
                return fail(box, INIT_STAGE_PROTOCOL);
            box->trees[i] = received[next++];
            continue;
        }
        box->trees[i] = grab_path(blob_at(plan, trees[i].path), trees[i].attrs);
        if (box->trees[i] < 0 && !trees[i].optional) {
            box->failure.step = i;
            return fail(box, INIT_STAGE_GRAB);
        }
    }
    return 0;
}

/* Of "key\0value\0..." makes what mount() takes: no value has a comma, they are numbers of ours. */
static int join_options(const char *pairs, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    while (pairs && *pairs) {
        size_t key = strlen(pairs), both = key + 1 + strlen(pairs + key + 1);
        if (used + both + 2 > size) {
            errno = E2BIG;
            return -1;
        }
        if (used)
            text[used++] = ',';
        memcpy(text + used, pairs, both + 1);
        text[used + key] = '=';
        used += both;
        pairs += both + 1;
    }
    return 0;
}

/* A tmpfs; or what the plan has among its trees. */
static int mount_writable(const struct sandbox *box, const struct init_plan *plan)
{
    char options[256];
    if (plan->writable_tree >= 0) {
        int tree = box->trees[plan->writable_tree];
        return sys_move_mount(tree, AT_FDCWD, STAGING) < 0 ? -1 : tree;
    }
    if (join_options(blob_at(plan, plan->writable_opts), options, sizeof(options)) < 0 ||
        sys_mount("tmpfs", STAGING, SYS_MS_NOSUID | SYS_MS_NODEV, options) < 0)
        return -1;
    return open(STAGING, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int overlay_mount(int at, const char *lower, const char *upper, const char *work, unsigned attrs)
{
    if (fchdir(at) < 0)
        return -1;
    int fs = sys_fsopen("overlay");
    if (fs < 0)
        return -1;
    /* userxattr: in a user namespace overlayfs may not use its trusted.* attributes */
    if (sys_fsconfig_set(fs, "lowerdir", lower) < 0 ||
        sys_fsconfig_set(fs, "upperdir", upper) < 0 || sys_fsconfig_set(fs, "workdir", work) < 0 ||
        sys_fsconfig_set(fs, "userxattr", NULL) < 0)
        return -1;
    int mount = sys_fsmount(fs, attrs);
    close(fs);
    return mount;
}

/* One call with all options in one page, where the newer ones take 255 bytes at a time: the names
 * of hundreds of layers fit. Those are relative to the directory that holds them, to be short. */
static int mount_layers(struct sandbox *box, const char *names)
{
    static const char before[] = "lowerdir=";
    static const char after[] = ",upperdir=../upper,workdir=../work,userxattr";
    char options[4096];
    size_t length = strlen(names);
    if (sizeof(before) + length + sizeof(after) > sizeof(options)) {
        errno = E2BIG;
        return -1;
    }
    memcpy(options, before, sizeof(before));
    memcpy(options + sizeof(before) - 1, names, length);
    memcpy(options + sizeof(before) - 1 + length, after, sizeof(after));
    if (fchdir(box->writable) < 0 || chdir("lower") < 0 ||
        sys_mount("overlay", "../root", SYS_MS_NOSUID | SYS_MS_NODEV, options) < 0)
        return -1;
    return openat(box->writable, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The root filesystem is an overlay: given tree below, the writable layer's own directories above.
 */
static int make_overlay_root(struct sandbox *box, const struct init_plan *plan)
{
    static const char *const directories[] = {"lower", "work", "root", "empty"};
    const char *names = blob_at(plan, plan->lower_names);
    int is_old = layer_mkdir(box->writable, "upper");
    if (is_old < 0)
        return -1;
    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
        if (layer_mkdir(box->writable, directories[i]) < 0)
            return -1;
    if (sys_move_mount(box->trees[plan->lower_tree], box->writable, "lower") < 0)
        return -1;
    if (!is_old && !names)
        box->steps_done = layer_prepare(box->writable, plan);
    box->root = mount_layers(box, names ? names : ".");
    return box->root < 0 ? -1 : 0;
}

/* Without an overlay the writable layer is the root, unless it has directories to hide: then its
 * "root" is. */
static int make_inner_root(struct sandbox *box)
{
    if (layer_mkdir(box->writable, "empty") < 0 || layer_mkdir(box->writable, "root") < 0)
        return -1;
    box->root = sys_open_tree(box->writable, "root", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    return box->root < 0 ? -1 : sys_move_mount(box->root, box->writable, "root");
}

static int make_root(struct sandbox *box, const struct init_plan *plan)
{
    box->writable = mount_writable(box, plan);
    if (box->writable < 0)
        return fail(box, INIT_STAGE_WRITABLE);
    box->root = box->writable;
    if (plan->keeps_writable) {
        box->kept = sys_open_tree(box->writable, "",
                                  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | SYS_AT_EMPTY_PATH);
        if (box->kept < 0)
            return fail(box, INIT_STAGE_WRITABLE);
    }
    if (plan->lower_tree >= 0 && make_overlay_root(box, plan) < 0)
        return fail(box, INIT_STAGE_OVERLAY);
    if (plan->lower_tree < 0 && plan->hide_writable && make_inner_root(box) < 0)
        return fail(box, INIT_STAGE_WRITABLE);
    return 0;
}

/* pivot_root(".", "."): the old root ends up stacked on the new one and is taken off at once. */
static int leave_old_root(struct sandbox *box)
{
    if (fchdir(box->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
        syscall(SYS_umount2, ".", SYS_MNT_DETACH) < 0 || chdir("/") < 0)
        return fail(box, INIT_STAGE_PIVOT);
    return 0;
}

static int apply_steps(struct sandbox *box, const struct init_plan *plan)
{
    const struct init_step *steps = blob_at(plan, plan->steps);
    for (uint32_t i = box->steps_done; i < plan->step_count; i++) {
        if (step_apply(box, plan, &steps[i]) < 0 && !(steps[i].flags & INIT_STEP_OPTIONAL)) {
            box->failure.step = i;
            return fail(box, INIT_STAGE_STEP);
        }
    }
    return 0;
}

/* The mount alone: what is mounted below it stays as it is. Nobody inside can take it back, for
 * that takes a capability and a system call that no command has. */
static int lock_mount(int top)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    return sys_mount_setattr(top, 0, &attr);
}

static int lock_directory(const struct sandbox *box, const char *path)
{
    int top = target_open(box, path, O_PATH | O_DIRECTORY, true);
    if (top < 0)
        return -1;
    int status = lock_mount(top);
    close(top);
    return status;
}

/* What hutch has mounted for its own files, which root inside could add to. */
static int lock_own(const struct sandbox *box, const struct init_plan *plan)
{
    const struct init_step *steps = blob_at(plan, plan->steps);
    for (uint32_t i = 0; i < plan->step_count; i++)
        if ((steps[i].op == INIT_OP_SECRET && lock_directory(box, INIT_SECRETS) < 0) ||
            (steps[i].op == INIT_OP_TRUST && lock_directory(box, INIT_TRUST) < 0))
            return -1;
    return 0;
}

/* A foreign root has a /dev of its own; otherwise that is a directory of the root. */
static int lock_root(struct sandbox *box, const struct init_plan *plan)
{
    bool has_dev = plan->lower_tree >= 0 && !plan->hands_over;
    if (lock_mount(box->root) < 0 || lock_own(box, plan) < 0 ||
        (has_dev && lock_directory(box, "dev") < 0))
        return fail(box, INIT_STAGE_READ_ONLY);
    return 0;
}

int sandbox_build(struct sandbox *box, const struct init_plan *plan)
{
    if (grab_trees(box, plan) < 0 || make_root(box, plan) < 0 || apply_steps(box, plan) < 0 ||
        (plan->read_only && lock_root(box, plan) < 0))
        return -1;
    if (plan->artifacts) {
        box->artifacts =
            target_open(box, blob_at(plan, plan->artifacts), O_RDONLY | O_DIRECTORY, true);
        if (box->artifacts < 0)
            return fail(box, INIT_STAGE_STEP);
    }
    if (plan->hands_over) {
        box->whole = sys_open_tree(box->root, "",
                                   OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | SYS_AT_EMPTY_PATH |
                                       SYS_AT_RECURSIVE);
        if (box->whole < 0)
            return fail(box, INIT_STAGE_PIVOT);
        if (!plan->has_egress)
            return 0; /* nothing else is asked for; else the network is this process's to keep */
    }
    if (leave_old_root(box) < 0)
        return -1;
    const char *hostname = blob_at(plan, plan->hostname);
    return sethostname(hostname, strlen(hostname)) < 0 ? fail(box, INIT_STAGE_HOSTNAME) : 0;
}
