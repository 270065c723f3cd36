/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a .dockerignore holds: it is read, or refused with its line; without exceptions
 * everything below what it leaves out is left out too. The first line is the path. */
#include "fuzz.h"

#include "image/ignore.h"

static void check(const struct ignore *ignore, const char *path, bool has_exceptions)
{
    hutch_autofree char *below = NULL;
    REQUIRE(asprintf(&below, "%s/x", path) >= 0, "no memory");
    REQUIRE(has_exceptions || !ignore_may_hold(ignore, path), "an exception out of nothing");
    if (ignore_excludes(ignore, path))
        REQUIRE(has_exceptions || ignore_excludes(ignore, below), "what is below is taken in");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct ignore ignore = {0};
    hutch_autofree char *text = fuzz_text(data, size);
    char *lines = strchr(text, '\n');
    if (lines)
        *lines++ = '\0';
    if (ignore_parse(lines ? lines : "", &ignore, &err) == 0)
        check(&ignore, text, lines && strchr(lines, '!'));
    else
        REQUIRE(err.code == HUTCH_E_INVALID && strstr(err.msg, "line "), "'%s'", err.msg);
    ignore_done(&ignore);
    return 0;
}
