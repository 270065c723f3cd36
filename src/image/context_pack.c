/* SPDX-License-Identifier: Apache-2.0 */
#include "image/context_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/context_rules.h"
#include "util/fs.h"
#include "util/own.h"

#define IGNORE_MAX_BYTES (1u << 20)
#define OWN_DOCKERFILE ".hutch-dockerfile"

void context_pack_done(struct context_pack *pack)
{
    ignore_done(&pack->ignore);
    free(pack->ignore_text);
    hutch_fd_close(&pack->dir);
    *pack = (struct context_pack){.dir = HUTCH_NO_FD};
}

/* ---- the ignore file ---- */

/* The places where buildah looks, in its order: beside the Dockerfile, then in the directory. */
static const struct {
    const char *name; /* in the directory, or what follows the Dockerfile's */
    bool is_beside;
} places[] = {
    {CONTEXT_IGNORE, true},
    {CONTEXT_IGNORE_OF_PODMAN, true},
    {CONTEXT_IGNORE_OF_PODMAN, false},
    {CONTEXT_IGNORE, false},
};

static int open_place(const struct context_pack *pack, const char *dockerfile, size_t place)
{
    hutch_autofree char *path = NULL;
    const char *name = places[place].name;
    if (places[place].is_beside && asprintf(&path, "%s%s", dockerfile, name) < 0) {
        path = NULL;
        errno = ENOMEM;
        return -1;
    }
    return openat(path ? AT_FDCWD : pack->dir, path ? path : name,
                  O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static int read_ignore(struct context_pack *pack, int fd, const char *name, char **ret_text,
                       struct hutch_error *err)
{
    char path[32];
    struct stat info;
    size_t length = 0;
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%s' of the build is no file", name);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int r = hutch_read_file(path, IGNORE_MAX_BYTES, ret_text, &length, err);
    if (r < 0)
        return r;
    if (strlen(*ret_text) != length) /* what follows would be sent although it is not wanted */
        return hutch_fail(err, HUTCH_E_INVALID, 0, "there is a zero byte in it; write it as UTF-8");
    return ignore_parse(*ret_text, &pack->ignore, err);
}

/* *ret_text: of the directory's own .dockerignore, where that is the one; NULL otherwise. */
static int find_ignore(struct context_pack *pack, const char *dockerfile, char **ret_text,
                       bool *ret_is_other, struct hutch_error *err)
{
    for (size_t i = 0; i < HUTCH_COUNT(places); i++) {
        hutch_autofree char *text = NULL;
        bool is_usual = !strcmp(places[i].name, CONTEXT_IGNORE) && !places[i].is_beside;
        hutch_autofd int fd = open_place(pack, dockerfile, i);
        if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
            continue;
        if (fd < 0)
            return hutch_fail_errno(err, errno, "open '%s' of the build", places[i].name);
        int r = read_ignore(pack, fd, places[i].name, &text, err);
        if (r < 0)
            return hutch_wrap(err, "%s: ", places[i].name);
        *ret_is_other = !is_usual;
        if (is_usual)
            *ret_text = HUTCH_TAKE_PTR(text);
        return 0;
    }
    return 0;
}

/* ---- the Dockerfile ---- */

/* Its path in the directory, where it is a file in there. */
static bool is_inside(const struct build_request *request, char ret_name[PATH_MAX])
{
    char file[PATH_MAX], top[PATH_MAX];
    struct stat info;
    if (!realpath(request->dockerfile, file) || !realpath(request->directory, top) ||
        stat(file, &info) < 0 || !S_ISREG(info.st_mode))
        return false;
    size_t length = strcmp(top, "/") ? strlen(top) : 0;
    if (strncmp(file, top, length) != 0 || file[length] != '/')
        return false;
    (void)snprintf(ret_name, PATH_MAX, "%s", file + length + 1);
    return true;
}

/* An engine removes it, by what .dockerignore says, before the first step; without one of the
 * directory's own that goes as well. */
static int put_beside(struct context_pack *pack, const char *text, const char *ignore_text,
                      struct hutch_error *err)
{
    pack->dockerfile_text = text;
    (void)snprintf(pack->dockerfile, sizeof(pack->dockerfile), OWN_DOCKERFILE);
    if (asprintf(&pack->ignore_text, "%s\n" OWN_DOCKERFILE "\n",
                 ignore_text ? ignore_text : CONTEXT_IGNORE) >= 0)
        return 0;
    pack->ignore_text = NULL;
    return hutch_fail_nomem(err);
}

static int place_dockerfile(struct context_pack *pack, const struct build_request *request,
                            const char *ignore_text, bool is_other, struct hutch_error *err)
{
    if (!is_inside(request, pack->dockerfile))
        return put_beside(pack, request->text, ignore_text, err);
    if (!ignore_excludes(&pack->ignore, pack->dockerfile))
        return 0;
    if (is_other || strchr(pack->dockerfile, '/'))
        return put_beside(pack, request->text, ignore_text, err);
    /* the engine leaves out both, where it is told to */
    pack->keeps_dockerfile = true;
    pack->ignore_text = ignore_text ? strdup(ignore_text) : NULL;
    return pack->ignore_text ? 0 : hutch_fail_nomem(err);
}

int context_pack_plan(const struct build_request *request, struct context_pack *pack,
                      struct hutch_error *err)
{
    hutch_autofree char *ignore_text = NULL;
    bool is_other = false;
    *pack =
        (struct context_pack){.dir = open(request->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (pack->dir < 0)
        return hutch_fail_errno(err, errno, "open '%.200s'", request->directory);
    pack->options = (struct tar_pack_options){.dir = pack->dir,
                                              .path = ".",
                                              .map_owner = context_owner,
                                              .context = pack,
                                              .rules = &context_rules};
    int r = find_ignore(pack, request->dockerfile, &ignore_text, &is_other, err);
    if (r >= 0)
        r = place_dockerfile(pack, request, ignore_text, is_other, err);
    if (r < 0)
        context_pack_done(pack);
    return r;
}
