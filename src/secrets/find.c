/* SPDX-License-Identifier: Apache-2.0 */
/* Where the operator says where values come from: what $HUTCH_SECRETS names, a document or a
 * directory of secrets, and nothing else; or secrets.yml or secrets.json of the user's own
 * configuration, and after it that of /etc/hutch. A document can have commands started, so nobody
 * but root and the caller may be able to change it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "secrets/provider.h"
#include "util/fs.h"
#include "util/own.h"

#define DOCUMENT_MAX_BYTES (1u << 20)
#define SYSTEM_DIRECTORY "/etc/hutch"

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length > tail && !strcmp(text + length - tail, end);
}

static int fail_trust(const char *path, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                      "'%.200s' says where secrets come from and others can change it; it must be "
                      "root's or yours, and writable for its owner alone, as its directory must be",
                      path);
}

/* Who can write into its directory can put another in its place. */
static int check_directory(const char *path, struct hutch_error *err)
{
    char directory[PATH_MAX];
    struct stat info;
    const char *slash = strrchr(path, '/');
    (void)snprintf(directory, sizeof(directory), "%.*s", (int)(slash - path), path);
    if (stat(*directory ? directory : "/", &info) < 0)
        return hutch_fail_errno(err, errno, "look at '%.200s'", directory);
    bool is_sticky = info.st_mode & S_ISVTX;
    if (info.st_uid != 0 && info.st_uid != geteuid())
        return fail_trust(path, err);
    return info.st_mode & 022 && !is_sticky ? fail_trust(path, err) : 0;
}

static int read_document(int fd, const char *path, struct provider_config *config,
                         struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    size_t length = 0;
    char self[32];
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    if (hutch_read_file(self, DOCUMENT_MAX_BYTES, &text, &length, err) < 0 ||
        provider_config_parse(config, text, length, !ends_in(path, ".json"), err) < 0)
        return hutch_wrap(err, "'%.200s': ", path);
    config->path = strdup(path);
    return config->path ? 0 : hutch_fail_nomem(err);
}

/* 1: read, 0: there is none. */
static int take_document(const char *path, struct provider_config *config, struct hutch_error *err)
{
    struct stat info;
    hutch_autofd int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd < 0 || fstat(fd, &info) < 0)
        return hutch_fail_errno(err, errno, "open '%.200s'", path);
    if (!S_ISREG(info.st_mode))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.200s' is not a regular file", path);
    if (!provider_trusts(&info))
        return fail_trust(path, err);
    if (check_directory(path, err) < 0 || read_document(fd, path, config, err) < 0)
        return -(int)err->code;
    return 1;
}

static int take_directory(const char *path, struct provider_config *config, struct hutch_error *err)
{
    struct provider provider = {.kind = PROVIDER_DIRECTORY};
    if (hutch_strlist_add(&provider.source, path, err) < 0)
        return -(int)err->code;
    int status = provider_config_add(config, &provider, err);
    return status < 0 ? status : 1;
}

static int take_named(const char *path, struct provider_config *config, struct hutch_error *err)
{
    struct stat info;
    if (*path != '/')
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "HUTCH_SECRETS is '%.200s', it must be an absolute path", path);
    if (stat(path, &info) < 0)
        return hutch_fail_errno(err, errno, "open '%.200s', which HUTCH_SECRETS names", path);
    return S_ISDIR(info.st_mode) ? take_directory(path, config, err)
                                 : take_document(path, config, err);
}

/* Either of the two names, but not both: one of them would be forgotten. */
static int take_from(const char *directory, struct provider_config *config, struct hutch_error *err)
{
    static const char *const names[] = {"secrets.yml", "secrets.json"};
    char path[PATH_MAX];
    int found = 0;
    for (size_t i = 0; i < HUTCH_COUNT(names); i++) {
        struct provider_config other = {0};
        int length = snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
        if (length < 0 || (size_t)length >= sizeof(path))
            return 0;
        int status = take_document(path, &other, err);
        if (status < 0 || (status && found)) {
            provider_config_done(&other);
            return status < 0 ? status
                              : hutch_fail(err, HUTCH_E_CONFLICT, 0,
                                           "'%.200s' has both secrets.yml and secrets.json, keep "
                                           "one of them",
                                           directory);
        }
        if (status)
            *config = other;
        found |= status;
    }
    return found;
}

static bool user_directory(char path[PATH_MAX])
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    int length = 0;
    if (config && *config == '/')
        length = snprintf(path, PATH_MAX, "%s/hutch", config);
    else if (home && *home == '/')
        length = snprintf(path, PATH_MAX, "%s/.config/hutch", home);
    return length > 0 && length < PATH_MAX;
}

static int find(struct provider_config configs[PROVIDER_CONFIGS], size_t *count,
                struct hutch_error *err)
{
    char path[PATH_MAX];
    const char *named = getenv("HUTCH_SECRETS");
    if (named && *named) {
        int status = take_named(named, &configs[0], err);
        *count = 1;
        return status;
    }
    int found = user_directory(path) ? take_from(path, &configs[0], err) : 0;
    *count = found != 0;
    if (found < 0)
        return found;
    found = take_from(SYSTEM_DIRECTORY, &configs[*count], err);
    *count += found != 0;
    return found;
}

int provider_configs_find(struct provider_config configs[PROVIDER_CONFIGS], size_t *ret_count,
                          struct hutch_error *err)
{
    size_t count = 0;
    memset(configs, 0, sizeof(*configs) * PROVIDER_CONFIGS);
    int status = find(configs, &count, err);
    if (status < 0) {
        for (size_t i = 0; i < PROVIDER_CONFIGS; i++)
            provider_config_done(&configs[i]);
        return status;
    }
    *ret_count = count;
    return 0;
}
