/* SPDX-License-Identifier: Apache-2.0 */
/* The input is an archive, but for its first byte, which chooses options; one of them puts right
 * checksums into all blocks, so that what lies behind that check is reached. The archive is
 * unpacked beneath a directory of its own in memory, with ceilings; nothing may appear beside that.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz_tar.h"
#include "tar/tar.h"
#include "util/remove_tree.h"

#define MAX_BYTES (1 << 20)
#define MAX_ENTRIES 64

static int make_place(char *path)
{
    REQUIRE(mkdtemp(path), "cannot make '%s'", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(fd >= 0 && mkdirat(fd, "target", 0700) == 0, "cannot make '%s'", path);
    REQUIRE(symlinkat("..", fd, "target/up") == 0, "cannot make '%s'", path);
    return fd;
}

/* The archive itself is the only entry beside the target that there may be: the place is empty
 * then, as the removal of its directory shows. */
static void clear_place(int place)
{
    struct stat info;
    REQUIRE(fstatat(place, "archive", &info, 0) == 0 && info.st_nlink == 1, "archive was linked");
    REQUIRE(unlinkat(place, "archive", 0) == 0, "the archive is gone");
    REQUIRE(remove_tree(place, "target") == 0, "the target cannot be removed");
}

static void check_failure(int status, const struct tar_failure *failure)
{
    if (status == 0)
        return;
    REQUIRE(failure->what != TAR_FINE && strlen(tar_failure_text(failure->what)) > 10, "%d",
            failure->what);
    for (const char *at = failure->path; *at; at++)
        REQUIRE((unsigned char)*at >= ' ', "'%s'", failure->path);
}

static void unpack(int place, int archive, unsigned flags)
{
    hutch_autofd int target = openat(place, "target", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct tar_failure failure = {0};
    struct tar_unpack_options options = {.dir = target,
                                         .names = flags & 1 ? TAR_NAMES_RELATIVE : TAR_NAMES_REFUSE,
                                         .rename_first = flags & 2 ? "renamed" : NULL,
                                         .strip_first = (flags & 6) == 4,
                                         .keep_special = flags & 8,
                                         .make_fifos = flags & 16,
                                         .max_bytes = MAX_BYTES,
                                         .max_entries = MAX_ENTRIES,
                                         .max_depth = 100};
    REQUIRE(lseek(archive, 0, SEEK_SET) == 0, "lseek");
    int status = tar_unpack(&options, archive, &failure);
    check_failure(status, &failure);
    hutch_autofd int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    REQUIRE(lseek(archive, 0, SEEK_SET) == 0, "lseek");
    status = tar_unpack_content(&options, archive, nowhere, &failure);
    check_failure(status, &failure);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "/dev/shm/hutch-fuzz-tar-XXXXXX";
    if (size < 1)
        return 0;
    hutch_autofd int place = make_place(path);
    hutch_autofd int archive =
        openat(place, "archive", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    hutch_autofree uint8_t *bytes = malloc(size);
    REQUIRE(bytes, "out of memory");
    memcpy(bytes, data + 1, size - 1);
    if (data[0] & 32)
        fuzz_put_checksums(bytes, size - 1);
    REQUIRE(archive >= 0 && write(archive, bytes, size - 1) == (ssize_t)(size - 1), "archive");
    unpack(place, archive, data[0]);
    clear_place(place);
    REQUIRE(rmdir(path) == 0, "'%s' is not empty", path);
    return 0;
}
