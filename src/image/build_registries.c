/* SPDX-License-Identifier: Apache-2.0 */
#include "image/build_registries.h"

#include <fcntl.h>

#include "util/buf.h"
#include "util/fs.h"
#include "util/own.h"

#define CONF_MAX_BYTES (1u << 20)

static int write_file(int dir, const char *path, const struct hutch_buf *conf,
                      struct hutch_error *err)
{
    hutch_autofd int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || hutch_write_all(fd, conf->data, conf->length) < 0)
        return hutch_fail_errno(err, errno, "write buildah's list of registries");
    return 0;
}

int build_registries_write(int dir, const char *path, struct hutch_error *err)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf conf = HUTCH_BUF(CONF_MAX_BYTES);
    hutch_buf_puts(&conf, "unqualified-search-registries = [\"docker.io\"]\n"
                          "short-name-mode = \"disabled\"\n");
    return conf.failed ? hutch_fail_nomem(err) : write_file(dir, path, &conf, err);
}
