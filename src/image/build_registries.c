/* SPDX-License-Identifier: Apache-2.0 */
#include "image/build_registries.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "image/registries.h"
#include "util/buf.h"
#include "util/fs.h"
#include "util/own.h"

#define CONF_MAX_BYTES (1u << 20)
#define CA_MAX_BYTES (1u << 20)

static int write_file(int dir, const char *name, const char *data, size_t length,
                      struct hutch_error *err)
{
    hutch_autofd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || hutch_write_all(fd, data, length) < 0)
        return hutch_fail_errno(err, errno, "write '%s' for buildah", name);
    return 0;
}

/* A TOML string. */
static void add_text(struct hutch_buf *conf, const char *key, const char *text, size_t length)
{
    hutch_buf_printf(conf, "%s = \"", key);
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == '"' || text[i] == '\\')
            hutch_buf_printf(conf, "\\u%04x", (unsigned)(unsigned char)text[i]);
        else
            hutch_buf_append(conf, text + i, 1);
    }
    hutch_buf_puts(conf, "\"\n");
}

static void add_mirror(struct hutch_buf *conf, const char *url, bool is_insecure)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    size_t length = strlen(host);
    while (length && host[length - 1] == '/')
        length--;
    hutch_buf_puts(conf, "[[registry.mirror]]\n");
    add_text(conf, "location", host, length);
    hutch_buf_printf(conf, "insecure = %s\n",
                     is_insecure || !strncmp(url, "http://", 7) ? "true" : "false");
}

static void add_registry(struct hutch_buf *conf, const struct registry_settings *settings)
{
    hutch_buf_puts(conf, "[[registry]]\n");
    add_text(conf, "location", settings->name, strlen(settings->name));
    hutch_buf_printf(conf, "insecure = %s\n", settings->is_insecure ? "true" : "false");
    for (size_t i = 0; i < settings->mirrors.count; i++)
        add_mirror(conf, settings->mirrors.items[i], settings->is_insecure);
}

/* For the length of a build the authorities count for every registry: buildah takes one directory
 * of them. */
static int add_authority(int dir, size_t number, const char *path, struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    size_t length = 0;
    char name[48];
    int r = hutch_read_file(path, CA_MAX_BYTES, &text, &length, err);
    if (r < 0)
        return r;
    if (mkdirat(dir, BUILD_AUTHORITIES, 0700) < 0 && errno != EEXIST)
        return hutch_fail_errno(err, errno, "make a directory for buildah");
    (void)snprintf(name, sizeof(name), BUILD_AUTHORITIES "/%zu.crt", number);
    return write_file(dir, name, text, length, err);
}

int build_registries_write(int dir, struct hutch_error *err)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf conf = HUTCH_BUF(CONF_MAX_BYTES);
    struct registries registries = {0};
    int r = registries_load(&registries, err);
    if (r < 0)
        return r;
    hutch_buf_puts(&conf, "unqualified-search-registries = [\"docker.io\"]\n"
                          "short-name-mode = \"disabled\"\n");
    for (size_t i = 0; i < registries.count; i++) {
        add_registry(&conf, &registries.entries[i]);
        if (r >= 0 && registries.entries[i].ca)
            r = add_authority(dir, i, registries.entries[i].ca, err);
    }
    registries_done(&registries);
    if (r < 0)
        return r;
    return conf.failed ? hutch_fail_nomem(err)
                       : write_file(dir, BUILD_REGISTRIES, conf.data, conf.length, err);
}
