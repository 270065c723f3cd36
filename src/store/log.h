/* SPDX-License-Identifier: Apache-2.0 */
/* The log store: the output of one command, kept in a directory of its own.
 *
 * Theory of operation. Both streams go into one sequence of frames, in the order in which they were
 * read from the command. The *logical offset* counts the bytes of both streams together since the
 * command's start and never goes back: whoever knows an offset can come back to it, after any crash
 * of either side. Frames live in segment files named by the offset they begin at; the oldest whole
 * segments go when the log would outgrow its limit (rotation).
 *
 * One writer, any number of readers in other processes, no lock between them. What makes this safe
 * is one rule: a byte of a segment, once written, never changes, and no segment shrinks or is
 * written again after a newer one exists. A frame that could not be written whole (a crash, a full
 * disk) stays where it is, the writer goes on in a new segment, and readers step over it.
 *
 * What is lost is counted, not hidden. Bytes lost to rotation, to a full disk or to a crash keep
 * their place in the logical offset, so a reader sees a gap and says how large it is.
 *
 * The end is an empty file named by the last offset rather than a frame: it can be made where there
 * is no room for another byte of data, and a follower must not wait for ever because a disk is
 * full. */
#ifndef HUTCH_STORE_LOG_H
#define HUTCH_STORE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* Also the bits of a filter. */
enum log_stream {
    LOG_STDOUT = 1,
    LOG_STDERR = 2,
    LOG_BOTH = LOG_STDOUT | LOG_STDERR,
};

/* ---- writing ---- */

/* A limit below this is taken for this: with less, rotation would leave next to nothing. */
#define LOG_LIMIT_MIN (128u << 10)

struct log_writer;

/* Continues the log in the directory, or begins one. limit_bytes is what the files may take
 * together, frame headers included. A frame torn by a crash counts as lost. Refused while another
 * writer has the log, and when the log has ended. The directory stays the caller's. */
int log_writer_open(int dir, uint64_t limit_bytes, struct log_writer **ret_writer,
                    struct hutch_error *err) HUTCH_MUST_CHECK;
/* A log that has ended goes on: its writer runs again. Before log_writer_open. */
int log_take_up(int dir, struct hutch_error *err) HUTCH_MUST_CHECK;
/* One writev, never an fsync; more than a frame holds (256 KiB) takes several. Where there is no
 * room (ENOSPC, EDQUOT) the bytes are dropped and counted, and the call succeeds: a full disk must
 * not end the command. After any other failure too the bytes are lost, and counted, and a later
 * append can succeed. */
int log_append(struct log_writer *writer, enum log_stream stream, const void *data, size_t length,
               struct hutch_error *err) HUTCH_MUST_CHECK;
/* The offset of the next byte. */
uint64_t log_writer_offset(const struct log_writer *writer);
/* How many bytes this writer could not write. */
uint64_t log_writer_dropped(const struct log_writer *writer);
/* No more will come: followers stop here. */
int log_writer_end(struct log_writer *writer, struct hutch_error *err) HUTCH_MUST_CHECK;
/* Frees it; without log_writer_end the log stays open for the next writer. NULL is fine. */
void log_writer_close(struct log_writer *writer);

/* ---- reading ---- */

struct log_reader;

struct log_chunk {
    uint64_t offset; /* of data[0]; offset + length is where to resume */
    uint64_t time_us;
    uint64_t skipped_bytes; /* lost since the chunk before this one, of whichever stream */
    const char *data;       /* the reader's, until its next call */
    size_t length;
    enum log_stream stream;
};

enum log_state {
    LOG_CHUNK,   /* here it is */
    LOG_NOTHING, /* nothing more now */
    LOG_ENDED,   /* nothing more ever; the chunk is empty but its skipped_bytes count */
};

/* Begins at offset 0. The directory stays the caller's and must outlive the reader. */
int log_reader_open(int dir, struct log_reader **ret_reader,
                    struct hutch_error *err) HUTCH_MUST_CHECK;
void log_reader_close(struct log_reader *reader);

/* To any offset: in the middle of a frame it gives the rest of it, in a gap what follows (and how
 * much is missing), beyond the end what will be written there. */
void log_reader_seek(struct log_reader *reader, uint64_t offset);
/* So that the last lines of these streams follow. Lines are those of the streams as they are shown,
 * one after the other's pieces; a last line without its newline counts. Where fewer are left it
 * begins at offset 0, so that what was lost is told. Looks at no more than the segments it needs,
 * newest first. */
int log_reader_tail(struct log_reader *reader, uint64_t lines, unsigned filter,
                    struct hutch_error *err) HUTCH_MUST_CHECK;
/* To the first frame written at this time (of the wall clock) or later. Should that be older than
 * what is left, it begins at offset 0. */
int log_reader_since(struct log_reader *reader, uint64_t time_us,
                     struct hutch_error *err) HUTCH_MUST_CHECK;

/* The offset the next call goes on at. */
uint64_t log_reader_offset(const struct log_reader *reader);

/* Returns an enum log_state, or a failure. A damaged segment fails once, with a sentence that says
 * where reading goes on, and the next call goes on there: what is behind the damage is not searched
 * for frames, since it may be a program's output that looks like one. ret_chunk is untouched unless
 * LOG_CHUNK or LOG_ENDED is returned. */
int log_reader_next(struct log_reader *reader, unsigned filter, struct log_chunk *ret_chunk,
                    struct hutch_error *err) HUTCH_MUST_CHECK;

/* Following without losing a wake-up: call log_reader_watch_fd once, then log_reader_next until it
 * says LOG_NOTHING, then poll the descriptor for POLLIN, and again. Before it says LOG_NOTHING,
 * log_reader_next empties the descriptor and only then looks a last time, so whatever is written
 * after that look leaves the descriptor readable. Negative where inotify is not to be had: then
 * call log_reader_next every LOG_POLL_MS. */
#define LOG_POLL_MS 50
int log_reader_watch_fd(struct log_reader *reader);
/* The waiting itself, for callers that wait for nothing else. False when the time was over;
 * negative means no end to it. */
bool log_reader_wait(struct log_reader *reader, int timeout_ms);

#endif
