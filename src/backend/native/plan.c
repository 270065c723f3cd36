/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/blob.h"
#include "backend/native/host_root.h"
#include "init/plant.h"
#include "secrets/secrets.h"
#include "util/own.h"

#define INERT (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define INERT_RO (INERT | MOUNT_ATTR_RDONLY)
#define DEVICE_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)

/* Names at the top of the host that belong to the system and are either part of /usr (symlinks) or
 * beside it. */
static const char *const system_names[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};

struct fixed_entry {
    enum init_op op;
    const char *path;
    uint32_t mode;
    const char *text;
};

static const struct fixed_entry skeleton[] = {
    {INIT_OP_MKDIR, "tmp", 01777, NULL},     {INIT_OP_MKDIR, "var", 0755, NULL},
    {INIT_OP_MKDIR, "var/tmp", 01777, NULL}, {INIT_OP_MKDIR, "run", 0755, NULL},
    {INIT_OP_MKDIR, "root", 0700, NULL},     {INIT_OP_MKDIR, "sys", 0555, NULL},
};

static const struct fixed_entry host_root_files[] = {
    {INIT_OP_MKDIR, "dev", 0755, NULL},
    {INIT_OP_MKDIR, "etc", 0755, NULL},
    {INIT_OP_FILE, "etc/passwd", 0644, HOST_ROOT_PASSWD},
    {INIT_OP_FILE, "etc/group", 0644, HOST_ROOT_GROUP},
    {INIT_OP_FILE, "etc/nsswitch.conf", 0644, "passwd: files\ngroup: files\nhosts: files dns\n"},
    {INIT_OP_SYMLINK, "etc/mtab", 0, "/proc/self/mounts"},
    {INIT_OP_SYMLINK, "etc/os-release", 0, "../usr/lib/os-release"},
};

/* What else programs need of the host's /etc; nothing here tells one host from another but by its
 * packages. */
static const char *const etc_shared[] = {"etc/ld.so.cache", "etc/ssl/certs", "etc/ssl/openssl.cnf",
                                         "etc/alternatives"};

static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                      "/dev/random", "/dev/urandom", "/dev/tty"};

static const struct fixed_entry dev_links[] = {
    {INIT_OP_SYMLINK, "dev/ptmx", 0, "pts/ptmx"},
    {INIT_OP_SYMLINK, "dev/fd", 0, "/proc/self/fd"},
    {INIT_OP_SYMLINK, "dev/stdin", 0, "/proc/self/fd/0"},
    {INIT_OP_SYMLINK, "dev/stdout", 0, "/proc/self/fd/1"},
    {INIT_OP_SYMLINK, "dev/stderr", 0, "/proc/self/fd/2"},
    {INIT_OP_MKDIR, "dev/shm", 01777, NULL},
};

/* World-readable facts about the host that no program needs. The rest that containers usually hide
 * (kcore, kmsg, timer_list, slabinfo, ...) only host root may open, and nobody inside is host root.
 */
static const char *const proc_masked_files[] = {"proc/keys", "proc/interrupts", "proc/cmdline",
                                                "proc/latency_stats"};
static const char *const proc_masked_directories[] = {"proc/acpi", "proc/asound", "proc/scsi"};

/* For most plans their own room is enough. */
static bool make_room(struct plan *plan)
{
    if (!plan->steps) {
        plan->steps = plan->first_steps;
        plan->step_capacity = HUTCH_COUNT(plan->first_steps);
        return true;
    }
    bool is_own = plan->steps == plan->first_steps;
    size_t capacity = plan->step_capacity * 2;
    struct init_step *steps = reallocarray(is_own ? NULL : plan->steps, capacity, sizeof(*steps));
    if (!steps)
        return false;
    if (is_own)
        memcpy(steps, plan->first_steps, sizeof(plan->first_steps));
    plan->steps = steps;
    plan->step_capacity = capacity;
    return true;
}

static struct init_step *add_step(struct plan *plan, enum init_op op, const char *path)
{
    if (plan->step_count == plan->step_capacity && !make_room(plan)) {
        plan->blob.failed = true;
        return &plan->scratch;
    }
    struct init_step *step = &plan->steps[plan->step_count++];
    while (*path == '/')
        path++;
    *step =
        (struct init_step){.op = (uint16_t)op, .tree = -1, .path = blob_text(&plan->blob, path)};
    return step;
}

static int add_tree(struct plan *plan, const char *path, enum plan_ids ids, uint32_t attrs,
                    struct hutch_error *err)
{
    if (plan->tree_count == INIT_MAX_TREES)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "more than %d mounts", INIT_MAX_TREES);
    char *copy = strdup(path);
    if (!copy)
        return hutch_fail_nomem(err);
    plan->trees[plan->tree_count] = (struct plan_tree){
        .path = copy, .ids = ids, .attrs = attrs, .given = HUTCH_NO_FD, .fd = HUTCH_NO_FD};
    return (int)plan->tree_count++;
}

static int add_attach(struct plan *plan, const char *source, const char *target, enum plan_ids ids,
                      uint32_t attrs, uint32_t flags, struct hutch_error *err)
{
    int tree = add_tree(plan, source, ids, attrs, err);
    if (tree < 0)
        return tree;
    struct init_step *step = add_step(plan, INIT_OP_ATTACH, target);
    step->tree = tree;
    step->flags = (uint16_t)flags;
    plan->trees[tree].optional = flags & INIT_STEP_OPTIONAL;
    return tree;
}

static void add_text(struct plan *plan, struct init_step *step, const char *text)
{
    step->text_length = text ? (uint32_t)strlen(text) : 0;
    step->text = blob_text(&plan->blob, text);
}

static void add_entries(struct plan *plan, const struct fixed_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct init_step *step = add_step(plan, entries[i].op, entries[i].path);
        step->mode = entries[i].mode;
        add_text(plan, step, entries[i].text);
    }
}

static void add_owned_directory(struct plan *plan, const struct identity *identity,
                                const char *path)
{
    struct init_step *step = add_step(plan, INIT_OP_MKDIR, path);
    step->mode = 0755;
    step->uid = identity->uid;
    step->gid = identity->gid;
}

/* Mounts that carry options: "key\0value\0...\0". */
static uint32_t add_options(struct plan *plan, const char *const *options, size_t count)
{
    uint32_t offset = (uint32_t)plan->blob.length;
    for (size_t i = 0; i < count; i++)
        hutch_buf_append(&plan->blob, options[i], strlen(options[i]) + 1);
    hutch_buf_append(&plan->blob, "", 1);
    return offset;
}

static int plan_system_name(struct plan *plan, const char *name, struct hutch_error *err)
{
    char host[32];
    char target[128];
    struct stat info;
    (void)snprintf(host, sizeof(host), "/%s", name);
    if (lstat(host, &info) < 0)
        return 0;
    if (S_ISDIR(info.st_mode)) {
        int tree = add_attach(plan, host, name, PLAN_IDS_PLAIN, INERT_RO, 0, err);
        return tree < 0 ? tree : 0;
    }
    ssize_t length = readlink(host, target, sizeof(target) - 1);
    if (length < 0)
        return 0;
    target[length] = '\0';
    add_text(plan, add_step(plan, INIT_OP_SYMLINK, name), target);
    return 0;
}

/* The zone is a symlink into /usr on most hosts, else a file of its own. */
static int plan_localtime(struct plan *plan, struct hutch_error *err)
{
    char target[256];
    ssize_t length = readlink("/etc/localtime", target, sizeof(target) - 1);
    if (length < 0) {
        int tree = add_attach(plan, "/etc/localtime", "etc/localtime", PLAN_IDS_PLAIN, INERT_RO,
                              INIT_STEP_OPTIONAL, err);
        return tree < 0 ? tree : 0;
    }
    target[length] = '\0';
    add_text(plan, add_step(plan, INIT_OP_SYMLINK, "etc/localtime"), target);
    return 0;
}

static int plan_host_root(struct plan *plan, struct hutch_error *err)
{
    int usr = add_attach(plan, "/usr", "usr", PLAN_IDS_PLAIN, INERT_RO, 0, err);
    if (usr < 0)
        return usr;
    plan->trees[usr].kind = INIT_TREE_DIRECTORY;
    for (size_t i = 0; i < HUTCH_COUNT(system_names); i++)
        if (plan_system_name(plan, system_names[i], err) < 0)
            return -(int)err->code;
    add_entries(plan, skeleton, HUTCH_COUNT(skeleton));
    add_entries(plan, host_root_files, HUTCH_COUNT(host_root_files));
    for (size_t i = 0; i < HUTCH_COUNT(etc_shared); i++) {
        char host[64];
        (void)snprintf(host, sizeof(host), "/%s", etc_shared[i]);
        if (add_attach(plan, host, etc_shared[i], PLAN_IDS_PLAIN, INERT_RO, INIT_STEP_OPTIONAL,
                       err) < 0)
            return -(int)err->code;
    }
    return plan_localtime(plan, err);
}

/* What an image has in /dev is not wanted. A layer in memory lends a directory for a fresh one; one
 * on disk is no place for shared memory. */
static void plan_fresh_dev(struct plan *plan, bool in_memory)
{
    static const char *const options[] = {"size", "64m", "mode", "0755", "nr_inodes", "4096"};
    struct init_step *step = add_step(plan, in_memory ? INIT_OP_LEND : INIT_OP_TMPFS, "dev");
    if (in_memory)
        add_text(plan, step, "dev");
    else
        step->text = add_options(plan, options, HUTCH_COUNT(options));
}

/* All layers enter as one tree: the directory that holds them. */
static int add_layers(struct plan *plan, const struct image_use *image, struct hutch_error *err)
{
    char path[PATH_MAX];
    if (image_use_layers_path(image, path, sizeof(path), err) < 0)
        return -(int)err->code;
    int tree = add_tree(plan, path, PLAN_IDS_ROOTFS, INERT_RO, err);
    plan->header.lower_names = (uint32_t)plan->blob.length;
    if (!image_use_name_layers(image, &plan->blob)) /* the writable layer has one */
        plan->header.lower_names = blob_text(&plan->blob, "../empty");
    return tree;
}

/* The image's own working directory is made where it is missing, before anything of the host's is
 * mounted in which it could be made. */
static void plan_image_workdir(struct plan *plan, const struct plan_input *input)
{
    if (input->image->workdir && input->image->workdir == input->image->image.workdir) {
        struct init_step *step = add_step(plan, INIT_OP_MKDIR, input->image->workdir);
        step->mode = 0755;
        step->uid = input->identity->uid;
        step->gid = input->identity->gid;
        step->flags = INIT_STEP_INSIDE | INIT_STEP_OPTIONAL;
    }
}

/* A foreign root keeps what it has; only what must be there is added. */
static int plan_foreign_root(struct plan *plan, const struct plan_input *input,
                             struct hutch_error *err)
{
    int tree = input->image ? add_layers(plan, input->image, err)
                            : add_tree(plan, input->spec->rootfs, PLAN_IDS_ROOTFS, INERT_RO, err);
    if (tree < 0)
        return tree;
    plan->trees[tree].directory = true;
    plan->header.lower_tree = tree;
    add_entries(plan, skeleton, HUTCH_COUNT(skeleton));
    if (input->image)
        plan_image_workdir(plan, input);
    return 0;
}

/* A foreign root whose /etc belongs to an id that the sandbox does not have goes without them: not
 * even its root may write there. */
static void plan_hosts(struct plan *plan, const char *hostname)
{
    uint16_t flags = plan->header.lower_tree >= 0 ? INIT_STEP_OPTIONAL : 0;
    char text[512];
    (void)snprintf(text, sizeof(text), "127.0.0.1 localhost %s\n::1 localhost %s\n", hostname,
                   hostname);
    struct init_step *hosts = add_step(plan, INIT_OP_FILE, "etc/hosts");
    hosts->mode = 0644;
    hosts->flags = flags;
    add_text(plan, hosts, text);
    (void)snprintf(text, sizeof(text), "%s\n", hostname);
    struct init_step *name = add_step(plan, INIT_OP_FILE, "etc/hostname");
    name->mode = 0644;
    name->flags = flags;
    add_text(plan, name, text);
}

/* Names are asked for where the gateway answers, whatever the root has had to say about it. A
 * gateway that has just died is back before a question is repeated. */
static void plan_resolver(struct plan *plan)
{
    struct init_step *file = add_step(plan, INIT_OP_FILE, "etc/resolv.conf");
    file->mode = 0644;
    file->flags = INIT_STEP_REPLACE;
    add_text(plan, file, "nameserver " PLANT_SERVER_4 "\noptions timeout:1 attempts:3\n");
    if (plan->header.lower_tree < 0)
        return;
    struct init_step *sources = add_step(plan, INIT_OP_FILE, "etc/nsswitch.conf");
    sources->mode = 0644;
    sources->flags = INIT_STEP_OPTIONAL;
    add_text(plan, sources, "hosts: files dns\n");
}

/* Where a command writes although the root is read-only. Before anything is mounted there, which it
 * would cover. */
static void plan_writable_places(struct plan *plan, const struct plan_input *input)
{
    const struct hutch_workspace *workspace = &input->spec->workspace;
    (void)add_step(plan, INIT_OP_KEEP, "tmp");
    (void)add_step(plan, INIT_OP_KEEP, "home");
    if (!workspace->path || workspace->mode == HUTCH_WORKSPACE_COPY)
        (void)add_step(plan, INIT_OP_KEEP, "workspace");
    if (input->spec->artifacts)
        (void)add_step(plan, INIT_OP_KEEP, "artifacts");
    plan->header.read_only = 1;
}

static int plan_devices(struct plan *plan, struct hutch_error *err)
{
    /* max: all instances together have kernel.pty.max, which one sandbox could use up */
    static const char *const options[] = {"ptmxmode", "0666", "mode", "0620", "max", "64"};
    for (size_t i = 0; i < HUTCH_COUNT(devices); i++) {
        int tree = add_attach(plan, devices[i], devices[i], PLAN_IDS_PLAIN, DEVICE_ATTRS, 0, err);
        if (tree < 0)
            return tree;
        plan->trees[tree].kind = INIT_TREE_FILE;
    }
    add_entries(plan, dev_links, HUTCH_COUNT(dev_links));
    struct init_step *step = add_step(plan, INIT_OP_DEVPTS, "dev/pts");
    step->text = add_options(plan, options, HUTCH_COUNT(options));
    return 0;
}

static void add_covers(struct plan *plan, enum init_op op, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)add_step(plan, op, paths[i]);
}

static void plan_proc(struct plan *plan)
{
    (void)add_step(plan, INIT_OP_PROC, "proc");
    add_covers(plan, INIT_OP_MASK_FILE, proc_masked_files, HUTCH_COUNT(proc_masked_files));
    add_covers(plan, INIT_OP_MASK_DIRECTORY, proc_masked_directories,
               HUTCH_COUNT(proc_masked_directories));
}

static int plan_workspace(struct plan *plan, const struct plan_input *input,
                          struct hutch_error *err)
{
    static const char layers[] = "workspace-lower\0workspace-upper\0workspace-work";
    const struct hutch_workspace *workspace = &input->spec->workspace;
    if (!workspace->path)
        return 0;
    uint32_t attrs = workspace->mode == HUTCH_WORKSPACE_RW ? INERT : INERT_RO;
    int tree = add_tree(plan, workspace->path, PLAN_IDS_OWNER, attrs, err);
    if (tree < 0)
        return tree;
    plan->trees[tree].directory = true;
    static const enum init_op ops[] = {[HUTCH_WORKSPACE_RW] = INIT_OP_ATTACH,
                                       [HUTCH_WORKSPACE_RO] = INIT_OP_ATTACH,
                                       [HUTCH_WORKSPACE_OVERLAY] = INIT_OP_OVERLAY,
                                       [HUTCH_WORKSPACE_COPY] = INIT_OP_COPY};
    struct init_step *step = add_step(plan, ops[workspace->mode], "workspace");
    step->tree = tree;
    step->uid = input->identity->uid;
    step->gid = input->identity->gid;
    if (workspace->mode == HUTCH_WORKSPACE_OVERLAY) {
        plan->header.hide_writable = 1;
        step->text = (uint32_t)plan->blob.length;
        hutch_buf_append(&plan->blob, layers, sizeof(layers));
    }
    return 0;
}

static int plan_user_mounts(struct plan *plan, const struct plan_input *input,
                            struct hutch_error *err)
{
    const struct hutch_spec *spec = input->spec;
    for (size_t i = 0; i < spec->mounts.count; i++) {
        const struct hutch_mount *mount = &spec->mounts.items[i];
        if (add_attach(plan, mount->source, mount->target, PLAN_IDS_OWNER,
                       mount->read_only ? INERT_RO : INERT, INIT_STEP_USER, err) < 0)
            return -(int)err->code;
    }
    for (size_t i = 0; i < spec->tmpfs.count; i++) {
        char size[32];
        char uid[16];
        char gid[16];
        (void)snprintf(size, sizeof(size), "%" PRIu64, spec->tmpfs.items[i].size_bytes);
        (void)snprintf(uid, sizeof(uid), "%u", input->identity->uid);
        (void)snprintf(gid, sizeof(gid), "%u", input->identity->gid);
        const char *const options[] = {"size", size, "mode", "0755", "uid", uid, "gid", gid};
        struct init_step *step = add_step(plan, INIT_OP_TMPFS, spec->tmpfs.items[i].target);
        step->flags = INIT_STEP_USER;
        step->text = add_options(plan, options, HUTCH_COUNT(options));
    }
    return 0;
}

/* What is the user's. /home/user exists unless the root's own passwd names another. */
static void plan_own_directories(struct plan *plan, const struct plan_input *input)
{
    const struct identity *identity = input->identity;
    const struct hutch_workspace *workspace = &input->spec->workspace;
    add_owned_directory(plan, identity, "home");
    if (!strncmp(identity->home, "/home/", 6))
        add_owned_directory(plan, identity, identity->home);
    if (!workspace->path || workspace->mode == HUTCH_WORKSPACE_COPY)
        add_owned_directory(plan, identity, "workspace");
    if (input->spec->artifacts)
        add_owned_directory(plan, identity, "artifacts");
}

static void plan_writable_layer(struct plan *plan, const struct plan_input *input)
{
    char size[32];
    char inodes[32];
    (void)snprintf(size, sizeof(size), "%" PRIu64, hutch_spec_disk_bytes(input->spec));
    (void)snprintf(inodes, sizeof(inodes), "%" PRIu64, input->spec->limits.inodes);
    const char *const options[] = {"size", size, "nr_inodes", inodes, "mode", "0755"};
    plan->header.writable_opts = add_options(plan, options, HUTCH_COUNT(options));
    if (input->writable_fd < 0)
        return;
    plan->trees[plan->tree_count] =
        (struct plan_tree){.given = input->writable_fd,
                           .ids = input->writable_kept ? PLAN_IDS_ROOTFS : PLAN_IDS_PLAIN,
                           .detached = input->writable_detached,
                           .attrs = INERT,
                           .fd = HUTCH_NO_FD};
    plan->header.writable_tree = (int32_t)plan->tree_count++;
}

int plan_build(struct plan *plan, const struct plan_input *input, struct hutch_error *err)
{
    const struct hutch_spec *spec = input->spec;
    plan->blob = (struct hutch_buf)HUTCH_BUF_IN(plan->first_blob, BLOB_CEILING);
    plan->is_confined = spec->policy.hash != NULL;
    plan->header = (struct init_plan){
        .writable_tree = -1, .lower_tree = -1, .keeps_writable = input->keeps_writable};
    hutch_buf_append(&plan->blob, &plan->header, sizeof(plan->header));
    plan_writable_layer(plan, input);
    plan->header.hostname = blob_text(&plan->blob, spec->hostname);
    bool is_foreign = spec->rootfs || input->image;
    int status = is_foreign ? plan_foreign_root(plan, input, err) : plan_host_root(plan, err);
    if (status < 0)
        return status;
    /* before the first mount: what comes first in a plan is cheap, see src/init/layer.c */
    plan_hosts(plan, spec->hostname);
    if (input->has_egress)
        plan_resolver(plan);
    plan_own_directories(plan, input);
    if (spec->read_only)
        plan_writable_places(plan, input);
    if (is_foreign)
        plan_fresh_dev(plan, input->writable_fd < 0 || input->writable_detached);
    if (plan_devices(plan, err) < 0)
        return -(int)err->code;
    if (spec->read_only)
        (void)add_step(plan, INIT_OP_KEEP, "dev/shm");
    plan_proc(plan);
    if (plan_workspace(plan, input, err) < 0)
        return -(int)err->code;
    if (spec->artifacts)
        plan->header.artifacts = blob_text(&plan->blob, "artifacts");
    return plan_user_mounts(plan, input, err);
}

int plan_add_tree(struct plan *plan, const char *source, const char *target,
                  struct hutch_error *err)
{
    int tree = add_attach(plan, source, target, PLAN_IDS_PLAIN, INERT_RO, 0, err);
    return tree < 0 ? tree : 0;
}

/* Nobody inside can add to it but who is root there. */
void plan_add_secrets(struct plan *plan, size_t count)
{
    char size[32];
    char inodes[32];
    (void)snprintf(size, sizeof(size), "%zu", (count + 1) * (SECRET_MAX_BYTES + 4096));
    (void)snprintf(inodes, sizeof(inodes), "%zu", count + 2);
    const char *const options[] = {"size", size, "nr_inodes", inodes, "mode", "0755"};
    struct init_step *step = add_step(plan, INIT_OP_TMPFS, INIT_SECRETS);
    step->text = add_options(plan, options, HUTCH_COUNT(options));
}

static int add_memory_file(struct plan *plan, enum init_op op, const char *target, int memfd,
                           struct init_step **ret_step, struct hutch_error *err)
{
    int tree = add_tree(plan, target, PLAN_IDS_PLAIN, 0, err);
    if (tree < 0) {
        (void)close(memfd);
        return tree;
    }
    plan->trees[tree].fd = memfd;
    plan->trees[tree].is_secret = true;
    plan->trees[tree].kind = INIT_TREE_FILE;
    *ret_step = add_step(plan, op, target);
    (*ret_step)->tree = tree;
    return 0;
}

int plan_add_secret(struct plan *plan, const struct identity *identity, const char *target,
                    int memfd, struct hutch_error *err)
{
    struct init_step *step;
    if (add_memory_file(plan, INIT_OP_SECRET, target, memfd, &step, err) < 0)
        return -(int)err->code;
    step->mode = 0400;
    step->uid = identity->uid;
    step->gid = identity->gid;
    step->flags = INIT_STEP_USER;
    return 0;
}

int plan_add_trust(struct plan *plan, int memfd, struct hutch_error *err)
{
    static const char *const options[] = {"size", "16m", "nr_inodes", "8", "mode", "0755"};
    struct init_step *step = add_step(plan, INIT_OP_TMPFS, INIT_TRUST);
    step->text = add_options(plan, options, HUTCH_COUNT(options));
    return add_memory_file(plan, INIT_OP_TRUST, INIT_TRUST, memfd, &step, err);
}

void plan_close_secrets(struct plan *plan)
{
    for (size_t i = 0; i < plan->tree_count; i++)
        if (plan->trees[i].is_secret)
            hutch_fd_close(&plan->trees[i].fd);
}

int plan_finish(struct plan *plan, bool privileged, struct hutch_error *err)
{
    hutch_autofree struct init_tree *trees = calloc(plan->tree_count + 1, sizeof(*trees));
    if (!trees)
        return hutch_fail_nomem(err);
    for (size_t i = 0; i < plan->tree_count; i++) {
        if (plan->trees[i].fd < 0 && !privileged)
            trees[i].path = blob_text(&plan->blob, plan->trees[i].path);
        trees[i].absent = plan->trees[i].fd < 0 && privileged;
        trees[i].optional = plan->trees[i].optional;
        trees[i].attrs = plan->trees[i].attrs;
        trees[i].kind = plan->trees[i].kind;
    }
    struct init_plan *header = &plan->header;
    header->tree_count = (uint32_t)plan->tree_count;
    header->trees = blob_add(&plan->blob, trees, plan->tree_count * sizeof(*trees));
    header->step_count = (uint32_t)plan->step_count;
    header->steps = blob_add(&plan->blob, plan->steps, plan->step_count * sizeof(*plan->steps));
    header->size = (uint32_t)plan->blob.length;
    if (!plan->blob.failed)
        memcpy(plan->blob.data, header, sizeof(*header));
    return 0;
}

void plan_describe_step(const struct plan *plan, uint32_t index, char *text, size_t size)
{
    static const char *const verbs[] = {
        [INIT_OP_MKDIR] = "make directory",     [INIT_OP_FILE] = "write file",
        [INIT_OP_SYMLINK] = "make symlink",     [INIT_OP_ATTACH] = "mount",
        [INIT_OP_PROC] = "mount proc",          [INIT_OP_DEVPTS] = "mount devpts",
        [INIT_OP_TMPFS] = "mount tmpfs",        [INIT_OP_LEND] = "lend",
        [INIT_OP_MASK_FILE] = "mask",           [INIT_OP_MASK_DIRECTORY] = "mask",
        [INIT_OP_OVERLAY] = "mount overlay of", [INIT_OP_COPY] = "copy",
        [INIT_OP_SECRET] = "make the secret",   [INIT_OP_TRUST] = "write certificates into",
        [INIT_OP_KEEP] = "keep writable",
    };
    if (index >= plan->step_count) {
        (void)snprintf(text, size, "build the sandbox");
        return;
    }
    const struct init_step *step = &plan->steps[index];
    const char *path = plan->blob.data + step->path;
    const char *source = step->tree >= 0 ? plan->trees[step->tree].path : NULL;
    if (step->op == INIT_OP_SECRET || step->op == INIT_OP_TRUST)
        source = NULL; /* its path is the target */
    if (source)
        (void)snprintf(text, size, "%s '%.150s' at '/%.150s'", verbs[step->op], source, path);
    else
        (void)snprintf(text, size, "%s '/%.200s'", verbs[step->op], path);
}

void plan_done(struct plan *plan)
{
    for (size_t i = 0; i < plan->tree_count; i++) {
        free(plan->trees[i].path);
        hutch_fd_close(&plan->trees[i].fd);
    }
    if (plan->steps != plan->first_steps)
        free(plan->steps);
    plan->steps = NULL;
    plan->tree_count = plan->step_count = plan->step_capacity = 0;
    hutch_buf_done(&plan->blob);
}
