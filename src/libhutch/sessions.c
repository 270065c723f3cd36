/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded commands: each has a directory with its log, what it was started as, and how it ended.
 * Which of those without an end run, their keeper says: one that was killed could write none down.
 * It is asked after the directories were listed, so that one begun meanwhile does not pass for
 * dead. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/question.h"
#include "backend/native/sandbox.h"
#include "hutch/hutch.h"
#include "libhutch/recorded.h"
#include "libhutch/scratch.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/strlist.h"

#define ABOUT_MAX_BYTES ((size_t)64 << 10)

struct found {
    char id[33];
    struct timespec made;
};

struct listing {
    struct hutch_sandbox *sandbox;
    hutch_session_fn on_session;
    void *userdata;
    int exec_dir;
    struct found *items;
    size_t count;
    size_t capacity;
    struct wire_message running; /* the keeper's sessions; empty without one */
};

static bool is_id(const char *name)
{
    size_t length = strlen(name);
    return length && length <= 32 && strspn(name, "0123456789abcdef") == length;
}

static int add(struct listing *listing, const char *id, struct hutch_error *err)
{
    struct stat info;
    if (fstatat(listing->exec_dir, id, &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(info.st_mode))
        return 0;
    if (listing->count == listing->capacity) {
        size_t capacity = listing->capacity ? listing->capacity * 2 : 16;
        struct found *items = reallocarray(listing->items, capacity, sizeof(*items));
        if (!items)
            return hutch_fail_nomem(err);
        listing->items = items;
        listing->capacity = capacity;
    }
    struct found *found = &listing->items[listing->count++];
    (void)snprintf(found->id, sizeof(found->id), "%s", id);
    char about[40];
    (void)snprintf(about, sizeof(about), "%s/about", id);
    found->made = info.st_mtim;
    if (fstatat(listing->exec_dir, about, &info, AT_SYMLINK_NOFOLLOW) == 0)
        found->made = info.st_mtim;
    return 0;
}

static int by_age(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    if (a->made.tv_sec != b->made.tv_sec)
        return a->made.tv_sec < b->made.tv_sec ? -1 : 1;
    if (a->made.tv_nsec != b->made.tv_nsec)
        return a->made.tv_nsec < b->made.tv_nsec ? -1 : 1;
    return strcmp(a->id, b->id);
}

static int collect(struct listing *listing, struct hutch_error *err)
{
    int status = 0;
    int again = openat(listing->exec_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    if (!dir) {
        if (again >= 0)
            (void)close(again);
        return hutch_fail_errno(err, errno, "list the commands of sandbox '%s'",
                                listing->sandbox->home.name);
    }
    for (const struct dirent *entry; status == 0 && (entry = readdir(dir));)
        if (is_id(entry->d_name))
            status = add(listing, entry->d_name, err);
    (void)closedir(dir);
    if (listing->count)
        qsort(listing->items, listing->count, sizeof(*listing->items), by_age);
    return status;
}

/* A sandbox that is stopped has no keeper, or one that rests. */
static void ask_running(struct listing *listing)
{
    static const struct wire_message empty = WIRE_MESSAGE_INIT;
    struct wire_message request = WIRE_MESSAGE_INIT;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    wire_begin(&request, "sessions");
    if (question_ask(listing->sandbox, &request, &listing->running, &ignored) < 0)
        listing->running = empty;
    hutch_buf_done(&request.text);
}

static const char *phase_of(const struct listing *listing, const char *id)
{
    const char *line = NULL;
    if (!listing->running.text.length)
        return NULL;
    while ((line = wire_next(&listing->running, "session", line)))
        if (!strcmp(line, id))
            return wire_next(&listing->running, "phase", line);
    return NULL;
}

/* What it was started as. Empty where nobody has written that down. */
static int read_about(const struct listing *listing, const char *id, struct wire_message *ret_about,
                      struct hutch_strlist *words, struct hutch_error *err)
{
    char place[48];
    hutch_autofree char *text = malloc(ABOUT_MAX_BYTES);
    if (!text)
        return hutch_fail_nomem(err);
    (void)snprintf(place, sizeof(place), "%s/about", id);
    ssize_t length = hutch_read_at(listing->exec_dir, place, text, ABOUT_MAX_BYTES);
    wire_begin(ret_about, "about");
    if (length > 6)
        hutch_buf_append(&ret_about->text, text + 6, (size_t)length - 6);
    for (const char *word = NULL; (word = wire_next(ret_about, "arg", word));)
        if (hutch_strlist_add(words, word, err) < 0)
            return -(int)err->code;
    return ret_about->text.failed ? hutch_fail_nomem(err) : 0;
}

/* How it ended: NULL while it runs. One that neither ended nor runs has died with its keeper. */
static int read_end(const struct listing *listing, const char *id, const char *phase,
                    struct hutch_result **ret_result, struct hutch_error *err)
{
    static const struct wire_message empty = WIRE_MESSAGE_INIT;
    struct wire_message end = WIRE_MESSAGE_INIT;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    *ret_result = NULL;
    if (recorded_result(listing->sandbox, id, &end, &ignored) < 0) {
        if (phase && strcmp(phase, "ended") != 0)
            return 0;
        end = empty;
        wire_begin(&end, "exited");
        wire_add(&end, "id", id);
    }
    int status = sandbox_result(&end, ret_result, err);
    wire_done(&end);
    return status;
}

static int tell(const struct listing *listing, const char *id, struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist words = {0};
    static const char *const none[] = {NULL};
    struct wire_message about = WIRE_MESSAGE_INIT;
    struct hutch_result *result = NULL;
    const char *phase = phase_of(listing, id);
    int status = read_about(listing, id, &about, &words, err);
    if (status == 0)
        status = read_end(listing, id, phase, &result, err);
    const struct hutch_session session = {
        .id = id,
        .state = result ? "ended" : phase,
        .has_terminal = wire_number(&about, "terminal", 0),
        .reads_input = wire_number(&about, "input", 0),
        .started_us = wire_number(&about, "started_us", 0),
        .argv = words.count ? (const char *const *)words.items : none,
        .result = result,
    };
    if (status == 0)
        status = listing->on_session(listing->userdata, &session);
    hutch_result_free(result);
    hutch_buf_done(&about.text);
    return status;
}

static int list(struct listing *listing, const char *id, struct hutch_error *err)
{
    int status = 0;
    bool is_asked = id && is_id(id);
    if (listing->exec_dir >= 0 && (!id || is_asked))
        status = is_asked ? add(listing, id, err) : collect(listing, err);
    if (status == 0 && id && !listing->count)
        return hutch_fail(err, HUTCH_E_NOT_FOUND, ENOENT,
                          "sandbox '%s' has no recorded command '%.40s'",
                          listing->sandbox->home.name, id);
    if (status == 0 && listing->count)
        ask_running(listing);
    for (size_t i = 0; status == 0 && i < listing->count; i++)
        status = tell(listing, listing->items[i].id, err);
    return status;
}

int hutch_sandbox_sessions(struct hutch_sandbox *sandbox, const char *id,
                           hutch_session_fn on_session, void *userdata, struct hutch_error *err)
{
    OR_SCRATCH(err);
    struct listing listing = {.sandbox = sandbox,
                              .on_session = on_session,
                              .userdata = userdata,
                              .running = WIRE_MESSAGE_INIT};
    hutch_autofd int exec_dir =
        openat(sandbox->home.dir, "exec", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    listing.exec_dir = exec_dir;
    int status = list(&listing, id, err);
    free(listing.items);
    wire_done(&listing.running);
    return status;
}
