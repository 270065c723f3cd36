/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/handles.h"
#include "cli/operands.h"
#include "cli/output.h"

/* NAME:PATH. A path that begins with '/' or '.' is the host's, whatever comes after. */
struct place {
    char name[72]; /* empty: the host */
    const char *path;
};

static struct place place_of(const char *word)
{
    struct place place = {.path = word};
    size_t length = strcspn(word, ":/");
    if (word[length] != ':' || !length || *word == '.' || length >= sizeof(place.name))
        return place;
    memcpy(place.name, word, length);
    place.path = word + length + 1;
    return place;
}

static void tell_skipped(void *userdata, const char *path, int os_errno)
{
    (void)userdata;
    cli_say("left out '%s': %s", path,
            os_errno ? strerror(os_errno) : "neither a file, a directory nor a link");
}

static int copy(const struct place *from, const struct place *to, struct hutch_error *err)
{
    CLI_CLEANUP(cli_sandbox_free) struct hutch_sandbox *sandbox = NULL;
    bool in = to->name[0];
    const char *inside = in ? to->path : from->path;
    const char *outside = in ? from->path : to->path;
    if (!from->name[0] == !to->name[0])
        return cli_fail(err, HUTCH_E_INVALID,
                        from->name[0] ? "both sides are in a sandbox; copy to the host first"
                                      : "no side is in a sandbox; write NAME:PATH for the one that "
                                        "is");
    if (!*inside || !*outside)
        return cli_fail(err, HUTCH_E_INVALID, "an empty path; write NAME:/some/path");
    if (hutch_sandbox_open(in ? to->name : from->name, &sandbox, err) < 0)
        return -(int)err->code;
    if (!strcmp(outside, "-"))
        return in ? hutch_sandbox_unpack(sandbox, STDIN_FILENO, inside, tell_skipped, NULL, err)
                  : hutch_sandbox_pack(sandbox, inside, STDOUT_FILENO, tell_skipped, NULL, err);
    return in ? hutch_sandbox_copy_in(sandbox, outside, inside, tell_skipped, NULL, err)
              : hutch_sandbox_copy_out(sandbox, inside, outside, tell_skipped, NULL, err);
}

static int cmd_cp(const struct cli_verb *verb, int argc, char **argv)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    int index = 0, status = 0;
    if (!cli_begin(verb, argc, argv, NULL, (struct cli_count){2, 2}, &index, &status))
        return status;
    struct place from = place_of(argv[index]);
    struct place to = place_of(argv[index + 1]);
    return copy(&from, &to, &err) < 0 ? cli_report(&err) : 0;
}

const struct cli_verb cli_verb_cp = {
    .name = "cp",
    .group = "Files of a sandbox",
    .summary = "Copy files between a sandbox and the host",
    .usage = "SOURCE NAME:TARGET | NAME:SOURCE TARGET",
    .details = "Directories are copied with all they hold; links stay links. A target that is a\n"
               "directory takes the source in, any other name becomes the copy's. '-' on the\n"
               "host's side is a tar archive on standard input or output.\n"
               "\n"
               "The caller's files belong to the sandbox's user inside, and the other way round.\n"
               "A file gets its name when it is whole, and only then takes another's place.\n"
               "\n"
               "Examples\n"
               "  hutch cp data.csv work:/workspace/\n"
               "  hutch cp work:/workspace/out results\n"
               "  tar c src | hutch cp - work:/workspace\n",
    .run = cmd_cp,
};
