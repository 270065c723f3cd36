/* SPDX-License-Identifier: Apache-2.0 */
/* What holds the command, seen from where it is: by a run, and by an exec into a sandbox that
 * stays. */
#include <stdlib.h>
#include <string.h>

#include "boxes.h"

/* setpriv asks the kernel itself; not every kernel (gVisor's) says all of it in /proc. */
static const char privileges[] =
    "grep -E '^Cap(Eff|Prm|Bnd|Inh|Amb)' /proc/self/status | grep -vc 0000000000000000; "
    "setpriv -d | grep -i 'new.priv' | grep -oE '[01]$'; "
    "awk '/^Seccomp:/ {print $2}' /proc/self/status";

/* The loopback and nothing else; not a way out, and no listening to anything. */
static const char network[] = "sed -n 's/^ *\\([a-z0-9]*\\):.*/\\1/p' /proc/net/dev; "
                              "cat /proc/net/route 2>/dev/null | grep -vc Iface";

static const char descriptors[] = "cd /proc/self/fd && echo *";

/* Places of the host's kernel that nobody may write, and devices that nobody may have. */
static const char kernel[] =
    "for f in /proc/sys/kernel/hostname /proc/sysrq-trigger /proc/sys/vm/drop_caches "
    "/sys/kernel/uevent_helper /proc/kcore; do (echo x >$f) 2>/dev/null && echo \"wrote $f\"; "
    "done; mknod /tmp/null c 1 3 2>/dev/null && echo device; "
    "mount -t tmpfs none /tmp 2>/dev/null && echo mounted; "
    "chroot / true 2>/dev/null && echo chroot; hostname other 2>/dev/null && echo renamed; "
    "find /dev -type b 2>/dev/null; echo end";

static const struct {
    const char *what;
    const char *script;
    const char *output;
} seen[] = {
    {"privileges", privileges, "0\n1\n2\n"},
    {"network", network, "lo\n0\n"},
    {"descriptors", descriptors, "0 1 2 3\n"},
    {"kernel", kernel, "end\n"},
};

static void expect(const char *what, struct hutch_result *result, const char *output)
{
    if (strcmp(result->out.data, output) != 0)
        print_message("%s: %s%s", what, result->out.data, result->err.data);
    assert_output(&result->out, output);
    hutch_result_free(result);
}

static void a_run_has_no_privileges_and_no_network(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(seen); i++)
        expect(seen[i].what, contract_run(contract_spec(seen[i].script), NULL), seen[i].output);
}

static void an_exec_has_no_privileges_and_no_network(void **state)
{
    (void)state;
    struct hutch_sandbox *box = box_create("posture");
    for (size_t i = 0; i < COUNT(seen); i++)
        expect(seen[i].what, box_shell(box, seen[i].script, NULL), seen[i].output);
    box_destroy(box);
}

static void the_user_is_who_was_asked_for_and_never_root_by_default(void **state)
{
    struct hutch_spec *spec = contract_spec("id -u; id -g; id -G");
    (void)state;
    contract_set(spec, "user", "1234");
    expect("user 1234", contract_run(spec, NULL), "1234\n1234\n1234\n");
    spec = contract_spec("id -u; id -g");
    contract_set(spec, "user", "1234:1235");
    expect("user 1234:1235", contract_run(spec, NULL), "1234\n1235\n");
    struct hutch_result *result = contract_run(contract_spec("id -u"), NULL);
    char *end = NULL;
    assert_int_not_equal(strtol(result->out.data, &end, 10), 0);
    assert_string_equal(end, "\n");
    hutch_result_free(result);
}

/* Root inside is nobody outside; where the engine would make it the host's root, it is refused. */
static void root_is_unprivileged_or_refused(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    struct hutch_spec *spec = contract_spec("id -u; grep -E '^Cap(Eff|Bnd)' /proc/self/status | "
                                            "grep -vc 0000000000000000");
    (void)state;
    contract_set(spec, "user", "0");
    int status = hutch_run(spec, NULL, &result, &err);
    hutch_spec_free(spec);
    if (status == 0) {
        expect("user 0", result, "0\n0\n");
        return;
    }
    assert_true(err.code == HUTCH_E_UNSUPPORTED || err.code == HUTCH_E_PERMISSION);
    assert_non_null(strstr(err.msg, "root"));
}

/* Neither the caller's variables nor its words are to be found by a command. */
static void nothing_of_the_caller_is_seen(void **state)
{
    (void)state;
    assert_int_equal(setenv("CONTRACT_CANARY", "of-the-caller", 1), 0);
    expect("canary",
           contract_run(contract_spec("cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | "
                                      "tr '\\0' '\\n' | grep -c '^CONTRACT_CANARY=of'; true"),
                        NULL),
           "0\n");
}

CONTRACT_TABLE(contract_posture, TEST(a_run_has_no_privileges_and_no_network),
               TEST(an_exec_has_no_privileges_and_no_network),
               TEST(the_user_is_who_was_asked_for_and_never_root_by_default),
               TEST(root_is_unprivileged_or_refused), TEST(nothing_of_the_caller_is_seen));
