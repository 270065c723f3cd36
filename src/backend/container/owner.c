/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/container/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "backend/native/home.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/state_dir.h"

#define WORD_BYTES 64

/* The first word of a small file; empty where there is none. */
static void read_word(const char *path, char word[WORD_BYTES])
{
    if (hutch_read_at(AT_FDCWD, path, word, WORD_BYTES) < 0)
        word[0] = '\0';
    word[strcspn(word, " \n")] = '\0';
}

/* Field 22 of its stat file: two processes of one number do not share it. The name in field 2 may
 * hold spaces and brackets, so fields are counted from its last bracket. 0: no such process. */
static unsigned long long start_time(pid_t pid)
{
    char path[64], text[1024];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (hutch_read_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return 0;
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at ? strtoull(at, NULL, 10) : 0;
}

static int describe(pid_t pid, char text[OWNER_BYTES])
{
    char boot[WORD_BYTES];
    read_word("/proc/sys/kernel/random/boot_id", boot);
    unsigned long long started = start_time(pid);
    (void)snprintf(text, OWNER_BYTES, "%s %d %llu", boot, (int)pid, started);
    return started ? 0 : -1;
}

int owner_text(char ret_text[OWNER_BYTES], struct hutch_error *err)
{
    if (describe(getppid(), ret_text) < 0)
        return hutch_fail(err, HUTCH_E_SYSTEM, 0, "the keeper of this container is gone");
    return 0;
}

int owner_home(char ret_text[OWNER_HOME_BYTES], struct hutch_error *err)
{
    char machine[WORD_BYTES], lib[400];
    struct utsname name;
    if (state_directory("lib", lib, sizeof(lib), err) < 0)
        return -(int)err->code;
    read_word("/etc/machine-id", machine);
    if (!machine[0] && uname(&name) == 0)
        (void)snprintf(machine, sizeof(machine), "%.63s", name.nodename);
    (void)snprintf(ret_text, OWNER_HOME_BYTES, "%s:%s", machine, lib);
    return 0;
}

/* By its text: a process of another boot with the same number is not the one. */
static bool is_alive(const char *owner)
{
    char now[OWNER_BYTES];
    const char *number = strchr(owner, ' ');
    return number && describe((pid_t)strtol(number, NULL, 10), now) == 0 && !strcmp(now, owner);
}

/* Not knowing counts as wanted. */
static bool is_wanted(const char *id)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist names = {0};
    if (home_names(&names, false, &ignored) < 0)
        return true;
    bool wanted = false;
    for (size_t i = 0; i < names.count && !wanted; i++) {
        struct home home = HOME_INIT;
        char own[33];
        if (home_open(&home, names.items[i], &ignored) < 0)
            continue;
        wanted = !home_read_id(&home, own) || !strcmp(own, id);
        home_close(&home);
    }
    return wanted;
}

bool owner_has_left(const char *home, const char *owner, const char *id)
{
    char own[OWNER_HOME_BYTES];
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    return owner_home(own, &ignored) == 0 && !strcmp(own, home) && !is_alive(owner) &&
           !is_wanted(id);
}

static int note_path(const char *backend, char *path, size_t size, struct hutch_error *err)
{
    char lib[400];
    if (state_directory("lib", lib, sizeof(lib), err) < 0)
        return -(int)err->code;
    (void)snprintf(path, size, "%s/containers.%.20s", lib, backend);
    return 0;
}

int owner_note(const char *backend, struct hutch_error *err)
{
    char path[440];
    if (note_path(backend, path, sizeof(path), err) < 0)
        return -(int)err->code;
    hutch_autofd int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? hutch_fail_errno(err, errno, "write '%.200s'", path) : 0;
}

bool owner_has_noted(const char *backend)
{
    char path[440];
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    return state_exists("lib") && note_path(backend, path, sizeof(path), &ignored) == 0 &&
           access(path, F_OK) == 0;
}
