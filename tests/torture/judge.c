/* SPDX-License-Identifier: Apache-2.0 */
/* Two ends are good. Either everything is as in the run without a failure: output, protections,
 * limits. Or hutch says in one line what went wrong, with an exit code of its own; that PID 1 has
 * died under a running command is such an end, and its code is that of the command. */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "torture.h"

static char verdict[2048];

/* Lines that start so tell of conveniences: the sandbox goes without them when they cannot be had.
 */
#define MAY "may "

/* The command's output inside a JSON string becomes lines again. Numbers and ids differ from run to
 * run; a counter that could not be read is null. */
static void plain_from_json(const char *from, char *to)
{
    static const char id[] = "\"id\":\"";
    while (*from) {
        if (!strncmp(from, id, sizeof(id) - 1)) {
            from += sizeof(id) - 1;
            from += strcspn(from, "\"");
        } else if (!strncmp(from, "\\n", 2)) {
            *to++ = '\n';
            from += 2;
        } else if (!strncmp(from, "null", 4)) {
            *to++ = '#';
            from += 4;
        } else if (isdigit((unsigned char)*from)) {
            *to++ = '#';
            from += strspn(from, "0123456789.");
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

static const char *first_line_missing_from(const char *text, const char *other, size_t *ret_length)
{
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        bool found = false;
        for (const char *at = other; *at && !found;) {
            size_t here = strcspn(at, "\n");
            found = here == length && !strncmp(at, line, length);
            at += here + (at[here] == '\n');
        }
        *ret_length = length;
        if (!found && strncmp(line, MAY, sizeof(MAY) - 1) != 0)
            return line;
        line += length + (line[length] == '\n');
    }
    return NULL;
}

static const char *same_lines(const char *what, const char *normal, const char *now)
{
    size_t length;
    const char *line = first_line_missing_from(normal, now, &length);
    if (line)
        (void)snprintf(verdict, sizeof(verdict), "exit 0, but %s lacks '%.*s'", what, (int)length,
                       line);
    if (!line && (line = first_line_missing_from(now, normal, &length)))
        (void)snprintf(verdict, sizeof(verdict), "exit 0, but %s has '%.*s'", what, (int)length,
                       line);
    return line ? verdict : NULL;
}

static const char *same_json(const char *normal, const char *now)
{
    static char a[TEXT_MAX];
    static char b[TEXT_MAX];
    plain_from_json(normal, a);
    plain_from_json(now, b);
    return same_lines("its result", a, b);
}

static const char *judge_success(const struct campaign *campaign, const struct attempt *normal,
                                 const struct attempt *attempt)
{
    if (strcmp(normal->err, attempt->err) != 0) {
        (void)snprintf(verdict, sizeof(verdict), "exit 0, but it said: %.1000s", attempt->err);
        return verdict;
    }
    const char *wrong = campaign->json ? same_json(normal->out, attempt->out)
                                       : same_lines("its output", normal->out, attempt->out);
    return wrong ? wrong : same_lines("what the kernel enforces", normal->limits, attempt->limits);
}

static bool is_object(const char *text)
{
    size_t length = strlen(text);
    return length > 2 && text[0] == '{' && strchr(text, '\n') == text + length - 1;
}

/* The very first call comes before the command line is read, and what cannot be written is not
 * there. */
static bool may_lack_object(const struct attempt *attempt)
{
    return attempt->number == 1 || !strncmp(attempt->what, "write(0x1,", 10);
}

static const char *judge_failure(const struct campaign *campaign, const struct attempt *attempt)
{
    const char *err = attempt->err;
    const char *newline = strchr(err, '\n');
    if (strncmp(err, "hutch: ", 7) != 0 || !newline || newline[1]) {
        (void)snprintf(verdict, sizeof(verdict),
                       "exit %d without exactly one line of hutch's own: '%.1500s'",
                       WEXITSTATUS(attempt->status), err);
        return verdict;
    }
    if (campaign->json && !is_object(attempt->out) && !may_lack_object(attempt)) {
        (void)snprintf(verdict, sizeof(verdict), "no JSON object on standard output but '%.1000s'",
                       attempt->out);
        return verdict;
    }
    return NULL;
}

static const char *judge_end(const struct campaign *campaign, const struct attempt *normal,
                             const struct attempt *attempt)
{
    int code = WEXITSTATUS(attempt->status);
    if (code == 0)
        return judge_success(campaign, normal, attempt);
    bool died_inside = attempt->started && code == 128 + SIGKILL && strstr(attempt->err, " died ");
    if (campaign->interrupted || (code != 125 && code != 126 && code != 127 && !died_inside)) {
        (void)snprintf(verdict, sizeof(verdict), "exit %d: %.1500s", code, attempt->err);
        return verdict;
    }
    return judge_failure(campaign, attempt);
}

const char *judge(const struct campaign *campaign, const struct attempt *normal,
                  const struct attempt *attempt)
{
    if (attempt->hung)
        return "it hangs";
    if (attempt->crash) {
        (void)snprintf(verdict, sizeof(verdict), "crashed by signal %d (%s): %.1500s",
                       attempt->crash, strsignal(attempt->crash), attempt->err);
        return verdict;
    }
    if (!WIFEXITED(attempt->status)) {
        (void)snprintf(verdict, sizeof(verdict), "wait status %#x", (unsigned)attempt->status);
        return verdict;
    }
    if (attempt->raw)
        return "the terminal is left in raw mode";
    if (attempt->left) {
        (void)snprintf(verdict, sizeof(verdict), "%u processes are left", attempt->left);
        return verdict;
    }
    return judge_end(campaign, normal, attempt);
}
