/* SPDX-License-Identifier: Apache-2.0 */
#include "core/promise.h"

#include <stdio.h>
#include <string.h>

#include "core/enforcement.h"
#include "core/isolation.h"
#include "core/suggest.h"

struct promise_row {
    const char *name;
    const char *doc;
};

static const struct promise_row promise_rows[HUTCH_PROMISE_COUNT] = {
#define X(id, name, doc) [HUTCH_PROMISE_##id] = {name, doc},
    HUTCH_PROMISES(X)
#undef X
};

#define ALL_PROMISES ((UINT32_C(1) << HUTCH_PROMISE_COUNT) - 1)
_Static_assert(HUTCH_PROMISE_COUNT < 32, "a hutch_promise_set holds every promise");

const char *hutch_promise_name(enum hutch_promise promise)
{
    return promise_rows[promise].name;
}

const char *hutch_promise_doc(enum hutch_promise promise)
{
    return promise_rows[promise].doc;
}

static int fail_unknown(const char *name, struct hutch_error *err)
{
    struct hutch_suggestion suggestion = HUTCH_SUGGESTION(name);
    for (size_t i = 0; i < HUTCH_PROMISE_COUNT; i++)
        hutch_suggestion_offer(&suggestion, promise_rows[i].name, promise_rows[i].name);
    hutch_suggestion_offer(&suggestion, "all", "all");
    if (suggestion.nearest)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "unknown limit '%.60s', did you mean '%s'?",
                          name, suggestion.nearest);
#define X(id, name, doc) name ", "
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "unknown limit '%.60s', write one of " HUTCH_PROMISES(X) "or all", name);
#undef X
}

int hutch_promise_parse(const char *name, hutch_promise_set *ret_set, struct hutch_error *err)
{
    if (!strcmp(name, "all")) {
        *ret_set = ALL_PROMISES;
        return 0;
    }
    for (unsigned i = 0; i < HUTCH_PROMISE_COUNT; i++) {
        if (!strcmp(name, promise_rows[i].name)) {
            *ret_set = UINT32_C(1) << i;
            return 0;
        }
    }
    return fail_unknown(name, err);
}

/* Every limit has a default that is more than nothing; only the idle timeout may be none, hosts
 * that may be reached, and a root that is read-only. */
hutch_promise_set hutch_promises_required(const struct hutch_spec *spec)
{
    hutch_promise_set required = ALL_PROMISES;
    if (!spec->limits.idle_timeout_ms)
        required &= ~HUTCH_PROMISE_BIT(IDLE_TIMEOUT);
    if (!spec->egress.count)
        required &= ~HUTCH_PROMISE_BIT(EGRESS);
    if (!spec->read_only)
        required &= ~HUTCH_PROMISE_BIT(READ_ONLY);
    return required;
}

static int allowed_missing(const struct hutch_spec *spec, hutch_promise_set *ret_set,
                           struct hutch_error *err)
{
    *ret_set = 0;
    for (size_t i = 0; i < spec->allow_missing.count; i++) {
        hutch_promise_set set;
        if (hutch_promise_parse(spec->allow_missing.items[i], &set, err) < 0)
            return -(int)err->code;
        *ret_set |= set;
    }
    return 0;
}

/* It is no limit: without it there is less and not more. */
static int fail_egress(const struct hutch_spec *spec, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_UNENFORCEABLE, 0,
                      "egress '%.100s': backend '%.40s' cannot let hosts be reached by name; use "
                      "backend 'native' or 'oci', or accept a sandbox without any network with "
                      "--allow-missing egress",
                      spec->egress.items[0], hutch_spec_backend(spec));
}

/* A default that this host cannot keep is refused like one that was asked for: the caller must know
 * and agree. The inodes of a pool without inode quotas are the exception when nobody asked: there
 * their bytes count, and the result says so. */
int hutch_promises_settle(const struct hutch_spec *spec, hutch_promise_set enforced,
                          const char *why, hutch_promise_set *ret_missing, struct hutch_error *err)
{
    hutch_promise_set allowed;
    if (allowed_missing(spec, &allowed, err) < 0)
        return -(int)err->code;
    enforced &= hutch_enforcement_most(hutch_spec_backend(spec));
    *ret_missing = hutch_promises_required(spec) & ~enforced;
    if (enforced & HUTCH_PROMISE_BIT(DISK) && !hutch_spec_is_set(spec, "limits.inodes"))
        allowed |= HUTCH_PROMISE_BIT(INODES);
    hutch_promise_set refused = *ret_missing & ~allowed;
    if (!refused)
        return 0;
    if (refused & HUTCH_PROMISE_BIT(EGRESS))
        return fail_egress(spec, err);
    char names[128] = "";
    char flags[256] = "";
    for (unsigned i = 0; i < HUTCH_PROMISE_COUNT; i++) {
        if (!(refused & UINT32_C(1) << i))
            continue;
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
                       hutch_promise_name((enum hutch_promise)i));
        used = strlen(flags);
        (void)snprintf(flags + used, sizeof(flags) - used, " --allow-missing %s",
                       hutch_promise_name((enum hutch_promise)i));
    }
    return hutch_fail(
        err, HUTCH_E_UNENFORCEABLE, 0,
        "limit %s cannot be enforced here%s%s; 'hutch doctor' tells what fixes it, or accept it "
        "with%s",
        names, why[0] ? ": " : "", why, flags);
}
