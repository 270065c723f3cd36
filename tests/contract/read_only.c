/* SPDX-License-Identifier: Apache-2.0 */
/* A root that nothing is written to, and beside it everything that is the command's own. */
#include <stdlib.h>
#include <string.h>

#include "boxes.h"

/* Tells where something can be written; a name that is not there is no such place. */
#define WRITES                                                                           \
    "for d in / /etc /bin /usr /usr/bin /lib /var /var/tmp /run /root /opt /proc /sys "  \
    "/.hutch /proc/self/root /proc/self/cwd/../etc /tmp /home/user /workspace /dev/shm " \
    "/artifacts; do (echo x >$d/x) 2>/dev/null && echo $d; done; "

/* What cannot be made cannot be changed or taken away either. */
#define CHANGES                                                                           \
    "rm -f /etc/passwd 2>/dev/null; [ -e /etc/passwd ] || echo gone; "                    \
    "(echo x >>/etc/passwd) 2>/dev/null && echo appended; "                               \
    "mv /etc/passwd /etc/other 2>/dev/null && echo moved; "                               \
    "chmod 777 /etc 2>/dev/null && echo opened; ln -s x /link 2>/dev/null && echo link; " \
    "mount -o remount,rw / 2>/dev/null && echo remounted; "                               \
    "mount -t tmpfs none /etc 2>/dev/null && echo covered; true"

static struct hutch_spec *read_only_spec(const char *script)
{
    struct hutch_spec *spec = contract_spec(script);
    contract_set(spec, "read_only", "true");
    return spec;
}

static void expect(struct hutch_spec *spec, const char *output)
{
    struct hutch_result *result = contract_run(spec, NULL);
    if (strcmp(result->out.data, output) != 0)
        print_message("%s%s", result->out.data, result->err.data);
    assert_output(&result->out, output);
    assert_reason(result, HUTCH_REASON_EXITED, 0);
    for (const char *const *name = result->missing; name && *name; name++)
        assert_string_not_equal(*name, "read_only");
    hutch_result_free(result);
}

static void nothing_is_written_but_in_ones_own_directories(void **state)
{
    (void)state;
    expect(read_only_spec(WRITES CHANGES), "/tmp\n/home/user\n/workspace\n/dev/shm\n");
}

/* Where there is a root inside, it can do no more. Its home is not below /home. */
static void root_writes_nothing_more(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    struct hutch_spec *spec = read_only_spec(WRITES CHANGES);
    (void)state;
    contract_set(spec, "user", "0");
    int status = hutch_run(spec, NULL, &result, &err);
    hutch_spec_free(spec);
    if (status < 0) {
        assert_true(err.code == HUTCH_E_UNSUPPORTED || err.code == HUTCH_E_PERMISSION);
        return;
    }
    assert_output(&result->out, "/tmp\n/workspace\n/dev/shm\n");
    hutch_result_free(result);
}

static void what_is_mounted_for_writing_is_written(void **state)
{
    struct hutch_spec *spec = read_only_spec(
        "echo x >/scratch/x && echo x >/home/user/in/x && cat /scratch/x /home/user/in/x");
    (void)state;
    contract_set(spec, "tmpfs", "/scratch:1m");
    contract_set(spec, "tmpfs", "/home/user/in:1m");
    expect(spec, "x\nx\n");
}

static void a_workspace_is_what_its_mode_says(void **state)
{
    const char *directory = contract_directory();
    (void)state;
    contract_write(directory, "in", "in\n");
    struct hutch_spec *spec =
        read_only_spec("cat in; (echo out >out) 2>/dev/null && cat out; true");
    contract_set(spec, "workspace", contract_join(directory, "ro"));
    expect(spec, "in\n");
    spec = read_only_spec("cat in; echo out >out && cat out");
    contract_set(spec, "workspace", contract_join(directory, "copy"));
    expect(spec, "in\nout\n");
    assert_false(contract_exists(directory, "out"));
    spec = read_only_spec("cat in; rm in; echo out >out");
    contract_set(spec, "workspace", directory);
    expect(spec, "in\n");
    char *text = contract_read(directory, "out");
    assert_string_equal(text, "out\n");
    free(text);
    assert_false(contract_exists(directory, "in"));
}

static void artifacts_come_out(void **state)
{
    const char *directory = contract_directory();
    struct hutch_spec *spec = read_only_spec("mkdir /artifacts/d; echo made >/artifacts/d/f; "
                                             "ln -s /etc/passwd /artifacts/l");
    (void)state;
    contract_set(spec, "artifacts", directory);
    expect(spec, "");
    char *text = contract_read(directory, "d/f");
    assert_string_equal(text, "made\n");
    free(text);
}

/* Also where it does not fit into memory. The last test, after which no group looks for what is
 * left: a pool that it makes stays mounted. */
static void a_large_layer_is_as_closed(void **state)
{
    struct hutch_spec *spec = read_only_spec(WRITES);
    (void)state;
    contract_set(spec, "limits.memory", "64m");
    contract_set(spec, "limits.disk", "128m");
    if (!contract_enforces("disk"))
        contract_set(spec, "allow_missing", "all");
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    int status = hutch_run(spec, NULL, &result, &err);
    hutch_spec_free(spec);
    if (status < 0) { /* an ordinary user has no pool */
        assert_int_equal(err.code, HUTCH_E_UNENFORCEABLE);
        return;
    }
    assert_output(&result->out, "/tmp\n/home/user\n/workspace\n/dev/shm\n");
    hutch_result_free(result);
}

static void copies_go_where_commands_write(void **state)
{
    static const char *const fields[] = {"read_only", "true", NULL};
    struct hutch_error err = HUTCH_ERROR_INIT;
    const char *directory = contract_directory();
    (void)state;
    contract_write(directory, "f", "in\n");
    char *source = strdup(contract_join(directory, ""));
    assert_non_null(source);
    source[strlen(source) - 1] = '\0';
    struct hutch_sandbox *box = box_create_with("closed", fields);
    assert_int_equal(hutch_sandbox_copy_in(box, source, "/etc/copy", NULL, NULL, &err),
                     -HUTCH_E_PERMISSION);
    assert_non_null(strstr(err.msg, "inside"));
    if (hutch_sandbox_copy_in(box, source, "/workspace/copy", NULL, NULL, &err) < 0)
        fail_msg("copy in: %s", err.msg);
    free(source);
    box_says(box, "cat /workspace/copy/f", "in\n");
    box_destroy(box);
    assert_nothing_is_left();
}

static void it_stays_so_and_keeps_what_was_written(void **state)
{
    static const char *const fields[] = {"read_only", "true", NULL};
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)state;
    struct hutch_sandbox *box = box_create_with("closed", fields);
    box_says(box, WRITES CHANGES, "/tmp\n/home/user\n/workspace\n/dev/shm\n");
    box_says(box, "echo kept >/workspace/kept; echo kept >/home/user/kept", "");
    assert_int_equal(hutch_sandbox_stop(box, 100, &err), 0);
    if (hutch_sandbox_start(box, &err) < 0)
        fail_msg("start: %s", err.msg);
    box_says(box, "cat /workspace/kept /home/user/kept", "kept\nkept\n");
    box_says(box, WRITES CHANGES, "/tmp\n/home/user\n/workspace\n/dev/shm\n");
    box_destroy(box);
    assert_nothing_is_left();
}

CONTRACT_TABLE(contract_read_only, TEST(nothing_is_written_but_in_ones_own_directories),
               TEST(root_writes_nothing_more), TEST(what_is_mounted_for_writing_is_written),
               TEST(a_workspace_is_what_its_mode_says), TEST(artifacts_come_out),
               TEST(copies_go_where_commands_write), TEST(it_stays_so_and_keeps_what_was_written),
               TEST(a_large_layer_is_as_closed));
