/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds every file of the given directories to a fuzz target, so that corpora run as ordinary tests
 * with any compiler. */
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay_file(int directory_fd, const char *name)
{
    struct stat status;
    int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0)
        err(1, "%s", name);
    size_t size = (size_t)status.st_size, filled = 0;
    uint8_t *data = malloc(size ? size : 1);
    if (!data)
        err(1, "%s", name);
    while (filled < size) {
        ssize_t count = read(fd, data + filled, size - filled);
        if (count <= 0)
            err(1, "%s", name);
        filled += (size_t)count;
    }
    (void)close(fd);
    (void)printf("%s (%zu bytes)\n", name, size);
    (void)fflush(stdout); /* the last line names the input that failed */
    (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
}

static unsigned replay_directory(const char *path)
{
    unsigned count = 0;
    DIR *directory = opendir(path);
    if (!directory)
        err(1, "%s", path);
    for (const struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.')
            continue;
        replay_file(dirfd(directory), entry->d_name);
        count++;
    }
    (void)closedir(directory);
    return count;
}

int main(int argc, char **argv)
{
    unsigned count = 0;
    for (int i = 1; i < argc; i++)
        count += replay_directory(argv[i]);
    if (!count)
        errx(1, "no inputs, give a directory of them");
    return 0;
}
