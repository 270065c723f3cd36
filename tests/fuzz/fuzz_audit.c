/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of the audit journal on files that anybody may have written: no input makes it read
 * out of bounds or fail, a line that is not ours is never taken for one that follows, and a writer
 * goes on behind whatever is there. The first byte says how much of the rest is the head, the
 * second how much of what is left is the first segment; a second segment has the rest. */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "store/audit_files.h"
#include "util/fs.h"

static char home[] = "/tmp/hutch-fuzz-audit-XXXXXX";
static bool is_made;

static void empty_home(void)
{
    DIR *directory = opendir(home);
    REQUIRE(directory, "%s", home);
    for (const struct dirent *entry; (entry = readdir(directory));)
        (void)unlinkat(dirfd(directory), entry->d_name, 0);
    (void)closedir(directory);
}

static void remove_home(void)
{
    empty_home();
    (void)rmdir(home);
}

static void make_home(void)
{
    if (is_made)
        return;
    REQUIRE(mkdtemp(home), "%s", home);
    is_made = true;
    (void)atexit(remove_home);
}

static void put_file(const char *path, const void *data, size_t size)
{
    hutch_autofd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && hutch_write_all(fd, data, size) == 0, "%s", path);
}

static void put_journal(const uint8_t *data, size_t size)
{
    char path[AUDIT_PATH_BYTES + AUDIT_SEGMENT_NAME_BYTES];
    uint8_t head_share = size > 0 ? data[0] : 0, share = size > 1 ? data[1] : 0;
    data += size > 2 ? 2 : size;
    size -= size > 2 ? 2 : size;
    size_t head = head_share < size ? head_share : size;
    (void)snprintf(path, sizeof(path), "%s/head", home);
    put_file(path, data, head);
    data += head, size -= head;
    size_t first = size * share / 255;
    audit_segment_path(home, 1, path);
    put_file(path, data, first);
    audit_segment_path(home, 3, path);
    if (size > first)
        put_file(path, data + first, size - first);
}

static void begin_chain(struct audit_chain *chain)
{
    struct audit_head begin;
    audit_head_begin(&begin);
    chain->seq = 0;
    memcpy(chain->hash, begin.hash, sizeof(chain->hash));
}

/* What follows says so by a hash that is right. */
static int check(void *userdata, const struct audit_entry *entry)
{
    struct audit_chain *before = userdata;
    struct audit_chain says;
    char why[160];
    if (!entry->line) {
        REQUIRE(entry->fault && strlen(entry->fault) > 5, "an entry without a line or a fault");
        return 0;
    }
    bool is_event = audit_line_read(entry->line, entry->length, &says);
    REQUIRE(is_event || entry->fault, "what is no event was taken for one");
    if (!entry->fault)
        REQUIRE(audit_line_check(before, entry->line, entry->length, why, sizeof(why)), "%s", why);
    else if (is_event)
        *before = says;
    return 0;
}

static void read_all(void)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct audit_chain chain, before;
    begin_chain(&chain);
    begin_chain(&before);
    REQUIRE(audit_walk(home, &chain, check, &before, &err) == 0, "%s", err.msg);
}

static int find_event(void *userdata, const struct audit_entry *entry)
{
    if (entry->line && memmem(entry->line, entry->length, "\"kind\":\"fuzzed\"", 15))
        ++*(unsigned *)userdata;
    return 0;
}

static void write_on(void)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct audit audit = AUDIT_INIT;
    struct audit_chain chain;
    unsigned found = 0;
    const struct audit_event event = {.kind = "fuzzed"};
    REQUIRE(audit_open_at(&audit, home, &err) == 0, "%s", err.msg);
    int status = audit_append(&audit, &event, &err);
    audit_close(&audit);
    if (status < 0) { /* a number at the end of all numbers */
        REQUIRE(strlen(err.msg) > 10, "%s", err.msg);
        return;
    }
    begin_chain(&chain);
    REQUIRE(audit_walk(home, &chain, find_event, &found, &err) == 0, "%s", err.msg);
    REQUIRE(found >= 1, "what was added is not there");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    make_home();
    put_journal(data, size);
    read_all();
    write_on();
    empty_home();
    return 0;
}
