/* SPDX-License-Identifier: Apache-2.0 */
#include "image/layer_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "image/layer_rules.h"

/* docker and podman cannot write a layer with sparse files a second time as it was, and then refuse
 * to save or push it. Zeros cost nothing in gzip; but a file may claim any size. */
#define WHOLE_BYTES (UINT64_C(1) << 30)

static bool is_whiteout(const struct stat *info)
{
    return S_ISCHR(info->st_mode) && info->st_rdev == makedev(0, 0);
}

/* overlayfs writes the one with the option userxattr and the other without. */
static bool is_opaque(int fd)
{
    static const char *const names[] = {LAYER_OPAQUE_XATTR, "trusted.overlay.opaque"};
    char value[4];
    for (size_t i = 0; i < TAR_COUNT(names); i++)
        if (fgetxattr(fd, names[i], value, sizeof(value)) == 1 && value[0] == 'y')
            return true;
    return false;
}

static bool is_unwanted(const struct pack *pack)
{
    const struct layer_pack_work *work = pack->options->context;
    const struct hutch_strlist *without = work->options->without;
    const char *path = tar_text_of(&pack->dirs.path);
    return without && hutch_strlist_has(without, path + (strncmp(path, "./", 2) ? 0 : 2));
}

static int admit(struct pack *pack, const char *name, const struct stat *info)
{
    struct layer_pack_work *work = pack->options->context;
    bool has_no_place = S_ISSOCK(info->st_mode) || S_ISBLK(info->st_mode) ||
                        S_ISCHR(info->st_mode) ||
                        strncmp(name, LAYER_WHITEOUT, strlen(LAYER_WHITEOUT)) == 0;
    if (is_unwanted(pack))
        return 1;
    if (work->options->is_overlay && is_whiteout(info))
        return pack_mark(pack, LAYER_WHITEOUT, name) < 0 ? -1 : 1;
    work->left_out += has_no_place;
    return has_no_place;
}

static int entered(struct pack *pack, int fd)
{
    const struct layer_pack_work *work = pack->options->context;
    if (!work->options->is_overlay || !is_opaque(fd))
        return 0;
    return pack_mark(pack, "", LAYER_OPAQUE_FILE);
}

const struct tar_pack_rules layer_pack_rules = {
    .next = layer_next_name,
    .admit = admit,
    .xattrs = layer_get_xattrs,
    .entered = entered,
};

static int write_archive(void *context, const void *data, size_t length)
{
    const struct layer_pack_work *work = context;
    return deflate_write(work->deflate, data, length);
}

static void map_owner(void *context, uid_t *uid, gid_t *gid)
{
    const struct layer_pack_work *work = context;
    if (work->options->map_owner)
        work->options->map_owner(work->options->context, uid, gid);
}

static void make_root_owner(void *context, uid_t *uid, gid_t *gid)
{
    (void)context;
    *uid = 0;
    *gid = 0;
}

layer_map_owner *layer_owners_here(void)
{
    return geteuid() == 0 ? NULL : make_root_owner;
}

static int fail_pack(const struct tar_failure *failure, struct hutch_error *err)
{
    enum hutch_code code = failure->what == TAR_MEMORY ? HUTCH_E_NO_MEMORY : HUTCH_E_SYSTEM;
    return hutch_fail(err, code, failure->os_errno, "cannot make a layer: %s '%.200s'%s%s",
                      tar_failure_text(failure->what), failure->path, failure->os_errno ? ": " : "",
                      failure->os_errno ? strerror(failure->os_errno) : "");
}

/* Through the compressor when the work has one. */
static int pack_tree(struct layer_pack_work *work, struct hutch_error *err)
{
    struct tar_failure failure = {0};
    const struct tar_pack_options how = {
        .dir = work->options->dir,
        .path = ".",
        .map_owner = map_owner,
        .context = work,
        .whole_until = work->deflate ? WHOLE_BYTES : 0,
        .write = work->deflate ? write_archive : NULL,
        .rules = &layer_pack_rules,
    };
    int out = work->deflate ? -EBADF : work->options->out_fd;
    return tar_pack(&how, out, &failure) < 0 ? fail_pack(&failure, err) : 0;
}

int layer_pack_plain(const struct layer_pack_options *options, struct hutch_error *err)
{
    struct layer_pack_work work = {.options = options};
    return pack_tree(&work, err);
}

int layer_pack(const struct layer_pack_options *options, struct layer_packed *ret_packed,
               struct hutch_error *err)
{
    struct layer_pack_work work = {.options = options};
    int status = deflate_new(options->out_fd, &work.deflate, err);
    if (status == 0)
        status = pack_tree(&work, err);
    if (status == 0)
        status = deflate_finish(work.deflate, ret_packed, err);
    deflate_free(work.deflate);
    if (status == 0)
        ret_packed->left_out = work.left_out;
    return status;
}
