/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/handover.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/spec_file.h"
#include "porter/porter.h"

/* Where the complete program is, seen from this one: beside it in a build tree, in libexec when
 * installed. */
static const char *const places[] = {"hutch-full", "../libexec/hutch/hutch-full"};

/* The path that a --spec gives, NULL when the word is no --spec or none follows. */
static const char *spec_path(char *const *word)
{
    if (!strcmp(*word, "--spec"))
        return word[1];
    return strncmp(*word, "--spec=", 7) != 0 ? NULL : *word + 7;
}

/* What only the complete program can do: it has the libraries that images take. */
static const char *const verbs_of_full[] = {"image", "sandboxes"};
static const char *const flags_of_full[] = {"--sandbox"};

static bool is_verb_of_full(const char *word)
{
    for (size_t i = 0; word && i < sizeof(verbs_of_full) / sizeof(verbs_of_full[0]); i++)
        if (!strcmp(word, verbs_of_full[i]))
            return true;
    return false;
}

static bool is_flag_of_full(const char *word)
{
    for (size_t i = 0; i < sizeof(flags_of_full) / sizeof(flags_of_full[0]); i++) {
        size_t length = strlen(flags_of_full[i]);
        if (!strncmp(word, flags_of_full[i], length) && strchr("=", word[length]))
            return true;
    }
    return false;
}

/* A document may be YAML unless its name says that it is JSON. It is not opened to find out: what
 * comes through a pipe can be read only once. */
static bool needs_full(char **argv)
{
    bool is_help = argv[1] && !strcmp(argv[1], "help");
    if (is_verb_of_full(argv[1]) || (is_help && is_verb_of_full(argv[2])))
        return true;
    for (char **word = argv + 1; *word && strcmp(*word, "--"); word++) {
        const char *path = spec_path(word);
        if ((path && !cli_spec_is_named_json(path)) || is_flag_of_full(*word))
            return true;
    }
    return false;
}

bool cli_is_porter(int argc, char *const *argv, int *ret_status)
{
    if (!porter_is_called(argc, argv))
        return false;
    *ret_status = porter_main(argc, argv);
    return true;
}

int cli_handover(char **argv, struct hutch_error *err)
{
    return needs_full(argv) ? cli_handover_now(argv, err) : 0;
}

int cli_handover_now(char *const *argv, struct hutch_error *err)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length < 0)
        return cli_fail(err, HUTCH_E_SYSTEM, "find hutch's own directory: %s", strerror(errno));
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char path[PATH_MAX + 64];
        (void)snprintf(path, sizeof(path), "%s/%s", self, places[i]);
        (void)execv(path, argv);
    }
    return cli_fail(
        err, HUTCH_E_NOT_FOUND,
        "images, named sandboxes and '--spec' with a document that may be YAML need the program "
        "'hutch-full' beside 'hutch' or in libexec/hutch, and it is not there; build or install "
        "hutch again, or give the document as JSON in a file that ends in '.json'");
}
