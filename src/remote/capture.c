/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/capture.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "core/result.h"
#include "util/own.h"

void remote_output_start(struct remote_output *output, int stdout_fd, int stderr_fd, bool keeps,
                         uint64_t budget_bytes)
{
    *output = (struct remote_output){.fds = {stdout_fd, stderr_fd}, .keeps = keeps};
    for (size_t i = 0; i < HUTCH_COUNT(output->streams); i++)
        capture_start(&output->streams[i], (size_t)budget_bytes);
    capture_start(&output->both, (size_t)budget_bytes);
}

void remote_output_done(struct remote_output *output)
{
    for (size_t i = 0; i < HUTCH_COUNT(output->streams); i++)
        capture_done(&output->streams[i]);
    capture_done(&output->both);
}

/* Who reads it may be slow, and the descriptor may be one that does not wait by itself. */
static int write_out(int fd, const char *data, size_t length)
{
    while (length) {
        ssize_t sent = write(fd, data, length);
        if (sent < 0 && errno == EAGAIN) {
            struct pollfd room = {.fd = fd, .events = POLLOUT};
            (void)poll(&room, 1, -1);
        } else if (sent < 0 && errno != EINTR) {
            return -1;
        } else if (sent > 0) {
            data += sent;
            length -= (size_t)sent;
        }
    }
    return 0;
}

int remote_output_add(struct remote_output *output, enum hutch_stream stream, const char *data,
                      size_t length, struct hutch_error *err)
{
    size_t index = stream == HUTCH_STDERR ? 1 : 0;
    if (output->fds[index] >= 0 && write_out(output->fds[index], data, length) < 0)
        return hutch_fail_errno(err, errno, "write the command's output");
    if (output->keeps && (capture_append(&output->streams[index], data, length, err) < 0 ||
                          capture_append(&output->both, data, length, err) < 0))
        return -(int)err->code;
    return 0;
}

int remote_output_finish(struct remote_output *output, struct hutch_result *result,
                         struct hutch_error *err)
{
    struct hutch_result_owned *owned = (struct hutch_result_owned *)result;
    if (!output->keeps)
        return 0;
    if (capture_finish(&output->streams[0], &result->out, &owned->data[0], err) < 0 ||
        capture_finish(&output->streams[1], &result->err, &owned->data[1], err) < 0 ||
        capture_finish(&output->both, &result->both, &owned->data[2], err) < 0)
        return -(int)err->code;
    return 0;
}
