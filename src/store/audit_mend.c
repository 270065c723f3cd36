/* SPDX-License-Identifier: Apache-2.0 */
/* After a loss of power the head may be older or newer than what it tells of, and files can be
 * damaged or taken away at any time. Work goes on, and the journal says from where. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/audit_files.h"
#include "util/fs.h"
#include "util/own.h"

/* The last line of a segment that is one. */
static bool last_line(const char *directory, uint64_t first, struct audit_chain *ret_chain)
{
    char path[AUDIT_PATH_BYTES + AUDIT_SEGMENT_NAME_BYTES];
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    hutch_autofree char *text = NULL;
    size_t length = 0;
    audit_segment_path(directory, first, path);
    if (hutch_read_file(path, AUDIT_SEGMENT_MAX_BYTES, &text, &length, &ignored) < 0)
        return false;
    while (text && length) {
        const char *end = memrchr(text, '\n', length);
        if (!end)
            return false;
        const char *before = memrchr(text, '\n', (size_t)(end - text));
        const char *line = before ? before + 1 : text;
        if (audit_line_read(line, (size_t)(end - line), ret_chain))
            return true;
        length = (size_t)(line - text);
    }
    return false;
}

bool audit_has_line(const char *directory, uint64_t first)
{
    struct audit_chain ignored;
    return last_line(directory, first, &ignored);
}

struct mended {
    uint64_t known; /* the last event that is still there */
    uint64_t lost;  /* the last that there was, by the head */
};

static void put_mended(struct hutch_json_out *out, const void *userdata)
{
    const struct mended *mended = userdata;
    hutch_json_uint(out, "follows", mended->known);
    if (mended->lost <= mended->known)
        return;
    hutch_json_uint(out, "lost_from", mended->known + 1);
    hutch_json_uint(out, "lost_to", mended->lost);
}

static int begin_segment(struct audit *audit, const struct audit_chain *after,
                         const struct hutch_buf *body, struct audit_head *ret_head,
                         struct hutch_error *err)
{
    char path[AUDIT_PATH_BYTES + AUDIT_SEGMENT_NAME_BYTES];
    struct audit_frame frame;
    audit_line_frame(after, body, &frame);
    audit_segment_path(audit->directory, frame.chain.seq, path);
    hutch_autofd int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct audit_head head = {.first = frame.chain.seq,
                              .seq = frame.chain.seq,
                              .end = strlen(frame.before) + body->length + strlen(frame.behind)};
    memcpy(head.hash, frame.chain.hash, sizeof(head.hash));
    if (fd < 0 || hutch_write_all(fd, frame.before, strlen(frame.before)) < 0 ||
        hutch_write_all(fd, body->data, body->length) < 0 ||
        hutch_write_all(fd, frame.behind, strlen(frame.behind)) < 0 ||
        audit_head_write(audit->head, &head) < 0)
        return hutch_fail_errno(err, errno, "mend the audit journal '%.200s'", audit->directory);
    hutch_fd_close(&audit->segment);
    audit->segment = HUTCH_TAKE_FD(fd);
    audit->first = head.first;
    *ret_head = head;
    return 0;
}

int audit_mend(struct audit *audit, const struct audit_head *head, struct audit_head *ret_head,
               struct hutch_error *err)
{
    hutch_autofree uint64_t *firsts = NULL;
    size_t count = 0;
    struct audit_head begin;
    struct audit_chain after = {0};
    audit_head_begin(&begin);
    memcpy(after.hash, begin.hash, sizeof(after.hash));
    if (audit_segments(audit->directory, &firsts, &count, err) < 0)
        return -(int)err->code;
    uint64_t highest = count ? firsts[count - 1] : 0; /* a file of this number may be there */
    while (count && !last_line(audit->directory, firsts[count - 1], &after))
        count--;
    struct mended mended = {after.seq, head->seq > highest ? head->seq : highest};
    const struct audit_event event = {.kind = "mended", .fields = put_mended, .userdata = &mended};
    hutch_cleanup(hutch_buf_done) struct hutch_buf body = HUTCH_BUF(AUDIT_LINE_MAX);
    if (audit_line_body(&body, &event, &audit->self, err) < 0)
        return -(int)err->code;
    after.seq = mended.lost > after.seq ? mended.lost : after.seq;
    return begin_segment(audit, &after, &body, ret_head, err);
}
