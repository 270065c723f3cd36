/* SPDX-License-Identifier: Apache-2.0 */
/* "-u USER[:GROUP]" against the passwd and group files of the root that the command will see. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/native/host_root.h"
#include "backend/native/identity.h"
#include "core/check.h"
#include "util/fs.h"
#include "util/own.h"

#define PASSWD_CEILING (1u << 20)

struct account {
    const char *name;
    uint32_t uid;
    uint32_t gid;
    const char *home;
};

/* Beneath the foreign root by descriptor: its /etc may be a symlink to anywhere. Opened only once
 * it is known to be a plain file: a FIFO would wait for a writer, a device would be the host's. */
static int open_file_beneath(const char *rootfs, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    struct stat info;
    char self[32];
    hutch_autofd int root = open(rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return HUTCH_NO_FD;
    hutch_autofd int file = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
    if (file < 0 || fstat(file, &info) < 0 || !S_ISREG(info.st_mode))
        return HUTCH_NO_FD;
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", file);
    return open(self, O_RDONLY | O_CLOEXEC);
}

/* NULL where there is no such file. */
static char *read_of_root(const struct hutch_spec *spec, const struct image_use *image,
                          const char *path)
{
    struct hutch_error none = HUTCH_ERROR_INIT;
    hutch_autofd int fd = image ? image_open_file(&image->store, &image->image, path, &none)
                                : open_file_beneath(spec->rootfs, path);
    if (fd < 0)
        return NULL;
    char *text = calloc(1, PASSWD_CEILING);
    if (!text)
        return NULL;
    ssize_t length = read(fd, text, PASSWD_CEILING - 1);
    text[length > 0 ? length : 0] = '\0';
    return text;
}

/* Splits "a:b:c" in place. Returns the number of fields. */
static size_t split_fields(char *line, char **fields, size_t max)
{
    size_t count = 0;
    while (count < max) {
        fields[count++] = line;
        line = strchr(line, ':');
        if (!line)
            break;
        *line++ = '\0';
    }
    return count;
}

static bool parse_id(const char *text, uint32_t *ret_id)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || *end || value > 65535)
        return false;
    *ret_id = (uint32_t)value;
    return true;
}

/* Finds a line whose name, or whose id in column 2, is wanted. Column 3 of passwd is the gid,
 * column 5 the home. */
static bool find_account(char *text, const char *name, bool is_group, struct account *ret_account)
{
    uint32_t wanted_id;
    bool numeric = parse_id(name, &wanted_id);
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *fields[7] = {0};
        struct account account = {0};
        size_t count = split_fields(line, fields, HUTCH_COUNT(fields));
        if (count < (is_group ? 3 : 6) || !parse_id(fields[2], &account.uid))
            continue;
        if (numeric ? account.uid != wanted_id : strcmp(fields[0], name) != 0)
            continue;
        if (!is_group && !parse_id(fields[3], &account.gid))
            continue;
        account.name = fields[0];
        account.home = is_group ? NULL : fields[5];
        *ret_account = account;
        return true;
    }
    return false;
}

static int resolve_user(struct identity *identity, char *passwd, const char *user,
                        struct hutch_error *err)
{
    struct account account = {0};
    if (passwd && find_account(passwd, user, false, &account)) {
        identity->uid = account.uid;
        identity->gid = account.gid;
        (void)snprintf(identity->home, sizeof(identity->home), "%s", account.home);
        (void)snprintf(identity->name, sizeof(identity->name), "%s", account.name);
        return 0;
    }
    if (!parse_id(user, &identity->uid))
        return hutch_fail(
            err, HUTCH_E_NOT_FOUND, 0,
            "user '%.100s' is not in the sandbox's /etc/passwd; give a number from 0 to 65535 "
            "or a name it has",
            user);
    identity->gid = identity->uid;
    (void)snprintf(identity->name, sizeof(identity->name), "%u", identity->uid);
    (void)snprintf(identity->home, sizeof(identity->home), "/");
    return 0;
}

static int resolve_group(struct identity *identity, char *group_file, const char *group,
                         struct hutch_error *err)
{
    struct account account = {0};
    if (parse_id(group, &identity->gid))
        return 0;
    if (!group_file || !find_account(group_file, group, true, &account))
        return hutch_fail(
            err, HUTCH_E_NOT_FOUND, 0,
            "group '%.100s' is not in the sandbox's /etc/group; give a number from 0 to "
            "65535 or a name it has",
            group);
    identity->gid = account.uid;
    return 0;
}

const char *identity_asked(const struct hutch_spec *spec, const struct image_use *image)
{
    return image ? image->user : spec->user;
}

/* Not root, whatever an image is used to (docs/adr/0010). Where the image has an account of this
 * number, that is who it is. */
static void resolve_default(struct identity *identity, const struct hutch_spec *spec,
                            const struct image_use *image)
{
    struct account account = {0};
    hutch_autofree char *passwd = image ? read_of_root(spec, image, "etc/passwd") : NULL;
    char number[16];
    identity->uid = identity->gid = IDENTITY_DEFAULT_ID;
    (void)snprintf(identity->home, sizeof(identity->home), "/home/" IDENTITY_DEFAULT_NAME);
    (void)snprintf(identity->name, sizeof(identity->name), IDENTITY_DEFAULT_NAME);
    (void)snprintf(number, sizeof(number), "%d", IDENTITY_DEFAULT_ID);
    if (!passwd || !find_account(passwd, number, false, &account))
        return;
    identity->gid = account.gid;
    (void)snprintf(identity->home, sizeof(identity->home), "%s", account.home);
    (void)snprintf(identity->name, sizeof(identity->name), "%s", account.name);
}

int identity_resolve(struct identity *identity, const struct hutch_spec *spec,
                     const struct image_use *image, const char *user, struct hutch_error *err)
{
    bool is_foreign = image || spec->rootfs;
    *identity = (struct identity){0};
    if (!user) {
        resolve_default(identity, spec, image);
        return 0;
    }
    hutch_autofree char *name = strdup(user);
    if (!name)
        return hutch_fail_nomem(err);
    /* here all who ask for a user meet: a number that is none is never looked up as a name */
    if (hutch_check_user(name, err) < 0)
        return -(int)err->code;
    char *group = strchr(name, ':');
    if (group)
        *group++ = '\0';
    hutch_autofree char *passwd =
        is_foreign ? read_of_root(spec, image, "etc/passwd") : strdup(HOST_ROOT_PASSWD);
    if (resolve_user(identity, passwd, name, err) < 0)
        return -(int)err->code;
    if (!group)
        return 0;
    hutch_autofree char *groups =
        is_foreign ? read_of_root(spec, image, "etc/group") : strdup(HOST_ROOT_GROUP);
    return resolve_group(identity, groups, group, err);
}
