/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/handover.h"
#include "cli/help.h"
#include "cli/host_flags.h"
#include "cli/output.h"
#include "cli/suggest.h"
#include "hutch/sandbox.h"

/* What people type by habit. */
static const struct {
    const char *word;
    const char *verb;
} aliases[] = {
    {"--help", "help"},
    {"-h", "help"},
    {"--version", "version"},
    {"-V", "version"},
};

static const char *resolve_alias(const char *word)
{
    for (size_t i = 0; i < CLI_COUNT(aliases); i++)
        if (!strcmp(aliases[i].word, word))
            return aliases[i].verb;
    return word;
}

const char *cli_verb_word(const struct cli_verb *verb)
{
    const char *space = strrchr(verb->name, ' ');
    return space ? space + 1 : verb->name;
}

/* The one of this name; NULL when there is none, and then what is near to it. */
static const struct cli_verb *find_among(const struct cli_verb *const *among, size_t count,
                                         struct cli_suggestion *suggestion)
{
    for (size_t i = 0; i < count; i++) {
        const char *word = cli_verb_word(among[i]);
        if (!strcmp(word, suggestion->word))
            return among[i];
        cli_suggestion_offer(suggestion, word);
    }
    return NULL;
}

int cli_verb_find_inner(const struct cli_verb *verb, const char *name,
                        const struct cli_verb **ret_verb, struct hutch_error *err)
{
    struct cli_suggestion suggestion = {.word = name};
    size_t count = 0;
    const struct cli_verb *const *inner = verb->inner ? verb->inner(&count) : NULL;
    const struct cli_verb *found = find_among(inner, count, &suggestion);
    if (found) {
        *ret_verb = found;
        return 0;
    }
    if (suggestion.best)
        return cli_fail(err, HUTCH_E_INVALID,
                        "'hutch %s' has no command '%.64s'; did you mean '%s'?", verb->name, name,
                        suggestion.best);
    return cli_fail(err, HUTCH_E_INVALID,
                    "'hutch %s' has no command '%.64s'; 'hutch help %s' tells more", verb->name,
                    name, verb->name);
}

int cli_verb_find(const char *name, const struct cli_verb **ret_verb, struct hutch_error *err)
{
    struct cli_suggestion suggestion = {.word = name};
    size_t count = 0;
    const struct cli_verb *const *verbs = cli_verbs(&count);
    const struct cli_verb *found = find_among(verbs, count, &suggestion);
    if (found) {
        *ret_verb = found;
        return 0;
    }
    if (suggestion.best)
        return cli_fail(err, HUTCH_E_INVALID, "unknown command '%.64s'; did you mean '%s'?", name,
                        suggestion.best);
    if (name[0] == '-')
        return cli_fail(err, HUTCH_E_INVALID,
                        "unknown flag '%.64s'; flags follow the command, as in 'hutch run %.64s'",
                        name, name);
    return cli_fail(err, HUTCH_E_INVALID,
                    "unknown command '%.64s'; 'hutch help' lists them, and 'hutch run -- PROGRAM' "
                    "runs a program",
                    name);
}

/* With one of 0-2 closed, the next pipe or cgroup file would take its number and be written to as
 * if it were standard output. */
static int open_missing_stdio(struct hutch_error *err)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd)
            return cli_fail_errno(err, errno, "open '/dev/null'");
    return 0;
}

/* A umask may keep others out of what we make, but not us: the state directory and its locks are
 * opened again by the next call. */
static void keep_owner_bits(void)
{
    (void)umask(umask(0) & 077);
}

int main(int argc, char **argv)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    const struct cli_verb *verb = NULL;
    int status = 0;
    if (argc > 0 && !strcmp(argv[0], HUTCH_KEEPER_NAME))
        return hutch_keeper_main();
    if (cli_is_porter(argc, argv, &status) || cli_is_gateway(argc, argv, &status))
        return status;
    if (open_missing_stdio(&err) < 0)
        return cli_report(&err);
    keep_owner_bits();
    (void)signal(SIGPIPE, SIG_IGN); /* a reader that went away is an error to report, not an end */
    (void)signal(SIGXFSZ, SIG_IGN); /* and so is a file that may not grow any more */
    if (cli_host_flags(&argc, argv, &err) < 0)
        return cli_report(&err);
    if (argc < 2)
        return cli_help_overview();
    if (cli_handover(argv, &err) < 0 || cli_verb_find(resolve_alias(argv[1]), &verb, &err) < 0 ||
        !verb)
        return cli_report(&err);
    return verb->run(verb, argc - 1, argv + 1);
}
