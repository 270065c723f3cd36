/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json_in.h"
#include "image/docker_config.h"
#include "util/fs.h"
#include "util/json_out.h"
#include "util/own.h"

enum { FILE_CEILING = 4 << 20, WRITTEN_CEILING = 8 << 20 };

/* "path" + "/config.json", where a link leads when it is one. False: there is no place for it. */
static bool find_path(char path[DOCKER_CONFIG_PATH_BYTES])
{
    const char *directory = getenv("DOCKER_CONFIG");
    const char *home = getenv("HOME");
    int length;
    if (directory && *directory)
        length = snprintf(path, DOCKER_CONFIG_PATH_BYTES, "%s/config.json", directory);
    else if (home && *home == '/')
        length = snprintf(path, DOCKER_CONFIG_PATH_BYTES, "%s/.docker/config.json", home);
    else
        return false;
    if (length < 0 || length >= DOCKER_CONFIG_PATH_BYTES)
        return false;
    hutch_autofree char *real = realpath(path, NULL);
    if (real && strlen(real) < DOCKER_CONFIG_PATH_BYTES)
        memcpy(path, real, strlen(real) + 1);
    return true;
}

/* Two who write at once would lose what one of them wrote. */
static int lock_directory(struct docker_config *config, struct hutch_error *err)
{
    char directory[DOCKER_CONFIG_PATH_BYTES];
    if (!*config->path)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "there is no place to keep a login; set HOME or DOCKER_CONFIG");
    (void)snprintf(directory, sizeof(directory), "%s", config->path);
    *strrchr(directory, '/') = '\0';
    if (*directory == '/' && hutch_mkdir_p(directory, 0700) < 0)
        return hutch_fail_errno(err, errno, "make '%.200s'", directory);
    config->lock = open(*directory ? directory : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (config->lock < 0 || flock(config->lock, LOCK_EX) < 0)
        return hutch_fail_errno(err, errno, "lock '%.200s'", directory);
    return 0;
}

static int read_config(struct docker_config *config, struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    size_t length = 0;
    config->root.type = HUTCH_VALUE_OBJECT;
    if (!*config->path || (access(config->path, F_OK) < 0 && errno == ENOENT))
        return 0;
    int r = hutch_read_file(config->path, FILE_CEILING, &text, &length, err);
    if (r < 0)
        return r;
    if (strspn(text, " \t\r\n") == length)
        return 0;
    struct hutch_value root = {0};
    r = hutch_json_parse(text, length, &root, err);
    if (r < 0)
        return hutch_wrap(err, "'%s': ", config->path);
    config->root = root;
    if (root.type != HUTCH_VALUE_OBJECT)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%s': %s stands where an object must be",
                          config->path, hutch_value_kind(&root));
    return 0;
}

int docker_config_load(struct docker_config *ret_config, bool to_write, struct hutch_error *err)
{
    struct docker_config config = {.lock = HUTCH_NO_FD};
    int r = 0;
    if (!find_path(config.path))
        *config.path = '\0';
    if (to_write)
        r = lock_directory(&config, err);
    if (r == 0)
        r = read_config(&config, err);
    if (r < 0)
        docker_config_done(&config);
    else
        *ret_config = config;
    return r;
}

void docker_config_done(struct docker_config *config)
{
    hutch_value_done(&config->root);
    hutch_fd_close(&config->lock);
}

static void indent(struct hutch_buf *buf, unsigned depth)
{
    hutch_buf_puts(buf, "\n");
    for (unsigned i = 0; i < depth; i++)
        hutch_buf_puts(buf, "\t");
}

static void write_string(struct hutch_buf *buf, const char *text, size_t length)
{
    struct hutch_json_out out = {buf, false};
    hutch_json_stringn(&out, NULL, text, length);
}

static void write_value(struct hutch_buf *buf, const struct hutch_value *value, unsigned depth);

static void write_list(struct hutch_buf *buf, const struct hutch_value *list, unsigned depth)
{
    const char *brackets = list->type == HUTCH_VALUE_OBJECT ? "{}" : "[]";
    hutch_buf_append(buf, brackets, 1);
    for (size_t i = 0; i < list->list.count; i++) {
        const struct hutch_value *item = &list->list.items[i];
        if (i > 0)
            hutch_buf_puts(buf, ",");
        indent(buf, depth + 1);
        if (list->type == HUTCH_VALUE_OBJECT) {
            write_string(buf, item->key, strlen(item->key));
            hutch_buf_puts(buf, ": ");
        }
        write_value(buf, item, depth + 1);
    }
    if (list->list.count > 0)
        indent(buf, depth);
    hutch_buf_append(buf, brackets + 1, 1);
}

/* As docker writes it: people read it. */
static void write_value(struct hutch_buf *buf, const struct hutch_value *value, unsigned depth)
{
    switch (value->type) {
    case HUTCH_VALUE_BOOL:
        hutch_buf_puts(buf, value->boolean ? "true" : "false");
        break;
    case HUTCH_VALUE_INTEGER:
        hutch_buf_printf(buf, "%" PRId64, value->integer);
        break;
    case HUTCH_VALUE_NUMBER:
        hutch_buf_printf(buf, "%.17g", value->number);
        break;
    case HUTCH_VALUE_STRING:
        write_string(buf, value->string.bytes, value->string.length);
        break;
    case HUTCH_VALUE_ARRAY:
    case HUTCH_VALUE_OBJECT:
        write_list(buf, value, depth);
        break;
    case HUTCH_VALUE_NULL:
    case HUTCH_VALUE_TYPES:
        hutch_buf_puts(buf, "null");
        break;
    }
}

static int write_file(const char *path, const char *text, size_t length, struct hutch_error *err)
{
    hutch_autofd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return hutch_fail_errno(err, errno, "make '%.300s'", path);
    if (fchmod(fd, 0600) < 0 || hutch_write_all(fd, text, length) < 0 || fsync(fd) < 0)
        return hutch_fail_errno(err, errno, "write '%.300s'", path);
    return 0;
}

int docker_config_save(const struct docker_config *config, struct hutch_error *err)
{
    char temporary[DOCKER_CONFIG_PATH_BYTES + 16];
    hutch_autofree char *text = NULL;
    size_t length = 0;
    struct hutch_buf buf = HUTCH_BUF(WRITTEN_CEILING);
    write_value(&buf, &config->root, 0);
    hutch_buf_puts(&buf, "\n");
    int r = hutch_buf_take(&buf, &text, &length, err);
    hutch_buf_done(&buf);
    if (r < 0)
        return r;
    (void)snprintf(temporary, sizeof(temporary), "%s.hutch", config->path);
    (void)unlink(temporary); /* of somebody who was killed: we hold the lock */
    r = write_file(temporary, text, length, err);
    if (r == 0 && rename(temporary, config->path) < 0)
        r = hutch_fail_errno(err, errno, "replace '%.300s'", config->path);
    if (r < 0)
        (void)unlink(temporary);
    return r;
}
