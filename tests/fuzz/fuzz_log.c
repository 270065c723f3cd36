/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of the log store on files that anybody may have written. The first byte says how much
 * of the rest is the first segment, in 255ths; what is left is a second one, named by the second
 * byte, and an odd one ends the log. From 128 on, checksums are put right first: no mutation would
 * find one. */
#include "fuzz.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "store/log.h"
#include "store/log_frame.h"
#include "store/log_segments.h"
#include "util/fs.h"

static char home[] = "/tmp/hutch-fuzz-log-XXXXXX";
static int dir = HUTCH_NO_FD;

static void empty_home(void)
{
    struct log_segments found = {0};
    struct hutch_error err;
    char name[LOG_NAME_SIZE];
    REQUIRE(log_segments_list(dir, &found, &err) == 0, "%s", err.msg);
    for (size_t i = 0; i < found.count; i++) {
        log_segment_name(found.starts[i], name);
        REQUIRE(unlinkat(dir, name, 0) == 0, "%s", name);
    }
    log_end_name(found.end, name);
    REQUIRE(!found.ended || unlinkat(dir, name, 0) == 0, "%s", name);
    log_segments_done(&found);
}

static void remove_home(void)
{
    empty_home();
    (void)rmdir(home);
}

static void make_home(void)
{
    if (dir >= 0)
        return;
    REQUIRE(mkdtemp(home), "%s", home);
    dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(dir >= 0, "%s", home);
    (void)atexit(remove_home);
}

static void put_file(const char *name, const void *data, size_t size)
{
    hutch_autofd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && hutch_write_all(fd, data, size) == 0, "%s", name);
}

static void repair(uint8_t *segment, size_t size)
{
    for (size_t at = 0; size - at >= LOG_HEADER_BYTES;) {
        struct log_frame frame = {.stream = segment[at + 1]};
        memcpy(&frame.length, segment + at + 4, sizeof(frame.length));
        memcpy(&frame.offset, segment + at + 8, sizeof(frame.offset));
        memcpy(&frame.time_us, segment + at + 16, sizeof(frame.time_us));
        log_frame_encode(&frame, segment + at);
        at += LOG_HEADER_BYTES;
        at = frame.length < size - at ? at + frame.length : size;
    }
}

static void put_segment(uint64_t start, const uint8_t *data, size_t size, bool is_repaired)
{
    char name[LOG_NAME_SIZE];
    hutch_autofree char *copy = fuzz_text(data, size);
    if (is_repaired)
        repair((uint8_t *)copy, size);
    log_segment_name(start, name);
    put_file(name, copy, size);
}

/* Returns whether it is one segment: two may contradict each other. */
static bool put_log(const uint8_t *data, size_t size)
{
    char name[LOG_NAME_SIZE];
    uint8_t share = size > 0 ? data[0] : 0, second = size > 1 ? data[1] : 0;
    data += size > 2 ? 2 : size;
    size -= size > 2 ? 2 : size;
    size_t first = size * share / 255;
    put_segment(0, data, first, second >= 128);
    if (second % 128)
        put_segment(second % 128, data + first, size - first, second >= 128);
    log_end_name(second % 128, name);
    if (second % 2)
        put_file(name, data, 0);
    return second % 128 == 0;
}

/* Each place is told once, in order, and what is missing between two is said. Returns the offset at
 * the end. */
static uint64_t read_all(struct log_reader *reader, unsigned filter, bool is_exact)
{
    unsigned failures = 0;
    uint64_t next = log_reader_offset(reader);
    for (;;) {
        struct hutch_error err = HUTCH_ERROR_INIT;
        struct log_chunk chunk = {0};
        int state = log_reader_next(reader, filter, &chunk, &err);
        if (state < 0) {
            REQUIRE(++failures <= 2 && strstr(err.msg, "reading goes on"), "%s", err.msg);
            continue;
        }
        if (state != LOG_CHUNK)
            return log_reader_offset(reader);
        REQUIRE(chunk.length > 0 && chunk.length <= 256u << 10, "%zu", chunk.length);
        REQUIRE(chunk.stream & filter, "%d", (int)chunk.stream);
        REQUIRE(chunk.offset >= next, "%" PRIu64 " after %" PRIu64, chunk.offset, next);
        REQUIRE(!is_exact || chunk.offset == next + chunk.skipped_bytes, "%" PRIu64, chunk.offset);
        next = chunk.offset + chunk.length;
        REQUIRE(next == log_reader_offset(reader), "%" PRIu64, next);
    }
}

static void read_from_everywhere(bool is_one_segment)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct log_reader *reader = NULL;
    REQUIRE(log_reader_open(dir, &reader, &err) == 0, "%s", err.msg);
    uint64_t end = read_all(reader, LOG_BOTH, true);
    for (uint64_t offset = 1; offset && offset <= end;
         offset = offset < 8 ? offset + 1 : 2 * offset) {
        log_reader_seek(reader, offset);
        uint64_t reached = read_all(reader, LOG_BOTH, true);
        REQUIRE(reached == end || !is_one_segment, "from %" PRIu64, offset);
    }
    for (unsigned filter = LOG_STDOUT; filter <= LOG_BOTH; filter++)
        for (uint64_t lines = 0; lines < 4; lines++) {
            REQUIRE(log_reader_tail(reader, lines, filter, &err) == 0, "%s", err.msg);
            (void)read_all(reader, filter, filter == LOG_BOTH);
        }
    REQUIRE(log_reader_since(reader, 1000000, &err) == 0, "%s", err.msg);
    (void)read_all(reader, LOG_BOTH, true);
    log_reader_close(reader);
}

/* Whatever is there, what a new writer adds is read. */
static void write_on(void)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct log_writer *writer = NULL;
    struct log_reader *reader = NULL;
    int r = log_writer_open(dir, 1u << 20, &writer, &err);
    if (r < 0) { /* it has ended, or is at the end of all offsets */
        fuzz_check_failure(r, &err);
        return;
    }
    REQUIRE(log_reader_open(dir, &reader, &err) == 0, "%s", err.msg);
    uint64_t offset = log_writer_offset(writer);
    r = log_append(writer, LOG_STDERR, "more", 4, &err);
    if (r == 0) {
        log_reader_seek(reader, offset);
        REQUIRE(read_all(reader, LOG_STDERR, true) == offset + 4, "from %" PRIu64, offset);
    } else
        fuzz_check_failure(r, &err);
    log_reader_close(reader);
    log_writer_close(writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    make_home();
    bool is_one_segment = put_log(data, size);
    read_from_everywhere(is_one_segment);
    write_on();
    empty_home();
    return 0;
}
