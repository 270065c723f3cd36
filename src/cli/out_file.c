/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output.h"

static int fail_at(const struct cli_out_file *file, struct hutch_error *err)
{
    return cli_fail(err, HUTCH_E_SYSTEM, "write '%.300s': %s", file->path, strerror(errno));
}

static int open_stdout(struct cli_out_file *file, struct hutch_error *err)
{
    if (isatty(STDOUT_FILENO) == 1)
        return cli_fail(err, HUTCH_E_INVALID,
                        "an archive does not belong on a terminal; give '--output FILE' or a pipe");
    file->fd = STDOUT_FILENO;
    return 0;
}

/* What its creator's umask gives a new file. */
static mode_t usual_mode(void)
{
    mode_t mask = umask(0);
    (void)umask(mask);
    return 0666 & ~mask;
}

int cli_out_file_open(struct cli_out_file *file, const char *path, struct hutch_error *err)
{
    struct stat info;
    *file = (struct cli_out_file){.path = path, .fd = -1};
    if (!path)
        return open_stdout(file, err);
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        file->fd = open(path, O_WRONLY | O_CLOEXEC);
        return file->fd < 0 ? fail_at(file, err) : 0;
    }
    if (asprintf(&file->work, "%s.XXXXXX", path) < 0) {
        file->work = NULL;
        return cli_fail_errno(err, ENOMEM, "name the file");
    }
    file->fd = mkostemp(file->work, O_CLOEXEC);
    if (file->fd >= 0)
        return 0;
    int failed = fail_at(file, err);
    free(file->work);
    file->work = NULL;
    return failed;
}

int cli_out_file_commit(struct cli_out_file *file, struct hutch_error *err)
{
    if (!file->path)
        return 0;
    if (file->work && fchmod(file->fd, usual_mode()) < 0)
        return fail_at(file, err);
    int fd = file->fd;
    file->fd = -1;
    if (close(fd) < 0 || (file->work && rename(file->work, file->path) < 0))
        return fail_at(file, err);
    free(file->work);
    file->work = NULL;
    return 0;
}

void cli_out_file_done(struct cli_out_file *file)
{
    if (file->path && file->fd >= 0)
        (void)close(file->fd);
    if (file->work)
        (void)unlink(file->work);
    free(file->work);
    *file = (struct cli_out_file){.fd = -1};
}
