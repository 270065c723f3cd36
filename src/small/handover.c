/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/handover.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/output.h"
#include "cli/spec_file.h"
#include "porter/porter.h"
#include "util/config_file.h"

/* Flags whose value is a document. */
static const char *const document_flags[] = {"--spec", "--policy"};

/* The path that such a flag gives, NULL when the word is none or no path follows. */
static const char *document_path(char *const *word)
{
    for (size_t i = 0; i < sizeof(document_flags) / sizeof(document_flags[0]); i++) {
        size_t length = strlen(document_flags[i]);
        if (strncmp(*word, document_flags[i], length) != 0)
            continue;
        if (!(*word)[length])
            return word[1];
        if ((*word)[length] == '=')
            return *word + length + 1;
    }
    return NULL;
}

/* What only the complete program can do: it has the libraries that images take. */
static const char *const verbs_of_full[] = {"audit", "image", "policy", "sandboxes", "usage"};
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

/* ---- documents of the host and of the user --------------------------------------------------- */

/* Verbs that read them, and those documents: by their names, and by the variables that name others.
 * A call is handed over whole, for the lines of YAML are lost when it is said as JSON (yaml.c). */
static const char *const configured_verbs[] = {"run",   "create", "exec",  "shell",
                                               "start", "fork",   "update"};
static const char *const configurations[] = {"policy"};
static const char *const variables[] = {"HUTCH_POLICY"};

static bool names_yaml(const char *variable)
{
    struct stat info;
    const char *path = getenv(variable);
    return path && *path && !cli_spec_is_named_json(path) && stat(path, &info) == 0 &&
           S_ISREG(info.st_mode);
}

static bool is_configured_by_yaml(const char *verb)
{
    bool is_verb = false;
    for (size_t i = 0; verb && i < sizeof(configured_verbs) / sizeof(configured_verbs[0]); i++)
        is_verb = is_verb || !strcmp(verb, configured_verbs[i]);
    for (size_t i = 0; is_verb && i < sizeof(variables) / sizeof(variables[0]); i++)
        if (names_yaml(variables[i]))
            return true;
    return is_verb &&
           config_has_yaml(configurations, sizeof(configurations) / sizeof(configurations[0]));
}

/* ---- the decision ---------------------------------------------------------------------------- */

/* A document may be YAML unless its name says that it is JSON. It is not opened to find out: what
 * comes through a pipe can be read only once. */
static bool needs_full(char **argv)
{
    bool is_help = argv[1] && !strcmp(argv[1], "help");
    if (is_verb_of_full(argv[1]) || (is_help && is_verb_of_full(argv[2])))
        return true;
    for (char **word = argv + 1; *word && strcmp(*word, "--"); word++) {
        const char *path = document_path(word);
        if ((path && !cli_spec_is_named_json(path)) || is_flag_of_full(*word))
            return true;
    }
    return is_configured_by_yaml(argv[1]);
}

bool cli_is_porter(int argc, char *const *argv, int *ret_status)
{
    if (!porter_is_called(argc, argv))
        return false;
    *ret_status = porter_main(argc, argv);
    return true;
}

/* The small one has no TLS; a gateway without is a program of its own. */
bool cli_is_gateway(int argc, char *const *argv, int *ret_status)
{
    (void)argc, (void)argv, (void)ret_status;
    return false;
}

int cli_handover(char **argv, struct hutch_error *err)
{
    int failed = cli_handover_host(argv, err);
    if (failed)
        return failed;
    return needs_full(argv) ? cli_handover_now(argv, err) : cli_handover_serve(argv, err);
}

int cli_handover_now(char *const *argv, struct hutch_error *err)
{
    int status = cli_exec_beside("hutch-full", argv, err);
    if (status < 0)
        return status;
    return cli_fail(
        err, HUTCH_E_NOT_FOUND,
        "images, named sandboxes, the audit and documents that may be YAML (a spec, the policy) "
        "need the program 'hutch-full' beside 'hutch' or in libexec/hutch, and it is not there; "
        "build or install hutch again, or write the document as JSON in a file that ends in "
        "'.json'");
}
