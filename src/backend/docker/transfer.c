/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/docker/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/own.h"

enum { STALL_SECONDS = 120, TEXT_CEILING = 1 << 20 };

struct transfer {
    const struct tar_pack_options *pack;
    const struct tar_unpack_options *unpack;
    int text_fd;       /* of the one file whose content is wanted */
    int ends[2];       /* of the pipe: to read from, to write to */
    docker_sink *sink; /* of the answer to what is packed; NULL: none */
    void *sink_context;
    struct tar_failure failure;
    int status;
};

/* The signal of a broken pipe stays with the thread: a write fails instead. */
static void *work(void *context)
{
    struct transfer *transfer = context;
    sigset_t broken;
    (void)sigemptyset(&broken);
    (void)sigaddset(&broken, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &broken, NULL);
    if (transfer->pack) {
        transfer->status = tar_pack(transfer->pack, transfer->ends[1], &transfer->failure);
        hutch_fd_close(&transfer->ends[1]);
        return NULL;
    }
    transfer->status = transfer->text_fd >= 0
                           ? tar_unpack_content(transfer->unpack, transfer->ends[0],
                                                transfer->text_fd, &transfer->failure)
                           : tar_unpack(transfer->unpack, transfer->ends[0], &transfer->failure);
    hutch_fd_close(&transfer->ends[0]);
    return NULL;
}

static ssize_t read_pipe(void *context, void *buffer, size_t size)
{
    const struct transfer *transfer = context;
    ssize_t length;
    do
        length = read(transfer->ends[0], buffer, size);
    while (length < 0 && errno == EINTR);
    /* An archive that was cut must not look whole to the engine. */
    return length == 0 && transfer->status < 0 ? -1 : length;
}

static int write_pipe(void *context, const void *data, size_t length)
{
    const struct transfer *transfer = context;
    return hutch_write_all(transfer->ends[1], data, length);
}

static int pass_on(void *context, const void *data, size_t length)
{
    const struct transfer *transfer = context;
    return transfer->sink(transfer->sink_context, data, length);
}

static int fail_tar(const struct tar_failure *failure, struct hutch_error *err)
{
    if (failure->os_errno)
        return hutch_fail_errno(err, failure->os_errno, "%s '%.200s'",
                                tar_failure_text(failure->what), failure->path);
    return hutch_fail(err, HUTCH_E_INVALID, 0, "%s: '%.200s'", tar_failure_text(failure->what),
                      failure->path);
}

/* The engine's own answer first: where it says no, the pipe breaks for the thread. */
static int settle(struct transfer *transfer, int status, const struct docker_answer *answer,
                  struct hutch_error *err)
{
    if (status == 0)
        status = docker_check(answer, err);
    if (status == 0 && transfer->status < 0)
        return fail_tar(&transfer->failure, err);
    if (status < 0 && transfer->status < 0 && transfer->failure.what != TAR_STREAM &&
        transfer->failure.what != TAR_TRUNCATED && status != -HUTCH_E_NOT_FOUND)
        return fail_tar(&transfer->failure, err);
    return status;
}

static int run(struct docker_engine *engine, struct transfer *transfer,
               const struct docker_request *asked, struct hutch_error *err)
{
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    struct docker_request request = *asked;
    pthread_t thread;
    request.source = transfer->pack ? read_pipe : NULL;
    request.sink = !transfer->pack ? write_pipe : transfer->sink ? pass_on : NULL;
    request.context = transfer;
    if (pipe2(transfer->ends, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe");
    int cause = pthread_create(&thread, NULL, work, transfer);
    int status = cause ? hutch_fail_errno(err, cause, "start a thread")
                       : docker_ask(engine, &request, &answer, err);
    hutch_fd_close(&transfer->ends[transfer->pack ? 0 : 1]);
    if (!cause)
        (void)pthread_join(thread, NULL);
    hutch_fd_close(&transfer->ends[transfer->pack ? 1 : 0]);
    if (!cause)
        status = settle(transfer, status, &answer, err);
    docker_answer_done(&answer);
    return status;
}

static int run_archive(struct docker_engine *engine, struct transfer *transfer,
                       const char *container, const char *inside, struct hutch_error *err)
{
    char path[256];
    const struct docker_request request = {
        .method = transfer->pack ? "PUT" : "GET", .path = path, .patience_s = STALL_SECONDS};
    (void)snprintf(path, sizeof(path), "/containers/%s/archive?path=%s", container, inside);
    if (transfer->pack && docker_version_check_copy(&engine->version, err) < 0)
        return -(int)err->code;
    return run(engine, transfer, &request, err);
}

int docker_send_tree(struct docker_engine *engine, const struct docker_request *request,
                     const struct tar_pack_options *options, struct hutch_error *err)
{
    struct transfer transfer = {.pack = options,
                                .text_fd = HUTCH_NO_FD,
                                .sink = request->sink,
                                .sink_context = request->context};
    return run(engine, &transfer, request, err);
}

int docker_put_tree(struct docker_engine *engine, const char *container, const char *inside,
                    const struct tar_pack_options *options, struct hutch_error *err)
{
    struct transfer transfer = {.pack = options, .text_fd = HUTCH_NO_FD};
    return run_archive(engine, &transfer, container, inside, err);
}

int docker_get_tree(struct docker_engine *engine, const char *container, const char *inside,
                    const struct tar_unpack_options *options, struct hutch_error *err)
{
    struct transfer transfer = {.unpack = options, .text_fd = HUTCH_NO_FD};
    return run_archive(engine, &transfer, container, inside, err);
}

int docker_get_text(struct docker_engine *engine, const char *container, const char *inside,
                    char **ret_text, struct hutch_error *err)
{
    char self[32];
    size_t length = 0;
    const struct tar_unpack_options options = {.max_bytes = TEXT_CEILING, .max_entries = 1};
    hutch_autofd int file = memfd_create("text", MFD_CLOEXEC);
    struct transfer transfer = {.unpack = &options, .text_fd = file};
    if (file < 0)
        return hutch_fail_errno(err, errno, "make a file in memory");
    if (run_archive(engine, &transfer, container, inside, err) < 0)
        return -(int)err->code;
    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", file);
    return hutch_read_file(self, TEXT_CEILING, ret_text, &length, err);
}
