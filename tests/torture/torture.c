/* SPDX-License-Identifier: Apache-2.0 */
/* torture --name NAME --class host|init|alloc [FLAG]... -- PROGRAM [ARGUMENT]...
 *
 * One campaign; prints one TAP line, and before it a comment for every attempt that went wrong. The
 * environment has HUTCH_HOME. --only N repeats one attempt and tells all about it. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "torture.h"

/* Calls come and go with the scheduling: the campaign is over when this many numbers in a row met
 * none. */
enum { MISSES = 3, COMPLAINTS_MAX = 20 };

static void run_attempt(const struct campaign *campaign, long number, struct attempt *attempt)
{
    *attempt = (struct attempt){.number = number};
    if (campaign->class == CLASS_ALLOC)
        attempt_plain(campaign, number, attempt);
    else
        attempt_traced(campaign, number, attempt);
}

/* On a busy machine the kernel may still be at a group that has just become empty. */
#define SWEEPS 3

/* The stamp keeps hutch from sweeping at every run; here each run is to do it. */
static void prepare(const struct campaign *campaign)
{
    char path[PATH_MAX];
    if (campaign->fresh)
        world_forget_pool();
    (void)snprintf(path, sizeof(path), "%s/run/swept", getenv("HUTCH_HOME"));
    (void)unlink(path);
}

static void sweep(const struct campaign *campaign)
{
    char verb[] = "gc";
    char *program = getenv("HUTCH_TORTURE_GC"); /* when the program under test is not hutch */
    char *argv[] = {program ? program : campaign->argv[0], verb, NULL};
    struct campaign gc = *campaign;
    struct attempt attempt = {0};
    gc.argv = argv;
    gc.terminal = false;
    attempt_plain(&gc, 0, &attempt);
}

/* What a failed removal leaves is on record for the next sweep; nothing else may leave anything. */
static const char *judge_world(const struct campaign *campaign, const struct attempt *attempt)
{
    static char text[600];
    const struct timespec pause = {.tv_nsec = 20000000};
    if (campaign->fresh)
        sweep(campaign);
    const char *dirt = world_dirt();
    if (!dirt)
        return NULL;
    (void)snprintf(text, sizeof(text), "%s", dirt);
    for (int i = 0; i < SWEEPS && dirt; i++) {
        (void)nanosleep(&pause, NULL);
        sweep(campaign);
        dirt = world_dirt();
    }
    if (!dirt && campaign->class != CLASS_ALLOC && call_leaves_to_sweep(attempt->call))
        return NULL;
    size_t used = strlen(text);
    (void)snprintf(text + used, sizeof(text) - used, "%s",
                   dirt ? ", and a sweep does not remove it" : ", until a sweep removed it");
    if (dirt)
        world_remember(); /* so that the next attempt is not blamed for it */
    return text;
}

static bool try_number(const struct campaign *campaign, long number, const struct attempt *normal,
                       unsigned *complaints)
{
    static struct attempt attempt;
    prepare(campaign);
    run_attempt(campaign, number, &attempt);
    if (campaign->verbose)
        printf("# %ld: %s -> %#x %s", number, attempt.what, (unsigned)attempt.status,
               attempt.err[0] ? attempt.err : "\n");
    const char *problems[2] = {judge(campaign, normal, &attempt), judge_world(campaign, &attempt)};
    for (size_t i = 0; i < 2; i++)
        if (problems[i] && ++*complaints <= COMPLAINTS_MAX)
            printf("# %s --only %ld: %s fails: %s\n", campaign->name, number, attempt.what,
                   problems[i]);
    if (campaign->first == campaign->last)
        printf("# stdout:\n%s\n# stderr:\n%s\n# limits:\n%s\n", attempt.out, attempt.err,
               attempt.limits);
    return attempt.fired;
}

static void run_normal(const struct campaign *campaign, struct attempt *normal)
{
    for (int i = 0; i < 2; i++) { /* the first one makes directories */
        prepare(campaign);
        run_attempt(campaign, 0, normal);
        if (normal->hung || !WIFEXITED(normal->status) || WEXITSTATUS(normal->status) != 0)
            die("%s: without any failure it ends with status %#x: %s", campaign->name,
                (unsigned)normal->status, normal->err);
        if (campaign->fresh)
            sweep(campaign);
        if (!i)
            world_remember();
    }
    const char *dirt = world_dirt();
    if (dirt)
        die("%s: without any failure: %s", campaign->name, dirt);
}

static int run_campaign(const struct campaign *campaign)
{
    static struct attempt normal;
    unsigned complaints = 0;
    unsigned misses = 0;
    long number = campaign->first;
    long fired = 0;
    world_make(campaign);
    run_normal(campaign, &normal);
    for (; number <= campaign->last && misses < MISSES; number++) {
        if (try_number(campaign, number, &normal, &complaints)) {
            fired++;
            misses = 0;
        } else {
            misses++;
        }
    }
    if (!fired)
        printf("# nothing ever failed\n");
    printf("%s %s: %ld failures\n", complaints || !fired ? "not ok" : "ok", campaign->name, fired);
    return complaints || !fired;
}

static enum torture_class class_of(const char *text)
{
    static const char *const names[] = {
        [CLASS_HOST] = "host",
        [CLASS_INIT] = "init",
        [CLASS_HELPER] = "helper",
        [CLASS_ALLOC] = "alloc",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(names[i], text))
            return (enum torture_class)i;
    die("no class '%s'", text);
}

static int errno_of(const char *text)
{
    static const struct {
        const char *name;
        int value;
    } known[] = {{"ENOMEM", ENOMEM}, {"EPERM", EPERM}, {"EINTR", EINTR}, {"EIO", EIO}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (!strcmp(known[i].name, text))
            return known[i].value;
    die("no error '%s'", text);
}

static void set_flag(struct campaign *campaign, int flag, const char *value)
{
    switch (flag) {
    case 'n':
        campaign->name = value;
        break;
    case 'c':
        campaign->class = class_of(value);
        break;
    case 'e':
        campaign->os_errno = errno_of(value);
        campaign->interrupted = campaign->os_errno == EINTR;
        break;
    case 'o':
        campaign->first = campaign->last = strtol(value, NULL, 10);
        break;
    case 'u':
        campaign->uid = (uid_t)strtoul(value, NULL, 10);
        break;
    case 'd':
        campaign->delegated = true;
        break;
    case 'i':
        campaign->input = value;
        break;
    case 'a':
        campaign->artifacts = value;
        break;
    case 'j':
        campaign->json = true;
        break;
    case 'f':
        campaign->fresh = true;
        break;
    case 't':
        campaign->terminal = true;
        break;
    case 'v':
        campaign->verbose = true;
        break;
    default:
        exit(2);
    }
}

int main(int argc, char **argv)
{
    static const struct option flags[] = {
        {"name", required_argument, NULL, 'n'},
        {"class", required_argument, NULL, 'c'},
        {"errno", required_argument, NULL, 'e'},
        {"only", required_argument, NULL, 'o'},
        {"uid", required_argument, NULL, 'u'},
        {"delegated", no_argument, NULL, 'd'},
        {"input", required_argument, NULL, 'i'},
        {"artifacts", required_argument, NULL, 'a'},
        {"json", no_argument, NULL, 'j'},
        {"terminal", no_argument, NULL, 't'},
        {"verbose", no_argument, NULL, 'v'},
        {"fresh", no_argument, NULL, 'f'},
        {0},
    };
    struct campaign campaign = {
        .name = "torture", .os_errno = ENOMEM, .first = 1, .last = LONG_MAX};
    int flag;
    while ((flag = getopt_long(argc, argv, "+", flags, NULL)) != -1)
        set_flag(&campaign, flag, optarg);
    campaign.argv = argv + optind;
    if (!*campaign.argv)
        die("no program");
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        die("become subreaper: %s", strerror(errno));
    return run_campaign(&campaign);
}
