/* SPDX-License-Identifier: Apache-2.0 */
/* What a tenant's living sandboxes have together. Sandboxes that stay are counted by their homes;
 * runs, which have none, leave a claim: a file below LIB/claims that is locked as long as the run
 * lives, so that a killed one counts no longer. Whoever counts holds the ledger's lock from before
 * the count until what was counted for can be seen by the next: of two at the same moment, the
 * second sees the first. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libhutch/decision.h"
#include "util/fs.h"
#include "util/state_dir.h"

static int open_ledger(struct decision *decision, struct hutch_error *err)
{
    char lib[PATH_MAX - 16], path[PATH_MAX];
    if (state_directory("lib", lib, sizeof(lib), err) < 0)
        return -(int)err->code;
    (void)snprintf(path, sizeof(path), "%s/claims", lib);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return hutch_fail_errno(err, errno, "make '%.200s'", path);
    decision->claims = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    decision->ledger = decision->claims < 0
                           ? -1
                           : openat(decision->claims, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (decision->ledger < 0)
        return hutch_fail_errno(err, errno, "open '%.200s'", path);
    while (flock(decision->ledger, LOCK_EX) < 0)
        if (errno != EINTR)
            return hutch_fail_errno(err, errno, "lock '%.200s'", path);
    return 0;
}

/* Whose is it? By uid everything that no other tenant has is the caller's own: what was made before
 * there was a policy, or under a name that it no longer knows. */
static bool is_ours(const struct decision *decision, const char *tenant)
{
    const char *own = decision->view.tenant;
    if (tenant && *tenant && own && !strcmp(tenant, own))
        return true;
    if (!decision->by_uid)
        return false;
    if (!tenant || !*tenant || !decision->view.count)
        return true;
    /* where the host has a file, the caller's says nothing about others */
    const struct policy_file *file = decision->view.layers[0].file;
    for (size_t i = 0; i < file->tenant_count; i++)
        if (!strcmp(file->tenants[i].name, tenant))
            return false;
    return true;
}

/* One that cannot be read any more runs nothing that could be counted: without its spec no keeper
 * starts. */
static void add_home(const struct decision *decision, const char *name, const char *except,
                     uint64_t used[POLICY_TOTAL_COUNT])
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    hutch_cleanup(home_close) struct home home = HOME_INIT;
    struct home_record record;
    struct hutch_spec *spec = NULL;
    if (home_open(&home, name, &ignored) < 0 || home_read(&home, &record, &ignored) < 0 ||
        record.state >= HOME_STOPPED || (except && !strcmp(record.id, except)) ||
        home_parse_spec(&home, &spec, &ignored) < 0)
        return;
    if (is_ours(decision, spec->policy.tenant))
        policy_add_up(used, spec);
    hutch_spec_free(spec);
}

static void read_claim(const struct decision *decision, const char *text,
                       uint64_t used[POLICY_TOTAL_COUNT])
{
    char tenant[72] = "";
    (void)sscanf(text, "tenant %71s", tenant);
    if (!is_ours(decision, tenant))
        return;
    for (size_t i = 0; i < POLICY_TOTAL_COUNT; i++) {
        uint64_t value = 0;
        if (hutch_find_number(text, policy_total_name((enum policy_total)i), &value) &&
            __builtin_add_overflow(used[i], value, &used[i]))
            used[i] = UINT64_MAX;
    }
}

static void add_claim(const struct decision *decision, const char *name,
                      uint64_t used[POLICY_TOTAL_COUNT])
{
    char text[512];
    hutch_autofd int fd = openat(decision->claims, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_SH | LOCK_NB) == 0) /* of one that was killed */
        (void)unlinkat(decision->claims, name, 0);
    else if (hutch_read_at(decision->claims, name, text, sizeof(text)) > 0)
        read_claim(decision, text, used);
}

static int add_up(const struct decision *decision, const char *except,
                  uint64_t used[POLICY_TOTAL_COUNT], struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist names = {0};
    if (home_names(&names, false, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < names.count; i++)
        add_home(decision, names.items[i], except, used);
    int copy = openat(decision->claims, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    if (!directory)
        return hutch_fail_errno(err, errno, "read the claims of running sandboxes");
    const struct dirent *entry;
    while ((entry = readdir(directory)))
        if (!strncmp(entry->d_name, "run-", 4))
            add_claim(decision, entry->d_name, used);
    (void)closedir(directory);
    return 0;
}

int decision_count(struct decision *decision, const struct hutch_spec *spec, const char *except,
                   struct hutch_error *err)
{
    uint64_t used[POLICY_TOTAL_COUNT] = {0};
    if (!decision->set || !policy_has_totals(&decision->view))
        return 0;
    if (open_ledger(decision, err) < 0 || add_up(decision, except, used, err) < 0)
        return -(int)err->code;
    return policy_check_totals(&decision->view, used, spec, err);
}

static int write_claim(struct decision *decision, const struct hutch_spec *spec,
                       struct hutch_error *err)
{
    uint64_t used[POLICY_TOTAL_COUNT] = {0};
    struct hutch_buf text = HUTCH_BUF(512);
    if (decision->view.tenant)
        hutch_buf_printf(&text, "tenant %s\n", decision->view.tenant);
    policy_add_up(used, spec);
    for (size_t i = 0; i < POLICY_TOTAL_COUNT; i++)
        hutch_buf_printf(&text, "%s %" PRIu64 "\n", policy_total_name((enum policy_total)i),
                         used[i]);
    bool failed = text.failed || hutch_write_all(decision->claim, text.data, text.length) < 0;
    hutch_buf_done(&text);
    return failed ? hutch_fail_errno(err, errno, "write a claim") : 0;
}

int decision_claim(struct decision *decision, const struct hutch_spec *spec,
                   struct hutch_error *err)
{
    uint64_t number[2];
    int status = decision_count(decision, spec, NULL, err);
    if (status < 0 || decision->ledger < 0)
        return status;
    if (getrandom(number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return hutch_fail_errno(err, errno, "get random bytes");
    (void)snprintf(decision->claim_name, sizeof(decision->claim_name),
                   "run-%016" PRIx64 "%016" PRIx64, number[0], number[1]);
    decision->claim = openat(decision->claims, decision->claim_name,
                             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (decision->claim < 0 || flock(decision->claim, LOCK_EX) < 0)
        return hutch_fail_errno(err, errno, "make a claim");
    status = write_claim(decision, spec, err);
    hutch_fd_close(&decision->ledger);
    return status;
}

void decision_unclaim(struct decision *decision)
{
    if (decision->claim >= 0)
        (void)unlinkat(decision->claims, decision->claim_name, 0);
    hutch_fd_close(&decision->claim);
    hutch_fd_close(&decision->ledger);
    hutch_fd_close(&decision->claims);
}
