/* SPDX-License-Identifier: Apache-2.0 */
/* An image that hutch has fetched or built itself, for an engine that does not have it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "backend/docker/image.h"
#include "image/archive_save.h"
#include "util/own.h"
#include "util/state_dir.h"

enum { STALL_SECONDS = 300 };

static ssize_t read_archive(void *context, void *buffer, size_t size)
{
    const int *fd = context;
    ssize_t length;
    do
        length = read(*fd, buffer, size);
    while (length < 0 && errno == EINTR);
    return length;
}

/* An archive may be larger than memory, and the engine must not wait for us. */
static int open_spool(struct hutch_error *err)
{
    char directory[400];
    if (state_directory("lib", directory, sizeof(directory), err) < 0)
        return -(int)err->code;
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd < 0 ? hutch_fail_errno(err, errno, "make a file in '%.200s'", directory) : fd;
}

static int send_archive(struct docker_engine *engine, int fd, struct hutch_error *err)
{
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    const struct docker_request request = {.method = "POST",
                                           .path = "/images/load?quiet=1",
                                           .source = read_archive,
                                           .context = &fd,
                                           .patience_s = STALL_SECONDS};
    if (lseek(fd, 0, SEEK_SET) < 0)
        return hutch_fail_errno(err, errno, "read the archive again");
    int status = docker_ask(engine, &request, &answer, err);
    if (status == 0)
        status = docker_check(&answer, err);
    docker_answer_done(&answer);
    return status;
}

static int find(const struct image_store *store, const char *name, struct hutch_error *err)
{
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    struct image_reference reference;
    if (store->dir < 0)
        return hutch_fail(err, HUTCH_E_NOT_FOUND, 0, "there is no store of images");
    if (image_digest_is_valid(name))
        return image_find_digest(store, name, &image, err);
    if (image_reference_parse(name, &reference, err) < 0)
        return -(int)err->code;
    return image_find(store, &reference, &image, err);
}

int docker_image_load(struct docker_engine *engine, const char *name, struct hutch_error *err)
{
    hutch_cleanup(image_store_close) struct image_store store = {.dir = HUTCH_NO_FD};
    if (image_store_open(&store, false, err) < 0)
        return -(int)err->code;
    if (find(&store, name, err) < 0)
        return -(int)err->code;
    hutch_autofd int spool = open_spool(err);
    if (spool < 0)
        return spool;
    if (save_images(&store, 1, &name, HUTCH_IMAGE_DOCKER, spool, err) < 0 ||
        send_archive(engine, spool, err) < 0)
        return hutch_wrap(err, "give image '%.120s' to the engine: ", name);
    return 0;
}
