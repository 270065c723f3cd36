/* SPDX-License-Identifier: Apache-2.0 */
/* The log store between processes: one writes, another follows, is killed and comes back. */
#include "log_home.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define LINE 64 /* bytes; the line at an offset is known from the offset */
#define TOTAL (200 * MIB)
#define KILLS 50
#define PIECE_MAX (64 * 1024)

/* What the reader tells its parent, and its successor. */
struct progress {
    _Atomic uint64_t offset;
    _Atomic uint64_t skipped;
};

static struct progress *share_progress(void)
{
    void *memory = mmap(NULL, sizeof(struct progress), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

/* Numbered lines, from any offset. */
static void fill_lines(char *data, uint64_t offset, size_t length)
{
    while (length) {
        char line[LINE];
        uint64_t number = offset / LINE;
        size_t from = offset % LINE, piece = LINE - from < length ? LINE - from : length;
        memset(line, '.', LINE - 1);
        line[LINE - 1] = '\n';
        for (size_t i = 16; i-- > 0; number /= 10)
            line[i] = (char)('0' + number % 10);
        memcpy(data, line + from, piece);
        data += piece;
        offset += piece;
        length -= piece;
    }
}

/* A child may not use the parent's assertions: it says what is wrong and goes. */
#define REQUIRE_IN_CHILD(condition, text)                                \
    do {                                                                 \
        if (!(condition)) {                                              \
            (void)fprintf(stderr, "child: %s (%s)\n", #condition, text); \
            _exit(2);                                                    \
        }                                                                \
    } while (0)

static void write_lines(uint64_t total, uint64_t limit_bytes)
{
    static char data[PIECE_MAX];
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct log_writer *writer = NULL;
    uint32_t random = 7;
    REQUIRE_IN_CHILD(log_writer_open(log_dir, limit_bytes, &writer, &err) == 0, err.msg);
    while (log_writer_offset(writer) < total) {
        uint64_t left = total - log_writer_offset(writer);
        random = random * 1664525 + 1013904223;
        size_t length = 1 + (random >> 8) % PIECE_MAX;
        if (random >> 30 == 0) /* small pieces too */
            length = 1 + length % 200;
        length = length < left ? length : (size_t)left;
        fill_lines(data, log_writer_offset(writer), length);
        enum log_stream stream = random >> 31 ? LOG_STDOUT : LOG_STDERR;
        REQUIRE_IN_CHILD(log_append(writer, stream, data, length, &err) == 0, err.msg);
    }
    REQUIRE_IN_CHILD(log_writer_end(writer, &err) == 0, err.msg);
    log_writer_close(writer);
}

static void follow_lines(struct progress *progress)
{
    static char expected[256 * 1024];
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct log_reader *reader = NULL;
    struct log_chunk chunk;
    REQUIRE_IN_CHILD(log_reader_open(log_dir, &reader, &err) == 0, err.msg);
    REQUIRE_IN_CHILD(log_reader_watch_fd(reader) >= 0, "no inotify");
    log_reader_seek(reader, progress->offset);
    for (;;) {
        int state = log_reader_next(reader, LOG_BOTH, &chunk, &err);
        REQUIRE_IN_CHILD(state >= 0, err.msg);
        if (state == LOG_NOTHING) {
            (void)log_reader_wait(reader, -1);
            continue;
        }
        REQUIRE_IN_CHILD(chunk.offset == progress->offset + chunk.skipped_bytes, "a wrong place");
        fill_lines(expected, chunk.offset, chunk.length);
        REQUIRE_IN_CHILD(!chunk.length || !memcmp(chunk.data, expected, chunk.length),
                         "wrong data");
        progress->skipped += chunk.skipped_bytes;
        progress->offset = chunk.offset + chunk.length;
        if (state == LOG_ENDED)
            break;
    }
    log_reader_close(reader);
}

static pid_t start_writer(uint64_t limit_bytes)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        write_lines(TOTAL, limit_bytes);
        _exit(0);
    }
    return pid;
}

static pid_t start_reader(struct progress *progress)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        follow_lines(progress);
        _exit(0);
    }
    return pid;
}

static void expect_success(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Kills the reader once it has come this far, which it does unless something is wrong. */
static void kill_behind(pid_t pid, const struct progress *progress, uint64_t offset)
{
    const struct timespec moment = {0, 1000000};
    int status;
    while (progress->offset < offset && waitpid(pid, &status, WNOHANG) == 0)
        (void)nanosleep(&moment, NULL);
    assert_true(progress->offset >= offset);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}

static void a_reader_killed_and_resumed_misses_nothing(void **state)
{
    (void)state;
    struct progress *progress = share_progress();
    pid_t writer = start_writer(4 * TOTAL);
    for (uint64_t i = 1; i <= KILLS; i++)
        kill_behind(start_reader(progress), progress, i * (TOTAL / (KILLS + 2)));
    expect_success(start_reader(progress));
    expect_success(writer);
    assert_int_equal(progress->offset, TOTAL);
    assert_int_equal(progress->skipped, 0);
    (void)munmap(progress, sizeof(*progress));
}

static void a_reader_that_rotation_overtakes_accounts_for_every_byte(void **state)
{
    (void)state;
    struct progress *progress = share_progress();
    pid_t reader = start_reader(progress);
    expect_success(start_writer(MIB));
    expect_success(reader);
    assert_int_equal(progress->offset, TOTAL);
    print_message("of 200 MiB, %llu bytes were rotated away before they were read\n",
                  (unsigned long long)progress->skipped);
    (void)munmap(progress, sizeof(*progress));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_home, remove_home)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_reader_killed_and_resumed_misses_nothing),
        TEST(a_reader_that_rotation_overtakes_accounts_for_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
