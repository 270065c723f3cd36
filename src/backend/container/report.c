/* SPDX-License-Identifier: Apache-2.0 */
/* What a porter reports of its own, beside what it passes on from PID 1. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/container/link.h"
#include "core/isolation.h"
#include "image/manifest.h"
#include "util/own.h"

static int read_struct(int fd, void *place, size_t size, struct hutch_error *err)
{
    ssize_t got = fd < 0 ? -1 : pread(fd, place, size, 0);
    return got == (ssize_t)size ? 0
                                : hutch_fail(err, HUTCH_E_INTERNAL, 0,
                                             "the porter's report is not one; is it of another "
                                             "version?");
}

static int read_config(int fd, size_t length, char **ret_text, struct hutch_error *err)
{
    hutch_autofree char *text = length <= CONFIG_MAX_BYTES ? malloc(length + 1) : NULL;
    if (!text)
        return hutch_fail_nomem(err);
    for (size_t have = 0; have < length;) {
        ssize_t got =
            pread(fd, text + have, length - have, (off_t)(sizeof(struct porter_ready) + have));
        if (got <= 0)
            return hutch_fail(err, HUTCH_E_INTERNAL, 0, "the image's configuration was cut short");
        have += (size_t)got;
    }
    text[length] = '\0';
    *ret_text = HUTCH_TAKE_PTR(text);
    return 0;
}

/* From here on the image's words count as if it lay in hutch's own store. */
static int take_image(struct keeper *keeper, int fd, size_t length, struct hutch_error *err)
{
    struct image_use *use = &keeper->link->image;
    hutch_autofree char *text = NULL;
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist diff_ids = {0};
    if (read_config(fd, length, &text, err) < 0)
        return -(int)err->code;
    if (config_parse(text, length, &use->image, &diff_ids, err) < 0)
        return hutch_wrap(err, "image '%.150s': ", keeper->spec->image);
    if (image_use_settle(use, keeper->spec, err) < 0)
        return -(int)err->code;
    keeper->image = use;
    return 0;
}

/* Nobody but the engine has read the image's accounts. It gives the root to who is in none of them:
 * they have the usual home, as natively. */
static void name_user(struct identity *identity, const char *asked, const char *home)
{
    bool is_name = asked && (*asked < '0' || *asked > '9');
    bool is_usual = !asked && identity->uid == IDENTITY_DEFAULT_ID;
    bool is_homeless = !home[0] || !strcmp(home, "/");
    (void)snprintf(identity->home, sizeof(identity->home), "%.255s",
                   is_homeless ? "/home/" IDENTITY_DEFAULT_NAME : home);
    if (is_name)
        (void)snprintf(identity->name, sizeof(identity->name), "%.*s", (int)strcspn(asked, ":"),
                       asked);
    else if (is_usual && is_homeless)
        (void)snprintf(identity->name, sizeof(identity->name), IDENTITY_DEFAULT_NAME);
    else
        (void)snprintf(identity->name, sizeof(identity->name), "%u", identity->uid);
}

static void take_identity(struct keeper *keeper, const struct porter_ready *ready)
{
    struct identity *identity = &keeper->identity;
    bool is_known = identity->name[0] && identity->uid == ready->uid;
    identity->uid = ready->uid;
    identity->gid = ready->gid;
    identity->map = IDENTITY_SINGLE; /* PID 1 is that user, and so is all it can start */
    identity->can_set_groups = false;
    if (!is_known)
        name_user(identity, identity_asked(keeper->spec, keeper->image), ready->home);
}

static int take_ready(struct keeper *keeper, int *fds, size_t fd_count, struct hutch_error *err)
{
    struct porter_ready ready = {0};
    int fd = fd_count ? fds[0] : HUTCH_NO_FD;
    if (read_struct(fd, &ready, sizeof(ready), err) < 0)
        return -(int)err->code;
    ready.home[sizeof(ready.home) - 1] = '\0';
    if (ready.config_length && take_image(keeper, fd, ready.config_length, err) < 0)
        return -(int)err->code;
    keeper->missing |= ready.missing;
    take_identity(keeper, &ready);
    if (fd_count > 1)
        keeper->writable = HUTCH_TAKE_FD(fds[1]);
    keeper->link->is_ready = true;
    if (keeper->options && !keeper_command(keeper)->count)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "image '%.150s' names no command to run, give one such as 'sh -c \"echo "
                          "hello\"'",
                          keeper->spec->image ? keeper->spec->image : "");
    return 0;
}

static void take_end(struct keeper *keeper, int *fds, size_t fd_count)
{
    struct container_link *link = keeper->link;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    link->has_end =
        read_struct(fd_count ? fds[0] : HUTCH_NO_FD, &link->end, sizeof(link->end), &ignored) == 0;
    if (!link->has_end)
        return;
    link->end.place[sizeof(link->end.place) - 1] = '\0';
    link->end.error.msg[sizeof(link->end.error.msg) - 1] = '\0';
    if (link->end.error.code && link->is_ready && !keeper->artifacts_failure.code)
        keeper->artifacts_failure = link->end.error;
    keeper->disk_full |= link->end.disk_full;
    if (link->end.usage.disk_peak_bytes > keeper->disk_seen_bytes)
        keeper->disk_seen_bytes = link->end.usage.disk_peak_bytes;
    if (fd_count > 1 && keeper->artifacts < 0)
        keeper->artifacts = HUTCH_TAKE_FD(fds[1]);
}

/* Why there is no container, in the porter's own words. */
static void take_failure(int fd, struct hutch_error *err)
{
    struct hutch_error told;
    if (read_struct(fd, &told, sizeof(told), err) < 0)
        return;
    told.msg[sizeof(told.msg) - 1] = '\0';
    *err = told;
    if (!err->code || err->code >= HUTCH_CODE_COUNT)
        err->code = HUTCH_E_INTERNAL;
}

enum engine_word link_hear(struct keeper *keeper, const struct init_message *report, int *fds,
                           size_t fd_count, struct hutch_error *err)
{
    enum engine_word word = ENGINE_NOTHING;
    int first = fd_count ? fds[0] : HUTCH_NO_FD;
    switch (report->type) {
    case PORTER_READY:
        word = take_ready(keeper, fds, fd_count, err) < 0 ? ENGINE_FAILED : ENGINE_READY;
        break;
    case PORTER_FAILED:
        take_failure(first, err);
        word = ENGINE_FAILED;
        break;
    case PORTER_ENDED:
        take_end(keeper, fds, fd_count);
        break;
    case PORTER_BUSY:
        keeper->link->told_us = now_us(); /* it is not stuck */
        break;
    default:
        break;
    }
    for (size_t i = 0; i < fd_count; i++)
        hutch_fd_close(&fds[i]);
    return word;
}
