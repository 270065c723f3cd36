/* SPDX-License-Identifier: Apache-2.0 */
#include "image/build_registries.h"

#include <fcntl.h>

#include "util/fs.h"
#include "util/own.h"

static int write_file(int dir, const char *name, const char *data, size_t length,
                      struct hutch_error *err)
{
    hutch_autofd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || hutch_write_all(fd, data, length) < 0)
        return hutch_fail_errno(err, errno, "write '%s' for buildah", name);
    return 0;
}

int build_registries_write(int dir, struct hutch_error *err)
{
    static const char conf[] = "unqualified-search-registries = [\"docker.io\"]\n"
                               "short-name-mode = \"disabled\"\n";
    return write_file(dir, BUILD_REGISTRIES, conf, sizeof(conf) - 1, err);
}
