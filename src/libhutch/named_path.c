/* SPDX-License-Identifier: Apache-2.0 */
#include "libhutch/named_path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "util/own.h"
#include "util/program.h"

/* Where they are, seen from the program: in the sources of a build tree, and in an installed one
 * wherever that has been moved to. */
static const struct {
    const char *program;
    const char *path;
} beside[] = {
    {"hutch", "../sandboxes"},       {"hutch", "../share/hutch/sandboxes"},
    {"hutch-full", "../sandboxes"},  {"hutch-full", "../../share/hutch/sandboxes"},
    {"hutch-serve", "../sandboxes"}, {"hutch-serve", "../../share/hutch/sandboxes"},
};

int named_check(const char *name, struct hutch_error *err)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t length = strlen(name);
    if (length && length <= 64 && strchr(first, *name) && strspn(name, rest) == length &&
        strchr(first, name[length - 1]) && !strstr(name, ".."))
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "'%.64s' is no name of a sandbox: it has at most 64 lower-case letters, "
                      "digits, '.', '_' and '-', and begins and ends with a letter or digit",
                      name);
}

static int add_beside(struct hutch_strlist *path, struct hutch_error *err)
{
    char self[PATH_MAX];
    char directory[PATH_MAX + 64];
    const char *slash = hutch_program_own(self);
    if (!slash)
        return 0;
    self[slash - self] = '\0';
    for (size_t i = 0; i < HUTCH_COUNT(beside); i++) {
        if (strcmp(slash + 1, beside[i].program) != 0)
            continue;
        (void)snprintf(directory, sizeof(directory), "%s/%s", self, beside[i].path);
        int r = hutch_strlist_add(path, directory, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_variable(struct hutch_strlist *path, struct hutch_error *err)
{
    const char *at = getenv("HUTCH_SANDBOXES");
    int r = 0;
    while (at && *at && r >= 0) {
        size_t length = strcspn(at, ":");
        if (length) /* nothing between two colons is nowhere */
            r = hutch_strlist_addn(path, at, length, err);
        at += length + (at[length] == ':');
    }
    return r;
}

int named_path(const char *const *first, struct hutch_strlist *ret_path, struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist path = {0};
    int r = 0;
    for (; first && *first && r >= 0; first++)
        r = hutch_strlist_add(&path, *first, err);
    if (r >= 0)
        r = add_variable(&path, err);
    if (r >= 0)
        r = hutch_strlist_add(&path, "configs/sandboxes", err);
    if (r >= 0)
        r = add_beside(&path, err);
    if (r >= 0)
        r = hutch_strlist_add(&path, HUTCH_DATADIR "/sandboxes", err);
    if (r < 0)
        return r;
    *ret_path = path;
    path = (struct hutch_strlist){0};
    return 0;
}

bool named_has(const char *sandbox, const char *file)
{
    char path[PATH_MAX];
    struct stat info;
    int length = snprintf(path, sizeof(path), "%s/%s", sandbox, file);
    return length > 0 && (size_t)length < sizeof(path) && stat(path, &info) == 0 &&
           S_ISREG(info.st_mode);
}

char *named_in(const char *directory, const char *name)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof(path))
        return NULL;
    if (!named_has(path, "Dockerfile") && !named_has(path, "sandbox.yml"))
        return NULL;
    return realpath(path, NULL);
}
