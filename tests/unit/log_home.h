/* SPDX-License-Identifier: Apache-2.0 */
/* A directory for a log, and what its tests do with one all the time. */
#ifndef HUTCH_TESTS_LOG_HOME_H
#define HUTCH_TESTS_LOG_HOME_H

#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/log.h"
#include "util/buf.h"
#include "util/own.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

static char home[64];
static int log_dir = HUTCH_NO_FD;

static inline int make_home(void **state)
{
    (void)state;
    (void)snprintf(home, sizeof(home), "/tmp/hutch-log-XXXXXX");
    if (!mkdtemp(home))
        return -1;
    log_dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return log_dir < 0 ? -1 : 0;
}

/* Removes what is in the directory. Returns how many files there were. */
static inline unsigned empty_home(void)
{
    unsigned count = 0;
    DIR *directory = opendir(home);
    assert_non_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory));)
        count += unlinkat(dirfd(directory), entry->d_name, 0) == 0;
    (void)closedir(directory);
    return count;
}

static inline int remove_home(void **state)
{
    (void)state;
    (void)empty_home();
    hutch_fd_close(&log_dir);
    return rmdir(home);
}

static inline struct log_writer *open_writer(uint64_t limit_bytes)
{
    struct hutch_error err;
    struct log_writer *writer = NULL;
    assert_fine(log_writer_open(log_dir, limit_bytes, &writer, &err), &err);
    return writer;
}

static inline struct log_reader *open_reader(void)
{
    struct hutch_error err;
    struct log_reader *reader = NULL;
    assert_fine(log_reader_open(log_dir, &reader, &err), &err);
    return reader;
}

static inline void append(struct log_writer *writer, enum log_stream stream, const char *text)
{
    struct hutch_error err;
    assert_fine(log_append(writer, stream, text, strlen(text), &err), &err);
}

static inline void end_log(struct log_writer *writer)
{
    struct hutch_error err;
    assert_fine(log_writer_end(writer, &err), &err);
}

/* All there is to read now, as one text, and what was lost on the way. Returns the last state. */
static inline int drain(struct log_reader *reader, unsigned filter, struct hutch_buf *text,
                        uint64_t *ret_skipped)
{
    uint64_t skipped = 0;
    for (;;) {
        struct hutch_error err = HUTCH_ERROR_INIT;
        struct log_chunk chunk = {0};
        int state = log_reader_next(reader, filter, &chunk, &err);
        if (state < 0)
            fail_msg("%s", err.msg);
        skipped += chunk.skipped_bytes;
        hutch_buf_append(text, chunk.data, chunk.length);
        if (state != LOG_CHUNK) {
            assert_false(text->failed);
            *ret_skipped = skipped;
            return state;
        }
    }
}

#define assert_drained(reader, filter, expected_text, expected_skipped, expected_state)      \
    do {                                                                                     \
        hutch_cleanup(hutch_buf_done) struct hutch_buf drained_ = HUTCH_BUF(64u << 20);      \
        uint64_t skipped_;                                                                   \
        hutch_buf_puts(&drained_, "");                                                       \
        assert_int_equal(drain((reader), (filter), &drained_, &skipped_), (expected_state)); \
        assert_string_equal(drained_.data ? drained_.data : "", (expected_text));            \
        assert_int_equal(skipped_, (expected_skipped));                                      \
    } while (0)

#endif
