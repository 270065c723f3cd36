/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/blob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "util/fs.h"
#include "util/own.h"

uint32_t blob_add(struct hutch_buf *blob, const void *data, size_t length)
{
    static const char padding[8] = {0};
    hutch_buf_append(blob, padding, (8 - blob->length % 8) % 8);
    uint32_t offset = (uint32_t)blob->length;
    hutch_buf_append(blob, data, length);
    return offset;
}

uint32_t blob_text(struct hutch_buf *blob, const char *text)
{
    uint32_t offset = (uint32_t)blob->length;
    if (!text)
        return 0;
    hutch_buf_append(blob, text, strlen(text) + 1);
    return offset;
}

uint32_t blob_texts(struct hutch_buf *blob, char *const *texts, size_t count)
{
    static const uint64_t end = 0;
    uint64_t text = blob->length;
    for (size_t i = 0; i < count; i++)
        (void)blob_text(blob, texts[i]);
    uint32_t vector = blob_add(blob, NULL, 0);
    for (size_t i = 0; i < count; i++) {
        hutch_buf_append(blob, &text, sizeof(text));
        text += strlen(texts[i]) + 1;
    }
    hutch_buf_append(blob, &end, sizeof(end));
    return vector;
}

int blob_to_memfd(const struct hutch_buf *blob, struct hutch_error *err)
{
    if (blob->failed)
        return hutch_fail_nomem(err);
    hutch_autofd int fd = memfd_create("hutch-plan", MFD_CLOEXEC);
    if (fd < 0 || hutch_write_all(fd, blob->data, blob->length) < 0)
        return hutch_fail_errno(err, errno, "write the plan");
    return HUTCH_TAKE_FD(fd);
}
