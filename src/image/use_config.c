/* SPDX-License-Identifier: Apache-2.0 */
/* What an image's author wrote about its command, user, directory and variables. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/check.h"
#include "image/use.h"
#include "util/own.h"

/* The kernel takes no longer string, and no more of them together: see core/spec_validate.c. */
#define ENV_MAX_BYTES (128u << 10)
#define ENV_ALL_MAX_BYTES (1u << 20)

static int add_all(struct hutch_strlist *list, const struct hutch_strlist *more,
                   struct hutch_error *err)
{
    for (size_t i = 0; i < more->count; i++)
        if (hutch_strlist_add(list, more->items[i], err) < 0)
            return -(int)err->code;
    return 0;
}

/* An entrypoint of one empty word is how Docker says that there is to be none. */
static bool is_reset(const struct hutch_strlist *entrypoint)
{
    return entrypoint->count == 1 && !entrypoint->items[0][0];
}

static int settle_command(struct image_use *use, const struct hutch_spec *spec,
                          struct hutch_error *err)
{
    const struct image *image = &use->image;
    bool replaced = spec->entrypoint.count > 0;
    const struct hutch_strlist *entrypoint = replaced ? &spec->entrypoint : &image->entrypoint;
    const struct hutch_strlist *rest =
        spec->command.count || replaced ? &spec->command : &image->cmd;
    if (!is_reset(entrypoint) && add_all(&use->command, entrypoint, err) < 0)
        return -(int)err->code;
    if (add_all(&use->command, rest, err) < 0)
        return -(int)err->code;
    if (use->command.count && !use->command.items[0][0])
        return hutch_fail(
            err, HUTCH_E_INVALID, 0,
            "its command begins with an empty word; give one, or another --entrypoint");
    return 0;
}

static int check_env(const struct image *image, struct hutch_error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < image->env.count; i++) {
        const char *pair = image->env.items[i];
        size_t length = strlen(pair);
        if (*pair == '=' || !strchr(pair, '='))
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "its variable '%.80s' is not of the form KEY=VALUE", pair);
        total += length;
        if (length >= ENV_MAX_BYTES || total > ENV_ALL_MAX_BYTES)
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "its variables are too large at '%.40s...': one may have %u bytes, "
                              "all together %u",
                              pair, ENV_MAX_BYTES - 1, ENV_ALL_MAX_BYTES);
    }
    return 0;
}

static int settle_user(struct image_use *use, const struct hutch_spec *spec,
                       struct hutch_error *err)
{
    use->user = spec->user;
    if (use->user || !use->image.user || !*use->image.user)
        return 0;
    use->user = use->image.user;
    if (hutch_check_user(use->image.user, err) < 0)
        return hutch_wrap(err, "its user is unusable, choose one with -u: ");
    return 0;
}

static int settle_workdir(struct image_use *use, const struct hutch_spec *spec,
                          struct hutch_error *err)
{
    use->workdir = spec->workdir;
    if (use->workdir || !use->image.workdir || !*use->image.workdir)
        return 0;
    use->workdir = use->image.workdir;
    if (hutch_check_workdir(use->image.workdir, err) < 0)
        return hutch_wrap(err, "its working directory is unusable, choose one with -w: ");
    return 0;
}

/* "SIGQUIT", "QUIT" or "3"; -1: none of these. */
static int parse_signal(const char *text)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"HUP", SIGHUP},   {"INT", SIGINT},     {"QUIT", SIGQUIT}, {"KILL", SIGKILL},
                 {"USR1", SIGUSR1}, {"USR2", SIGUSR2},   {"TERM", SIGTERM}, {"CONT", SIGCONT},
                 {"STOP", SIGSTOP}, {"WINCH", SIGWINCH}, {"PWR", SIGPWR},   {"ALRM", SIGALRM},
                 {"ABRT", SIGABRT}, {"PIPE", SIGPIPE},   {"RTMIN", 34},     {"RTMAX", 64}};
    char *end = NULL;
    long number = strtol(text, &end, 10);
    if (end != text && !*end)
        return number >= 1 && number <= 64 ? (int)number : -1;
    if (!strncmp(text, "SIG", 3))
        text += 3;
    size_t length = strcspn(text, "+-");
    for (size_t i = 0; i < HUTCH_COUNT(names); i++) {
        if (strlen(names[i].name) != length || strncmp(names[i].name, text, length) != 0)
            continue;
        number = names[i].number + (text[length] ? strtol(text + length, &end, 10) : 0);
        bool is_whole = !text[length] || (!strncmp(text, "RT", 2) && !*end);
        return is_whole && number >= 1 && number <= 64 ? (int)number : -1;
    }
    return -1;
}

static int settle_stop_signal(struct image_use *use, struct hutch_error *err)
{
    const char *text = use->image.stop_signal;
    use->stop_signal = text && *text ? parse_signal(text) : SIGTERM;
    if (use->stop_signal < 0)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "its stop signal '%.40s' is none, they are written 'SIGTERM' or '15'",
                          text);
    return 0;
}

int image_use_settle(struct image_use *use, const struct hutch_spec *spec, struct hutch_error *err)
{
    if (check_env(&use->image, err) < 0 || settle_command(use, spec, err) < 0 ||
        settle_user(use, spec, err) < 0 || settle_workdir(use, spec, err) < 0 ||
        settle_stop_signal(use, err) < 0)
        return hutch_wrap(err, "image '%.150s': ", spec->image);
    return 0;
}
