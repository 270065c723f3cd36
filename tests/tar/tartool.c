/* SPDX-License-Identifier: Apache-2.0 */
/* tartool pack [OPTION...] PATH >archive
 * tartool unpack [OPTION...] <archive
 * tartool content [OPTION...] <archive >file
 * tartool copy SOURCE DESTINATION      both halves with a pipe between them, like cp -a
 * What was skipped and what failed is told on standard error. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tar/tar.h"
#include "util/own.h"

struct tool {
    struct tar_pack_options pack;
    struct tar_unpack_options unpack;
    struct tar_failure failure;
};

/* For tests as root: nobody's numbers change, but they are set. */
static void keep_owner(void *context, uid_t *uid, gid_t *gid)
{
    (void)context;
    (void)uid;
    (void)gid;
}

static void tell_skipped(void *context, const char *path, mode_t type, int os_errno)
{
    (void)context;
    (void)fprintf(stderr, "skipped %s %o %d\n", path, type, os_errno);
}

static int told(const struct tool *tool, int status)
{
    if (status < 0)
        (void)fprintf(stderr, "tartool: %s: '%s'%s%s\n", tar_failure_text(tool->failure.what),
                      tool->failure.path, tool->failure.os_errno ? ": " : "",
                      tool->failure.os_errno ? strerror(tool->failure.os_errno) : "");
    return status < 0;
}

static int usage(void)
{
    (void)fprintf(stderr, "tartool: pack [-n NAME] [-x] [-o] [-d DEPTH] PATH | copy FROM TO | "
                          "unpack, content [-C DIR] [-r NAME] [-skfoR] [-b BYTES] [-e ENTRIES] "
                          "[-d DEPTH] [-l BYTES]\n");
    return 2;
}

static int open_target(const char *path)
{
    int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0)
        perror("tartool: open the target");
    return fd;
}

static int take_option(struct tool *tool, int option, const char *value)
{
    unsigned long long number = value ? strtoull(value, NULL, 10) : 0;
    switch (option) {
    case 'n':
        tool->pack.name = value;
        return 0;
    case 'x':
        tool->pack.one_filesystem = true;
        return 0;
    case 'o':
        tool->pack.map_owner = tool->unpack.map_owner = keep_owner;
        return 0;
    case 'd':
        tool->pack.max_depth = tool->unpack.max_depth = (unsigned)number;
        return 0;
    case 'C':
        tool->unpack.dir = open_target(value);
        return tool->unpack.dir < 0 ? -1 : 0;
    case 'r':
        tool->unpack.rename_first = value;
        return 0;
    case 's':
        tool->unpack.strip_first = true;
        return 0;
    case 'k':
        tool->unpack.keep_special = true;
        return 0;
    case 'f':
        tool->unpack.make_fifos = true;
        return 0;
    case 'R':
        tool->unpack.names = TAR_NAMES_RELATIVE;
        return 0;
    case 'b':
        tool->unpack.max_bytes = number;
        return 0;
    case 'e':
        tool->unpack.max_entries = number;
        return 0;
    case 'l':
        tool->unpack.max_name_bytes = (size_t)number;
        return 0;
    default:
        return -1;
    }
}

static int copy(struct tool *tool, const char *from, const char *to)
{
    struct tar_destination place;
    const char *slash = strrchr(from, '/');
    int ends[2], status;
    if (tar_destination_open(AT_FDCWD, to, slash ? slash + 1 : from, &place, &tool->failure) < 0)
        return told(tool, -1);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        tool->pack.path = from;
        _exit(told(tool, tar_pack(&tool->pack, ends[1], &tool->failure)));
    }
    (void)close(ends[1]);
    tool->unpack.dir = place.fd;
    tool->unpack.rename_first = place.name;
    int failed = told(tool, tar_unpack(&tool->unpack, ends[0], &tool->failure));
    (void)close(ends[0]);
    (void)close(place.fd);
    if (waitpid(child, &status, 0) < 0 || status != 0)
        failed = 1;
    return failed;
}

static int run(struct tool *tool, const char *verb, int count, char **words)
{
    if (strcmp(verb, "pack") == 0 && count == 1) {
        tool->pack.path = words[0];
        return told(tool, tar_pack(&tool->pack, STDOUT_FILENO, &tool->failure));
    }
    if (strcmp(verb, "unpack") == 0 && count == 0)
        return told(tool, tar_unpack(&tool->unpack, STDIN_FILENO, &tool->failure));
    if (strcmp(verb, "content") == 0 && count == 0)
        return told(tool,
                    tar_unpack_content(&tool->unpack, STDIN_FILENO, STDOUT_FILENO, &tool->failure));
    if (strcmp(verb, "copy") == 0 && count == 2)
        return copy(tool, words[0], words[1]);
    return usage();
}

int main(int argc, char **argv)
{
    struct tool tool = {.pack = {.dir = AT_FDCWD, .skipped = tell_skipped},
                        .unpack = {.dir = AT_FDCWD, .skipped = tell_skipped}};
    int option;
    if (argc < 2)
        return usage();
    optind = 2;
    while ((option = getopt(argc, argv, "n:xod:C:r:skfRb:e:l:")) != -1)
        if (take_option(&tool, option, optarg) < 0)
            return usage();
    return run(&tool, argv[1], argc - optind, argv + optind);
}
