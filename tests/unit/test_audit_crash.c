/* SPDX-License-Identifier: Apache-2.0 */
/* Writers of the audit journal are killed at a thousand moments while others write on. Whatever
 * they were told is there is there once, and the chain is whole. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/audit_files.h"
#include "util/own.h"

#define KILLS 1000
#define WRITERS 4
#define EVENTS_MAX (1u << 20)
#define SEGMENT_BYTES 20000 /* so that segments change all the time */

/* Shared with the writers: acknowledged[number] is set when the call for that event has returned.
 */
struct shared {
    unsigned next;
    unsigned char acknowledged[EVENTS_MAX];
};

static char home[64];
static struct shared *shared;

static void put_number(struct hutch_json_out *out, const void *userdata)
{
    hutch_json_uint(out, "number", *(const unsigned *)userdata);
}

static void write_for_ever(void)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    for (;;) { /* each a journal of its own, as a run has */
        struct audit audit = AUDIT_INIT;
        audit.segment_bytes = SEGMENT_BYTES;
        if (audit_open_at(&audit, home, &err) < 0)
            _exit(1);
        for (int i = 0; i < 2; i++) {
            unsigned number = __atomic_fetch_add(&shared->next, 1, __ATOMIC_SEQ_CST);
            const struct audit_event event = {.kind = "test",
                                              .fields = put_number,
                                              .userdata = &number,
                                              .begins_life = i == 0,
                                              .ends_life = i ? audit.life : 0};
            if (number >= EVENTS_MAX || audit_append(&audit, &event, &err) < 0)
                _exit(1);
            shared->acknowledged[number] = 1;
        }
        audit_close(&audit);
    }
}

static pid_t start_writer(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        write_for_ever();
    return pid;
}

static void pause_a_moment(void)
{
    unsigned random = 0;
    assert_int_equal(getrandom(&random, sizeof(random), 0), sizeof(random));
    const struct timespec pause = {.tv_nsec = (long)(random % 1000000)};
    (void)nanosleep(&pause, NULL);
}

static void end_writer(pid_t pid)
{
    int status = 0;
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status)); /* and did not fail before */
}

struct found {
    unsigned char *times; /* how often each number is there */
    uint64_t lines;
};

static int look_at(void *userdata, const struct audit_entry *entry)
{
    struct found *found = userdata;
    if (entry->fault)
        fail_msg("%s:%d: %s", entry->segment, (int)entry->line_number, entry->fault);
    const char *number = memmem(entry->line, entry->length, "\"number\":", 9);
    assert_non_null(number);
    found->times[strtoul(number + 9, NULL, 10)]++;
    found->lines++;
    return 0;
}

static void test_kill_9_at_a_thousand_moments(void **state)
{
    pid_t writers[WRITERS];
    struct audit_head begin;
    struct audit_chain chain = {0};
    struct hutch_error err;
    (void)state;
    for (size_t i = 0; i < WRITERS; i++)
        writers[i] = start_writer();
    for (size_t i = 0; i < KILLS; i++) {
        pause_a_moment();
        end_writer(writers[i % WRITERS]);
        writers[i % WRITERS] = start_writer();
    }
    for (size_t i = 0; i < WRITERS; i++)
        end_writer(writers[i]);
    struct found found = {.times = calloc(1, EVENTS_MAX)};
    assert_non_null(found.times);
    audit_head_begin(&begin);
    memcpy(chain.hash, begin.hash, sizeof(chain.hash));
    assert_fine(audit_walk(home, &chain, look_at, &found, &err), &err);
    unsigned acknowledged = 0, unheard = 0;
    for (unsigned i = 0; i < shared->next && i < EVENTS_MAX; i++) {
        if (found.times[i] > 1 || (shared->acknowledged[i] && !found.times[i]))
            fail_msg("event %u is there %u times", i, found.times[i]);
        acknowledged += shared->acknowledged[i];
        unheard += found.times[i] && !shared->acknowledged[i];
    }
    free(found.times);
    print_message("%u events acknowledged, %u written by the killed\n", acknowledged, unheard);
    assert_true(acknowledged > KILLS);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(home, sizeof(home), "/tmp/hutch-audit-XXXXXX");
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared != MAP_FAILED && mkdtemp(home) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    DIR *directory = opendir(home);
    if (!directory)
        return -1;
    for (const struct dirent *entry; (entry = readdir(directory));)
        (void)unlinkat(dirfd(directory), entry->d_name, 0);
    (void)closedir(directory);
    return rmdir(home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kill_9_at_a_thousand_moments, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
