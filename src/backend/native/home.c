/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/native/state.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/remove_tree.h"
#include "util/state_dir.h"

#define SPEC_MAX_BYTES (4u << 20)
#define STATE_BYTES 512
#define SPARE_BYTES 512

static const char *const state_names[HOME_STATES] = {
    [HOME_STARTING] = "starting", [HOME_RUNNING] = "running", [HOME_PAUSED] = "paused",
    [HOME_STOPPED] = "stopped",   [HOME_DEAD] = "dead",
};

const char *home_state_name(enum home_state state)
{
    return state_names[state];
}

/* The directory of all homes, made when missing. */
static int open_homes(struct hutch_error *err)
{
    char lib[400];
    char path[420];
    if (state_directory("lib", lib, sizeof(lib), err) < 0)
        return -(int)err->code;
    (void)snprintf(path, sizeof(path), "%s/sandboxes", lib);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && (mkdir(path, 0700) == 0 || errno == EEXIST))
        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return hutch_fail_errno(err, errno, "open '%.200s'", path);
    return fd;
}

static bool has_homes(void)
{
    char lib[400];
    char path[420];
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (!state_exists("lib"))
        return false;
    if (state_directory("lib", lib, sizeof(lib), &ignored) < 0)
        return true; /* whoever opens it says why */
    (void)snprintf(path, sizeof(path), "%s/sandboxes", lib);
    return access(path, F_OK) == 0 || errno != ENOENT;
}

static int set_lock(int fd, short type)
{
    struct flock all = {.l_type = type, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &all);
}

/* Whoever holds the lock decides over the name, so under it the answer is a lasting one. */
bool home_is_there(const struct home *home)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct stat own, named;
    hutch_autofd int homes = open_homes(&ignored);
    return homes >= 0 && fstat(home->dir, &own) == 0 &&
           fstatat(homes, home->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           own.st_ino == named.st_ino && own.st_dev == named.st_dev;
}

int home_hold(struct home *home, struct hutch_error *err)
{
    bool held = home->lock < 0 ? !home_is_held(home) : set_lock(home->lock, F_WRLCK) == 0;
    if (held && home_is_there(home))
        return 0;
    if (held)
        return hutch_fail(err, HUTCH_E_NOT_FOUND, ENOENT,
                          "sandbox '%s' has been removed by somebody else", home->name);
    if (home->lock >= 0 && errno != EAGAIN && errno != EACCES)
        return hutch_fail_errno(err, errno, "lock sandbox '%s'", home->name);
    return hutch_fail(err, HUTCH_E_CONFLICT, 0,
                      "somebody else acts on sandbox '%s' at this moment; try again", home->name);
}

/* Does a keeper answer, whatever its lock says? */
static bool has_keeper(const struct home *home)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    hutch_autofd int keeper = home_connect(home, false, &ignored);
    return keeper >= 0;
}

bool home_is_held(const struct home *home)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool held =
        home->lock >= 0 && fcntl(home->lock, F_OFD_GETLK, &all) == 0 && all.l_type != F_UNLCK;
    return held || has_keeper(home); /* the lock may not be the one that it holds */
}

void home_close(struct home *home)
{
    hutch_fd_close(&home->lock);
    hutch_fd_close(&home->dir);
}

static int write_file(int dir, const char *name, const char *text)
{
    hutch_autofd int fd =
        openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? -1 : hutch_write_all(fd, text, strlen(text));
}

static int fill(struct home *home, const char *id, const char *spec)
{
    home->lock = openat(home->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (home->lock < 0 || set_lock(home->lock, F_WRLCK) < 0)
        return -1;
    return write_file(home->dir, "id", id) < 0 ? -1 : write_file(home->dir, "spec", spec);
}

int home_make(struct home *ret_home, const char *id, const char *spec, struct hutch_error *err)
{
    struct home home = HOME_INIT;
    hutch_autofd int homes = open_homes(err);
    if (homes < 0)
        return homes;
    (void)snprintf(home.name, sizeof(home.name), ".new-%s", id);
    (void)flock(homes, LOCK_SH); /* until its lock is held: see home_open_leftover */
    if (mkdirat(homes, home.name, 0700) < 0)
        return hutch_fail_errno(err, errno, "make a sandbox's directory");
    home.dir = openat(homes, home.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (home.dir < 0 || fill(&home, id, spec) < 0) {
        (void)hutch_fail_errno(err, errno, "write a sandbox's directory");
        (void)remove_tree(homes, home.name);
        home_close(&home);
        return -(int)err->code;
    }
    *ret_home = home;
    return 0;
}

int home_publish(struct home *home, const char *name, struct hutch_error *err)
{
    hutch_autofd int homes = open_homes(err);
    if (homes < 0)
        return homes;
    if (syscall(SYS_renameat2, homes, home->name, homes, name, RENAME_NOREPLACE) < 0) {
        if (errno == EEXIST)
            return hutch_fail(err, HUTCH_E_CONFLICT, EEXIST,
                              "there is a sandbox '%s' already; choose another name or remove it "
                              "with 'hutch rm %s'",
                              name, name);
        return hutch_fail_errno(err, errno, "name sandbox '%s'", name);
    }
    (void)snprintf(home->name, sizeof(home->name), "%s", name);
    return 0;
}

/* A file of ours; anything else in its place is damage, and must not make us wait. */
static int open_own(const struct home *home, const char *name, int mode)
{
    struct stat info;
    hutch_autofd int fd =
        openat(home->dir, name, mode | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? HUTCH_TAKE_FD(fd) : -1;
}

static int open_named(int homes, const char *name, struct home *home)
{
    (void)snprintf(home->name, sizeof(home->name), "%s", name);
    home->dir = openat(homes, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (home->dir < 0)
        return -1;
    home->lock = open_own(home, "lock", O_RDWR);
    if (home->lock >= 0 || home_is_there(home))
        return 0;
    home_close(home); /* it was removed meanwhile */
    errno = ENOENT;
    return -1;
}

/* Ids are not names of directories: looked for only when no name fits. */
static int open_by_id(int homes, const char *id, struct home *ret_home)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist names = {0};
    if (strlen(id) < 16 || home_names(&names, false, &ignored) < 0)
        return -1;
    for (size_t i = 0; i < names.count; i++) {
        struct home_record record;
        struct home home = HOME_INIT;
        if (open_named(homes, names.items[i], &home) < 0)
            continue;
        if (home_read(&home, &record, &ignored) == 0 && !strcmp(record.id, id)) {
            *ret_home = home;
            return 0;
        }
        home_close(&home);
    }
    return -1;
}

int home_open(struct home *ret_home, const char *name, struct hutch_error *err)
{
    struct home home = HOME_INIT;
    hutch_autofd int homes = open_homes(err);
    if (homes < 0)
        return homes;
    bool possible = *name && *name != '.' && !strchr(name, '/') && strlen(name) < HOME_NAME_BYTES;
    if (possible && (open_named(homes, name, &home) == 0 || open_by_id(homes, name, &home) == 0)) {
        *ret_home = home;
        return 0;
    }
    if (possible && errno != ENOENT)
        return hutch_fail_errno(err, errno, "open sandbox '%.100s'", name);
    return hutch_fail(err, HUTCH_E_NOT_FOUND, ENOENT,
                      "there is no sandbox '%.100s'; 'hutch ls' lists those there are", name);
}

int home_open_leftover(struct home *ret_home, const char *name, struct hutch_error *err)
{
    struct home home = HOME_INIT;
    hutch_autofd int homes = open_homes(err);
    if (homes < 0)
        return homes;
    (void)snprintf(home.name, sizeof(home.name), "%s", name);
    /* whoever was making it when it was listed has locked it by now, or died */
    (void)flock(homes, LOCK_EX);
    (void)flock(homes, LOCK_UN);
    home.dir = openat(homes, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (home.dir < 0)
        return hutch_fail_errno(err, errno, "open '%s'", name);
    home.lock = open_own(&home, "lock", O_RDWR);
    *ret_home = home;
    return 0;
}

static int fail_state(const struct home *home, struct hutch_error *err)
{
    return hutch_fail_errno(err, errno, "write the state of sandbox '%s'", home->name);
}

static void describe_state(const struct home_record *record, char text[STATE_BYTES])
{
    (void)snprintf(text, STATE_BYTES,
                   "id %s\nstate %s\nlayer %s\ncreated_us %" PRIu64 "\nstarted_us %" PRIu64
                   "\nended_us %" PRIu64 "\nreason %s\nmissing %" PRIu64 "\n",
                   record->id, state_names[record->state], record->on_disk ? "disk" : "memory",
                   record->created_us, record->started_us, record->ended_us, record->reason,
                   record->missing);
}

static int write_state(const struct home *home, const struct home_record *record, bool gets_place,
                       struct hutch_error *err)
{
    char text[STATE_BYTES];
    describe_state(record, text);
    hutch_autofd int fd =
        openat(home->dir, "state.new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || hutch_write_all(fd, text, strlen(text)) < 0)
        return fail_state(home, err);
    /* a rename over another file waits until this one has its place on the disk */
    if (gets_place)
        (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    return 0;
}

int home_prepare(const struct home *home, const struct home_record *record, bool is_new,
                 struct hutch_error *err)
{
    return write_state(home, record, !is_new, err);
}

static int exchange(const struct home *home, const char *fresh, const char *name)
{
    if (syscall(SYS_renameat2, home->dir, fresh, home->dir, name, RENAME_EXCHANGE) == 0)
        return 0;
    return renameat(home->dir, fresh, home->dir, name); /* not every filesystem has it */
}

/* ext4 writes a file out at once that takes another's place, which costs as much as the rest of a
 * new home, and again when that is removed. Two that change places are left alone. */
int home_put(const struct home *home, bool is_new, struct hutch_error *err)
{
    int status = is_new ? exchange(home, "state.new", "state")
                        : renameat(home->dir, "state.new", home->dir, "state");
    return status < 0 ? fail_state(home, err) : 0;
}

void home_forget_former(const struct home *home)
{
    (void)unlinkat(home->dir, "state.new", 0);
}

static void write_out(const struct home *home, const char *name)
{
    hutch_autofd int fd = open_own(home, name, O_RDONLY);
    if (fd >= 0)
        (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

void home_write_out(const struct home *home)
{
    write_out(home, "state");
}

int home_write(const struct home *home, const struct home_record *record, struct hutch_error *err)
{
    int status = write_state(home, record, false, err);
    return status < 0 ? status : home_put(home, false, err);
}

/* By one write within the block that the file has. Empty lines behind it say nothing. */
int home_write_over(const struct home *home, const struct home_record *record,
                    struct hutch_error *err)
{
    char text[STATE_BYTES];
    struct stat info;
    describe_state(record, text);
    size_t length = strlen(text);
    hutch_autofd int fd = open_own(home, "state", O_WRONLY);
    if (fd < 0 || fstat(fd, &info) < 0)
        return fail_state(home, err);
    for (; length < sizeof(text) && (off_t)length < info.st_size; length++)
        text[length] = '\n';
    return hutch_write_all(fd, text, length) < 0 ? fail_state(home, err) : 0;
}

int home_write_spec(const struct home *home, const char *json, struct hutch_error *err)
{
    if (write_file(home->dir, "spec.new", json) < 0 ||
        renameat(home->dir, "spec.new", home->dir, "spec") < 0)
        return hutch_fail_errno(err, errno, "write the spec of sandbox '%s'", home->name);
    return 0;
}

/* Written over what is there, and cut only if that was longer: ext4 takes the close of a file that
 * was cut for the moment to look for its place on the disk. Empty lines behind it say nothing. */
static int write_spare(const struct home *home, const char *name, const char *text)
{
    char lines[SPARE_BYTES];
    struct stat info;
    size_t length = strlen(text);
    if (length < sizeof(lines)) {
        memset(lines, '\n', sizeof(lines));
        memcpy(lines, text, length);
        text = lines;
        length = sizeof(lines);
    }
    hutch_autofd int fd =
        openat(home->dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || hutch_write_all(fd, text, length) < 0 || fstat(fd, &info) < 0)
        return -1;
    return (size_t)info.st_size > length ? ftruncate(fd, (off_t)length) : 0;
}

int home_exchange(const struct home *home, const struct home_record *record, const char *json,
                  struct hutch_error *err)
{
    char state[STATE_BYTES];
    describe_state(record, state);
    if (write_spare(home, "state.new", state) < 0 || exchange(home, "state.new", "state") < 0)
        return fail_state(home, err);
    if (write_spare(home, "spec.new", json) < 0 || exchange(home, "spec.new", "spec") < 0)
        return hutch_fail_errno(err, errno, "write the spec of sandbox '%s'", home->name);
    return 0;
}

static const char *const exchanged[] = {"state", "spec"};
static const char *const spares[] = {"state.new", "spec.new"};

void home_prepare_exchange(const struct home *home)
{
    for (size_t i = 0; i < HUTCH_COUNT(spares); i++)
        (void)write_spare(home, spares[i], "");
}

void home_settle(const struct home *home)
{
    for (size_t i = 0; i < HUTCH_COUNT(exchanged); i++) {
        (void)unlinkat(home->dir, spares[i], 0);
        write_out(home, exchanged[i]);
    }
}

/* The rest of the line that begins with the key, or "". */
static void line_value(const char *text, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);
    *value = '\0';
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) != 0 || line[length] != ' ')
            continue;
        size_t used = strcspn(line + length + 1, "\n");
        (void)snprintf(value, size, "%.*s", (int)(used < size ? used : size - 1),
                       line + length + 1);
        return;
    }
}

static uint64_t line_number(const char *text, const char *key)
{
    char value[24];
    line_value(text, key, value, sizeof(value));
    return strtoull(value, NULL, 10);
}

static bool parse_record(const char *text, struct home_record *record)
{
    char state[16], layer[16];
    *record = (struct home_record){.state = HOME_STATES};
    line_value(text, "id", record->id, sizeof(record->id));
    line_value(text, "state", state, sizeof(state));
    line_value(text, "layer", layer, sizeof(layer));
    line_value(text, "reason", record->reason, sizeof(record->reason));
    record->on_disk = !strcmp(layer, "disk");
    record->created_us = line_number(text, "created_us");
    record->started_us = line_number(text, "started_us");
    record->ended_us = line_number(text, "ended_us");
    record->missing = line_number(text, "missing");
    for (int i = 0; i < HOME_STATES; i++)
        if (!strcmp(state, state_names[i]))
            record->state = (enum home_state)i;
    return record->state != HOME_STATES && strlen(record->id) == 16;
}

static void read_own(const struct home *home, const char *name, char *text, size_t size)
{
    hutch_autofd int fd = open_own(home, name, O_RDONLY);
    ssize_t length = fd < 0 ? 0 : read(fd, text, size - 1);
    text[length > 0 ? length : 0] = '\0';
}

static bool is_id(const char *text)
{
    return strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16;
}

bool home_read_id(const struct home *home, char ret_id[33])
{
    struct home_record record;
    char text[1024];
    read_own(home, "id", text, sizeof(text));
    if (!is_id(text)) {
        read_own(home, "state", text, sizeof(text));
        (void)parse_record(text, &record);
        memcpy(text, record.id, sizeof(record.id));
    }
    (void)snprintf(ret_id, 33, "%.32s", text);
    return is_id(text);
}

int home_read(const struct home *home, struct home_record *ret_record, struct hutch_error *err)
{
    char text[1024];
    struct home_record record;
    bool held = home_is_held(home);
    read_own(home, "state", text, sizeof(text));
    if (!home_is_there(home))
        return hutch_fail(err, HUTCH_E_NOT_FOUND, ENOENT, "sandbox '%s' has been removed",
                          home->name);
    if (home->lock < 0 || !parse_record(text, &record))
        return hutch_fail(err, HUTCH_E_INTERNAL, 0,
                          "the state of sandbox '%s' is damaged; remove it with 'hutch rm -f %s'",
                          home->name, home->name);
    if (!held && !record.on_disk && record.state == HOME_STOPPED) {
        record.state = HOME_DEAD; /* a keeper rests with such files */
        (void)snprintf(record.reason, sizeof(record.reason), "keeper_died");
    }
    if (!held && record.state < HOME_STOPPED) {
        bool was_ready = record.state != HOME_STARTING;
        record.state = was_ready && record.on_disk ? HOME_STOPPED : HOME_DEAD;
        (void)snprintf(record.reason, sizeof(record.reason), "%s",
                       was_ready ? "keeper_died" : "never_ready");
    }
    *ret_record = record;
    return 0;
}

int home_read_spec(const struct home *home, char **ret_text, size_t *ret_length,
                   struct hutch_error *err)
{
    char path[64];
    hutch_autofd int fd = open_own(home, "spec", O_RDONLY);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd < 0 || hutch_read_file(path, SPEC_MAX_BYTES, ret_text, ret_length, err) < 0)
        return hutch_fail(err, HUTCH_E_INTERNAL, 0,
                          "the spec of sandbox '%s' is gone or damaged; remove it with "
                          "'hutch rm -f %s'",
                          home->name, home->name);
    return 0;
}

int home_remove(struct home *home, const char *id, struct hutch_error *err)
{
    char gone[HOME_NAME_BYTES];
    hutch_autofd int homes = open_homes(err);
    if (homes < 0)
        return homes;
    (void)snprintf(gone, sizeof(gone), ".gone-%s", id);
    if (home->name[0] != '.' && renameat(homes, home->name, homes, gone) < 0)
        return hutch_fail_errno(err, errno, "remove sandbox '%s'", home->name);
    if (remove_tree(homes, home->name[0] == '.' ? home->name : gone) < 0)
        return hutch_fail_errno(err, errno, "remove the directory of sandbox '%s'", home->name);
    return 0;
}

int home_names(struct hutch_strlist *names, bool leftovers, struct hutch_error *err)
{
    if (!has_homes()) /* who only looks makes nothing */
        return 0;
    int homes = open_homes(err);
    if (homes < 0)
        return homes;
    DIR *listing = fdopendir(homes);
    if (!listing) {
        hutch_fd_close(&homes);
        return hutch_fail_errno(err, errno, "list the sandboxes");
    }
    int status = 0;
    struct dirent *entry;
    while (status == 0 && (entry = readdir(listing))) {
        bool is_leftover =
            !strncmp(entry->d_name, ".new-", 5) || !strncmp(entry->d_name, ".gone-", 6);
        if (leftovers ? is_leftover : entry->d_name[0] != '.')
            status = hutch_strlist_add(names, entry->d_name, err);
    }
    (void)closedir(listing);
    return status;
}
