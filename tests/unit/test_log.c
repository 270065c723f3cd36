/* SPDX-License-Identifier: Apache-2.0 */
/* The log store: what is written is read back from any place, and what is lost is told. */
#include "log_home.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <time.h>

#include "store/log_frame.h"
#include "store/log_segments.h"

/* ---- files ---- */

static void put_file(const char *name, const void *data, size_t length)
{
    hutch_autofd int fd = openat(log_dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, length), (ssize_t)length);
}

static size_t get_file(const char *name, char *data, size_t size)
{
    hutch_autofd int fd = openat(log_dir, name, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t got = read(fd, data, size);
    assert_true(got >= 0 && (size_t)got < size);
    return (size_t)got;
}

static uint64_t bytes_on_disk(void)
{
    uint64_t bytes = 0;
    DIR *directory = opendir(home);
    struct stat info;
    assert_non_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory));)
        if (fstatat(dirfd(directory), entry->d_name, &info, 0) == 0 && S_ISREG(info.st_mode))
            bytes += (uint64_t)info.st_size;
    (void)closedir(directory);
    return bytes;
}

#define FIRST_SEGMENT "00000000000000000000.seg"

/* A log of one segment with these frames, not ended. */
static const char *const pieces[] = {"hello\n", "oops\n", "world, again\n"};
#define PIECES HUTCH_COUNT(pieces)

static enum log_stream stream_of(size_t piece)
{
    return piece % 2 ? LOG_STDERR : LOG_STDOUT;
}

static void write_pieces(void)
{
    struct log_writer *writer = open_writer(MIB);
    for (size_t i = 0; i < PIECES; i++)
        append(writer, stream_of(i), pieces[i]);
    log_writer_close(writer);
}

/* ---- reading back ---- */

static void what_is_appended_is_read_back_with_stream_offset_and_time(void **state)
{
    (void)state;
    struct hutch_error err;
    uint64_t offset = 0, before_us = (uint64_t)time(NULL) * 1000000;
    struct log_chunk chunk;
    struct log_reader *reader = open_reader();
    assert_int_equal(log_reader_next(reader, LOG_BOTH, &chunk, &err), LOG_NOTHING);
    write_pieces();
    for (size_t i = 0; i < PIECES; i++) {
        assert_int_equal(log_reader_next(reader, LOG_BOTH, &chunk, &err), LOG_CHUNK);
        assert_int_equal(chunk.length, strlen(pieces[i]));
        assert_memory_equal(chunk.data, pieces[i], chunk.length);
        assert_int_equal(chunk.offset, offset);
        assert_int_equal(chunk.stream, stream_of(i));
        assert_int_equal(chunk.skipped_bytes, 0);
        assert_in_range(chunk.time_us, before_us, before_us + UINT64_C(60000000));
        offset += chunk.length;
    }
    assert_int_equal(log_reader_next(reader, LOG_BOTH, &chunk, &err), LOG_NOTHING);
    assert_int_equal(log_reader_offset(reader), offset);
    log_reader_close(reader);
}

/* The first pieces as one text. */
static void join_pieces(size_t count, char *text, size_t size)
{
    size_t length = 0;
    *text = '\0';
    for (size_t i = 0; i < count; i++) {
        length += (size_t)snprintf(text + length, size - length, "%s", pieces[i]);
        assert_true(length < size);
    }
}

static void every_offset_can_be_sought(void **state)
{
    (void)state;
    struct hutch_error err;
    char all[64];
    write_pieces();
    join_pieces(PIECES, all, sizeof(all));
    struct log_reader *reader = open_reader();
    for (size_t offset = 0; offset <= strlen(all); offset++) {
        log_reader_seek(reader, offset);
        assert_drained(reader, LOG_BOTH, all + offset, 0, LOG_NOTHING);
    }
    log_reader_seek(reader, strlen(all) + 2); /* beyond the end: what will be there */
    assert_drained(reader, LOG_BOTH, "", 0, LOG_NOTHING);
    struct log_writer *writer = open_writer(MIB);
    append(writer, LOG_STDOUT, "later");
    assert_fine(log_writer_end(writer, &err), &err);
    log_writer_close(writer);
    assert_drained(reader, LOG_BOTH, "ter", 0, LOG_ENDED);
    log_reader_close(reader);
}

static void streams_are_chosen_by_the_filter(void **state)
{
    (void)state;
    write_pieces();
    struct log_reader *reader = open_reader();
    assert_drained(reader, LOG_STDERR, "oops\n", 0, LOG_NOTHING);
    log_reader_seek(reader, 3);
    assert_drained(reader, LOG_STDOUT, "lo\nworld, again\n", 0, LOG_NOTHING);
    log_reader_close(reader);
}

static void an_append_of_any_size_comes_back_whole(void **state)
{
    (void)state;
    static char large[900 * 1024 + 17];
    struct hutch_error err;
    for (size_t i = 0; i < sizeof(large); i++)
        large[i] = (char)('a' + i % 23);
    large[sizeof(large) - 1] = '\0';
    struct log_writer *writer = open_writer(64 * MIB);
    append(writer, LOG_STDOUT, large);
    assert_fine(log_append(writer, LOG_STDOUT, NULL, 0, &err), &err);
    assert_int_equal(log_writer_offset(writer), sizeof(large) - 1);
    log_writer_close(writer);
    struct log_reader *reader = open_reader();
    assert_drained(reader, LOG_BOTH, large, 0, LOG_NOTHING);
    log_reader_close(reader);
}

static void an_ended_log_says_so_and_takes_no_more(void **state)
{
    (void)state;
    struct hutch_error err;
    struct log_writer *writer = open_writer(MIB), *second = NULL;
    append(writer, LOG_STDOUT, "all");
    assert_refused(log_writer_open(log_dir, MIB, &second, &err), &err,
                   "the log has another writer");
    end_log(writer);
    end_log(writer);
    assert_refused(log_append(writer, LOG_STDOUT, "more", 4, &err), &err,
                   "the log has ended: nothing can be added to it");
    log_writer_close(writer);
    assert_refused(log_writer_open(log_dir, MIB, &second, &err), &err,
                   "the log has ended at offset 3: nothing can be added to it");
    struct log_reader *reader = open_reader();
    assert_drained(reader, LOG_BOTH, "all", 0, LOG_ENDED);
    assert_drained(reader, LOG_BOTH, "", 0, LOG_ENDED);
    log_reader_close(reader);
}

/* ---- rotation ---- */

/* Every byte tells its offset. */
static void fill_pattern(char *data, uint64_t offset, size_t length)
{
    for (size_t i = 0; i < length; i++)
        data[i] = (char)('!' + (offset + i) * 2654435761u / 65536 % 90);
}

static void append_pattern(struct log_writer *writer, size_t length)
{
    char data[8192];
    struct hutch_error err;
    assert_true(length <= sizeof(data));
    fill_pattern(data, log_writer_offset(writer), length);
    assert_fine(log_append(writer, length % 3 ? LOG_STDOUT : LOG_STDERR, data, length, &err), &err);
}

/* Reads count chunks, or all there are: each is where it says, none is there twice, and what is
 * missing is what was said to be missing. */
static int read_pattern(struct log_reader *reader, size_t count, uint64_t *skipped)
{
    char data[8192];
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct log_chunk chunk;
    int state = LOG_CHUNK;
    while (state == LOG_CHUNK && count-- > 0) {
        uint64_t expected = log_reader_offset(reader);
        chunk = (struct log_chunk){0};
        state = log_reader_next(reader, LOG_BOTH, &chunk, &err);
        if (state < 0)
            fail_msg("%s", err.msg);
        *skipped += chunk.skipped_bytes;
        if (state == LOG_NOTHING)
            break;
        assert_int_equal(chunk.offset, expected + chunk.skipped_bytes);
        fill_pattern(data, chunk.offset, chunk.length);
        assert_memory_equal(chunk.data, data, chunk.length);
    }
    return state;
}

static void rotation_keeps_the_limit_and_the_newest(void **state)
{
    (void)state;
    const uint64_t limit = MIB;
    uint64_t skipped = 0;
    struct log_writer *writer = open_writer(limit);
    for (size_t i = 0; i < 3000; i++) {
        append_pattern(writer, 1 + i * 37 % 4000);
        assert_true(i % 50 || bytes_on_disk() <= limit);
    }
    assert_true(bytes_on_disk() > limit * 7 / 8);
    end_log(writer);
    struct log_reader *reader = open_reader();
    assert_int_equal(read_pattern(reader, SIZE_MAX, &skipped), LOG_ENDED);
    assert_int_equal(log_reader_offset(reader), log_writer_offset(writer));
    assert_true(log_writer_offset(writer) - skipped > limit * 7 / 8);
    log_reader_close(reader);
    log_writer_close(writer);
}

static void a_reader_that_rotation_overtakes_says_what_it_missed(void **state)
{
    (void)state;
    uint64_t skipped = 0;
    struct log_writer *writer = open_writer(LOG_LIMIT_MIN);
    struct log_reader *reader = open_reader();
    for (size_t round = 0; round < 200; round++) {
        for (size_t i = 0; i < round; i++)
            append_pattern(writer, 1 + i * 311 % 5000);
        assert_true(read_pattern(reader, round % 7, &skipped) <= LOG_NOTHING);
    }
    end_log(writer);
    assert_int_equal(read_pattern(reader, SIZE_MAX, &skipped), LOG_ENDED);
    assert_int_equal(log_reader_offset(reader), log_writer_offset(writer));
    assert_true(skipped > 0 && skipped < log_writer_offset(writer));
    log_reader_close(reader);
    log_writer_close(writer);
}

/* ---- crashes and damage ---- */

/* What is lost where the log was cut at this byte, and how many pieces are whole. */
static size_t cut_at(size_t cut, size_t *ret_lost)
{
    size_t piece = 0;
    for (; piece < PIECES && cut >= LOG_HEADER_BYTES + strlen(pieces[piece]); piece++)
        cut -= LOG_HEADER_BYTES + strlen(pieces[piece]);
    *ret_lost = cut >= LOG_HEADER_BYTES ? strlen(pieces[piece]) : cut;
    return piece;
}

static void check_cut(const char *segment, size_t cut)
{
    char whole[64], then[80];
    size_t lost, count = cut_at(cut, &lost);
    join_pieces(count, whole, sizeof(whole));
    (void)snprintf(then, sizeof(then), "%safter\n", whole);
    (void)empty_home();
    put_file(FIRST_SEGMENT, segment, cut);
    struct log_reader *reader = open_reader(), *late = open_reader();
    assert_drained(reader, LOG_BOTH, whole, 0, LOG_NOTHING);
    struct log_writer *writer = open_writer(MIB);
    assert_int_equal(log_writer_offset(writer), strlen(whole) + lost);
    append(writer, LOG_STDOUT, "after\n");
    end_log(writer);
    log_writer_close(writer);
    assert_drained(reader, LOG_BOTH, "after\n", lost, LOG_ENDED);
    assert_drained(late, LOG_BOTH, then, lost, LOG_ENDED);
    log_reader_close(reader);
    log_reader_close(late);
}

static void a_log_torn_at_any_byte_goes_on(void **state)
{
    (void)state;
    char segment[512];
    write_pieces();
    size_t size = get_file(FIRST_SEGMENT, segment, sizeof(segment));
    for (size_t cut = 0; cut <= size; cut++)
        check_cut(segment, cut);
}

/* Reads all, past one sentence about damage at most. */
static bool read_past_damage(struct log_reader *reader, struct hutch_buf *text, uint64_t *skipped,
                             struct hutch_error *ret_err)
{
    bool is_damaged = false;
    for (;;) {
        struct log_chunk chunk = {0};
        int state = log_reader_next(reader, LOG_BOTH, &chunk, ret_err);
        assert_true(state >= 0 || !is_damaged);
        is_damaged = is_damaged || state < 0;
        *skipped += chunk.skipped_bytes;
        hutch_buf_append(text, chunk.data, chunk.length);
        if (state == LOG_ENDED)
            return is_damaged;
    }
}

static void check_changed_byte(const char *segment, size_t size, size_t at)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf text = HUTCH_BUF(4096);
    char changed[512];
    size_t lost, count = cut_at(at, &lost);
    size_t start = 0, after = 0;
    uint64_t skipped = 0;
    struct hutch_error err = HUTCH_ERROR_INIT;
    for (size_t i = 0; i < PIECES; i++)
        after += strlen(pieces[i]);
    for (size_t i = 0; i < count; i++)
        start += LOG_HEADER_BYTES + strlen(pieces[i]);
    memcpy(changed, segment, size);
    changed[at] = (char)(changed[at] ^ (1 << at % 8));
    put_file(FIRST_SEGMENT, changed, size);
    struct log_reader *reader = open_reader();
    bool is_header = at - start < LOG_HEADER_BYTES;
    assert_int_equal(read_past_damage(reader, &text, &skipped, &err), is_header);
    assert_int_equal(text.length + skipped, after + strlen("after\n"));
    assert_string_equal(text.data + text.length - strlen("after\n"), "after\n");
    assert_int_equal(skipped > 0, is_header);
    if (is_header) {
        assert_non_null(strstr(err.msg, "log segment '" FIRST_SEGMENT "' is damaged at byte "));
        assert_non_null(strstr(err.msg, "; reading goes on at offset 24"));
    }
    log_reader_close(reader);
}

static void a_changed_byte_costs_one_segment_and_is_told(void **state)
{
    (void)state;
    char segment[512];
    write_pieces();
    size_t size = get_file(FIRST_SEGMENT, segment, sizeof(segment));
    put_file(FIRST_SEGMENT, segment, size);
    /* the next segment, as a writer makes it that finds this one complete */
    unsigned char header[LOG_HEADER_BYTES];
    char next[LOG_HEADER_BYTES + 6];
    const struct log_frame frame = {.offset = 24, .length = 6, .stream = 1};
    log_frame_encode(&frame, header);
    memcpy(next, header, sizeof(header));
    memcpy(next + sizeof(header), "after\n", 6);
    put_file("00000000000000000024.seg", next, sizeof(next));
    put_file("00000000000000000030.end", "", 0);
    for (size_t at = 0; at < size; at++)
        check_changed_byte(segment, size, at);
}

static void a_writer_goes_on_behind_damage(void **state)
{
    (void)state;
    hutch_cleanup(hutch_buf_done) struct hutch_buf text = HUTCH_BUF(4096);
    char segment[512];
    uint64_t skipped = 0;
    struct hutch_error err;
    write_pieces();
    size_t size = get_file(FIRST_SEGMENT, segment, sizeof(segment));
    segment[LOG_HEADER_BYTES + strlen(pieces[0])] = 0;
    put_file(FIRST_SEGMENT, segment, size);
    struct log_writer *writer = open_writer(MIB);
    append(writer, LOG_STDOUT, "after\n");
    end_log(writer);
    struct log_reader *reader = open_reader();
    assert_true(read_past_damage(reader, &text, &skipped, &err));
    assert_string_equal(text.data, "hello\nafter\n");
    assert_int_equal(text.length + skipped, log_writer_offset(writer));
    log_reader_close(reader);
    log_writer_close(writer);
}

static void foreign_files_are_nobodys_business(void **state)
{
    (void)state;
    write_pieces();
    put_file("README", "hello", 5);
    put_file("0.seg", "hello", 5);
    put_file("000000000000000000001.seg", "hello", 5);
    put_file("99999999999999999999.seg", "hello", 5); /* more than an offset can be */
    put_file("00000000000000000001.seg~", "hello", 5);
    struct log_reader *reader = open_reader();
    assert_drained(reader, LOG_BOTH, "hello\noops\nworld, again\n", 0, LOG_NOTHING);
    log_reader_close(reader);
}

static void what_is_no_file_of_ours_is_not_followed(void **state)
{
    (void)state;
    struct hutch_error err;
    struct log_chunk chunk;
    write_pieces();
    assert_int_equal(symlinkat(FIRST_SEGMENT, log_dir, "00000000000000000024.seg"), 0);
    assert_int_equal(mkfifoat(log_dir, "00000000000000000025.seg", 0600), 0);
    put_file("00000000000000000026.end", "", 0);
    struct log_reader *reader = open_reader();
    log_reader_seek(reader, 11);
    assert_int_equal(log_reader_next(reader, LOG_BOTH, &chunk, &err), LOG_CHUNK);
    assert_refused(log_reader_next(reader, LOG_BOTH, &chunk, &err), &err,
                   "log segment '00000000000000000024.seg' is a symbolic link: not read; "
                   "reading goes on at offset 25");
    assert_refused(log_reader_next(reader, LOG_BOTH, &chunk, &err), &err,
                   "log segment '00000000000000000025.seg' is no regular file: not read; "
                   "reading goes on in the next segment, once there is one");
    assert_drained(reader, LOG_BOTH, "", 2, LOG_ENDED);
    log_reader_close(reader);
}

static void a_removed_directory_is_said(void **state)
{
    (void)state;
    struct hutch_error err;
    struct log_chunk chunk;
    struct log_reader *reader = open_reader();
    assert_int_equal(rmdir(home), 0);
    assert_int_equal(log_reader_next(reader, LOG_BOTH, &chunk, &err), -HUTCH_E_NOT_FOUND);
    assert_string_equal(err.msg, "the log was removed");
    log_reader_close(reader);
    assert_int_equal(mkdir(home, 0700), 0); /* for the tear-down */
}

/* ---- places to begin at ---- */

/* What tail would print of this text. */
static const char *last_lines(const char *text, size_t lines)
{
    size_t length = strlen(text);
    const char *next = text + length;
    if (next > text && next[-1] == '\n' && lines)
        next--;
    while (next > text && lines)
        if (*--next == '\n' && --lines == 0)
            return next + 1;
    return next;
}

static void check_tail(struct log_reader *reader, const char *const *texts, uint64_t lines)
{
    struct hutch_error err;
    for (unsigned filter = LOG_STDOUT; filter <= LOG_BOTH; filter++) {
        assert_fine(log_reader_tail(reader, lines, filter, &err), &err);
        assert_drained(reader, filter, last_lines(texts[filter], lines), 0, LOG_NOTHING);
    }
}

static void tail_gives_the_last_lines_of_the_chosen_streams(void **state)
{
    (void)state;
    static char texts[4][400 * 1024];
    const char *const all[] = {texts[0], texts[1], texts[2], texts[3]};
    size_t lengths[4] = {0};
    uint32_t random = 1;
    struct log_writer *writer = open_writer(16 * MIB / 8); /* several segments, no rotation */
    struct log_reader *reader = open_reader();
    check_tail(reader, all, 3); /* of nothing */
    for (size_t i = 0; i < 3000; i++) {
        char piece[100];
        random = random * 1664525 + 1013904223;
        size_t stream = random >> 30 ? LOG_STDOUT : LOG_STDERR, length = 1 + (random >> 8) % 97;
        memset(piece, '\n', length);
        for (size_t k = 0; k < length; k++)
            if ((random >> k % 16) % 13)
                piece[k] = "abcdefghijklmnop"[(i + k) % 16];
        piece[length] = '\0';
        append(writer, (enum log_stream)stream, piece);
        for (size_t filter = 1; filter < 4; filter++)
            if (filter & stream) {
                memcpy(texts[filter] + lengths[filter], piece, length + 1);
                lengths[filter] += length;
            }
        if (i < 40)
            for (uint64_t lines = 0; lines < 12; lines++)
                check_tail(reader, all, lines);
    }
    for (uint64_t lines = 1; lines < 40000; lines += 1 + lines / 3)
        check_tail(reader, all, lines);
    check_tail(reader, all, UINT64_MAX);
    log_reader_close(reader);
    log_writer_close(writer);
}

static void tail_beyond_what_is_left_tells_what_is_lost(void **state)
{
    (void)state;
    struct hutch_error err;
    uint64_t skipped = 0;
    struct log_writer *writer = open_writer(LOG_LIMIT_MIN);
    for (size_t i = 0; i < 300; i++)
        append_pattern(writer, 1000);
    struct log_reader *reader = open_reader();
    assert_fine(log_reader_tail(reader, 10000000, LOG_BOTH, &err), &err);
    assert_int_equal(read_pattern(reader, SIZE_MAX, &skipped), LOG_NOTHING);
    assert_true(skipped > 0);
    log_reader_close(reader);
    log_writer_close(writer);
}

/* One frame of one byte for each second from 100 to 199, in four segments. */
static void write_seconds(void)
{
    for (uint64_t offset = 0; offset < 100; offset += 25) {
        unsigned char segment[25 * (LOG_HEADER_BYTES + 1)];
        char name[LOG_NAME_SIZE];
        for (uint64_t i = 0; i < 25; i++) {
            const struct log_frame frame = {.offset = offset + i,
                                            .time_us = (100 + offset + i) * 1000000,
                                            .length = 1,
                                            .stream = 1};
            log_frame_encode(&frame, segment + i * (LOG_HEADER_BYTES + 1));
            segment[i * (LOG_HEADER_BYTES + 1) + LOG_HEADER_BYTES] = 'x';
        }
        log_segment_name(offset, name);
        put_file(name, segment, sizeof(segment));
    }
}

static void since_begins_at_the_first_frame_of_that_time(void **state)
{
    (void)state;
    struct hutch_error err;
    struct log_reader *reader = open_reader();
    assert_fine(log_reader_since(reader, 5, &err), &err); /* of nothing */
    assert_int_equal(log_reader_offset(reader), 0);
    write_seconds();
    for (uint64_t second = 90; second < 210; second++) {
        uint64_t expected = second < 100 ? 0 : second - 100;
        assert_fine(log_reader_since(reader, second * 1000000 - 500000, &err), &err);
        assert_int_equal(log_reader_offset(reader), expected < 100 ? expected : 100);
    }
    log_reader_close(reader);
}

/* ---- full disks, and waiting ---- */

static void fill_disk(struct log_writer *writer)
{
    uint64_t dropped = log_writer_dropped(writer);
    for (size_t i = 0; i < 400 && log_writer_dropped(writer) < dropped + 40000; i++)
        append_pattern(writer, 3000 + i);
    assert_true(log_writer_dropped(writer) > dropped);
}

static void check_full_disk(void)
{
    uint64_t skipped = 0;
    static const char ballast[200 * 1024];
    put_file("ballast", ballast, sizeof(ballast));
    struct log_writer *writer = open_writer(64 * MIB);
    struct log_reader *reader = open_reader();
    fill_disk(writer);
    assert_int_equal(unlinkat(log_dir, "ballast", 0), 0);
    uint64_t dropped = log_writer_dropped(writer);
    for (size_t i = 0; i < 10; i++)
        append_pattern(writer, 2000);
    assert_int_equal(log_writer_dropped(writer), dropped);
    assert_int_equal(read_pattern(reader, SIZE_MAX, &skipped), LOG_NOTHING);
    assert_int_equal(skipped, dropped);
    fill_disk(writer);
    end_log(writer); /* even here */
    assert_int_equal(read_pattern(reader, SIZE_MAX, &skipped), LOG_ENDED);
    assert_int_equal(log_reader_offset(reader), log_writer_offset(writer));
    assert_int_equal(skipped, log_writer_dropped(writer));
    log_reader_close(reader);
    log_writer_close(writer);
}

static void a_full_filesystem_costs_bytes_and_nothing_else(void **state)
{
    (void)state;
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", home, "tmpfs", 0, "size=512k") < 0) {
        print_message("skipped: a small tmpfs: %s\n", strerror(errno));
        skip();
    }
    int outer = log_dir;
    log_dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check_full_disk();
    hutch_fd_close(&log_dir);
    log_dir = outer;
    assert_int_equal(umount(home), 0);
}

static void a_watched_log_wakes_its_reader(void **state)
{
    (void)state;
    struct log_writer *writer = open_writer(MIB);
    struct log_reader *reader = open_reader();
    assert_true(log_reader_watch_fd(reader) >= 0);
    for (size_t i = 0; i < 3; i++) {
        append(writer, LOG_STDOUT, "x");
        assert_true(log_reader_wait(reader, 0));
        assert_drained(reader, LOG_BOTH, "x", 0, LOG_NOTHING);
        assert_false(log_reader_wait(reader, 0));
    }
    end_log(writer);
    assert_true(log_reader_wait(reader, 0));
    assert_drained(reader, LOG_BOTH, "", 0, LOG_ENDED);
    log_reader_close(reader);
    log_writer_close(writer);
}

static void without_inotify_it_is_polled(void **state)
{
    (void)state;
    struct rlimit old, none = {0};
    struct timespec before, after;
    struct log_reader *reader = open_reader();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &before), 0);
    int watch = log_reader_watch_fd(reader);
    bool may_have_more = log_reader_wait(reader, -1), in_time = log_reader_wait(reader, 1);
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &after), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_true(watch < 0 && may_have_more && !in_time);
    int64_t passed_ms =
        (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
    assert_in_range(passed_ms, LOG_POLL_MS, 20 * LOG_POLL_MS);
    log_reader_close(reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_home, remove_home)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_appended_is_read_back_with_stream_offset_and_time),
        TEST(every_offset_can_be_sought),
        TEST(streams_are_chosen_by_the_filter),
        TEST(an_append_of_any_size_comes_back_whole),
        TEST(an_ended_log_says_so_and_takes_no_more),
        TEST(rotation_keeps_the_limit_and_the_newest),
        TEST(a_reader_that_rotation_overtakes_says_what_it_missed),
        TEST(a_log_torn_at_any_byte_goes_on),
        TEST(a_changed_byte_costs_one_segment_and_is_told),
        TEST(a_writer_goes_on_behind_damage),
        TEST(foreign_files_are_nobodys_business),
        TEST(what_is_no_file_of_ours_is_not_followed),
        TEST(a_removed_directory_is_said),
        TEST(tail_gives_the_last_lines_of_the_chosen_streams),
        TEST(tail_beyond_what_is_left_tells_what_is_lost),
        TEST(since_begins_at_the_first_frame_of_that_time),
        TEST(a_full_filesystem_costs_bytes_and_nothing_else),
        TEST(a_watched_log_wakes_its_reader),
        TEST(without_inotify_it_is_polled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
