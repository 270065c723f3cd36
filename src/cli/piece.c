/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/piece.h"

#include <errno.h>
#include <unistd.h>

#include "cli/output.h"

int cli_piece_write(void *userdata, const struct hutch_log_piece *piece)
{
    int *failure = userdata;
    const char *data = piece->data;
    size_t left = piece->length;
    if (piece->lost_bytes)
        cli_say("%llu bytes of output are no longer there", (unsigned long long)piece->lost_bytes);
    while (left) {
        ssize_t sent =
            write(piece->stream == HUTCH_STDERR ? STDERR_FILENO : STDOUT_FILENO, data, left);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            *failure = errno;
            return -HUTCH_E_SYSTEM;
        }
        data += sent;
        left -= (size_t)sent;
    }
    return 0;
}
