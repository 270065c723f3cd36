/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/host_flags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"

static const struct {
    const char *flag;
    const char *variable;
} flags[] = {
    {"--host", "HUTCH_HOST"},
    {"--tls-ca", "HUTCH_TLS_CA"},
    {"--tls-cert", "HUTCH_TLS_CERT"},
    {"--tls-key", "HUTCH_TLS_KEY"},
};

static const char *const own_verbs[] = {"help", "--help", "-h", "version", "--version", "-V"};

/* The row of a word, and the value that is in it; NULL: it is the next one. */
static int find_flag(const char *word, const char **ret_value)
{
    for (size_t i = 0; i < CLI_COUNT(flags); i++) {
        size_t length = strlen(flags[i].flag);
        if (strncmp(word, flags[i].flag, length) != 0 || !strchr("=", word[length]))
            continue;
        *ret_value = word[length] ? word + length + 1 : NULL;
        return (int)i;
    }
    return -1;
}

static void drop_words(int *argc, char **argv, int count)
{
    memmove(argv + 1, argv + 1 + count, (size_t)(*argc - count) * sizeof(*argv));
    *argc -= count;
}

int cli_host_flags(int *argc, char **argv, struct hutch_error *err)
{
    while (*argc > 1) {
        const char *value = NULL;
        int index = find_flag(argv[1], &value);
        if (index < 0)
            return 0;
        int count = value ? 1 : 2;
        if (!value && *argc > 2)
            value = argv[2];
        if (!value || !*value)
            return cli_fail(err, HUTCH_E_INVALID, "flag '%s' needs a value", flags[index].flag);
        if (setenv(flags[index].variable, value, 1) < 0)
            return cli_fail_errno(err, errno, "keep the daemon's address");
        drop_words(argc, argv, count);
    }
    return 0;
}

bool cli_host_is_remote(char *const *argv)
{
    const char *host = getenv("HUTCH_HOST");
    for (size_t i = 0; argv[1] && i < CLI_COUNT(own_verbs); i++)
        if (!strcmp(argv[1], own_verbs[i]))
            return false;
    return host && *host;
}
