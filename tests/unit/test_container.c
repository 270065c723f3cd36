/* SPDX-License-Identifier: Apache-2.0 */
/* What a keeper and its porter tell each other, and whose a container is. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/container/order.h"
#include "backend/container/owner.h"
#include "util/remove_tree.h"

static struct hutch_spec *make_spec(void)
{
    static const char *const fields[][2] = {
        {"image", "debian:12"},   {"env", "TOKEN=hunter2"}, {"labels", "team=a"},
        {"limits.memory", "64m"}, {"command", "secret"},    {"pass_env", "HOME"},
    };
    struct hutch_spec *spec = NULL;
    struct hutch_error err;
    assert_fine(hutch_spec_new(&spec, &err), &err);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        assert_fine(hutch_spec_set(spec, fields[i][0], fields[i][1], &err), &err);
    return spec;
}

static void an_order_arrives_without_what_may_be_secret(void **state)
{
    struct porter_order sent = {.backend = "oci",
                                .runtime = "runsc",
                                .id = "0123456789abcdef",
                                .name = "box",
                                .is_there = true,
                                .has_ids = true,
                                .uid = 1000,
                                .gid = 1001,
                                .first_host_id = 0x70000000,
                                .layer = "/pool/layer",
                                .memory_layer = -1};
    struct porter_order got;
    struct hutch_error err;
    int ends[2];
    (void)state;
    sent.spec = make_spec();
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    assert_fine(container_order_send(ends[0], &sent, &err), &err);
    assert_fine(container_order_receive(ends[1], &got, &err), &err);
    assert_string_equal(got.backend, sent.backend);
    assert_string_equal(got.runtime, sent.runtime);
    assert_string_equal(got.id, sent.id);
    assert_string_equal(got.name, sent.name);
    assert_string_equal(got.layer, sent.layer);
    assert_true(got.memory_layer < 0);
    assert_true(got.is_there && got.has_ids && !got.one_shot);
    assert_int_equal(got.uid, 1000);
    assert_int_equal(got.gid, 1001);
    assert_int_equal(got.first_host_id, 0x70000000);
    assert_string_equal(got.spec->image, "debian:12");
    assert_int_equal(got.spec->limits.memory_bytes, 64 << 20);
    assert_true(hutch_spec_is_set(got.spec, "limits.memory"));
    assert_false(hutch_spec_is_set(got.spec, "limits.disk"));
    assert_int_equal(got.spec->labels.count, 1);
    assert_int_equal(got.spec->command.count, 0);
    assert_int_equal(got.spec->env.count, 0);
    assert_int_equal(got.spec->pass_env.count, 0);
    assert_int_equal(sent.spec->env.count, 1);
    container_order_done(&got);
    hutch_spec_free(sent.spec);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void a_message_that_is_no_order_is_refused(void **state)
{
    struct porter_order got;
    struct hutch_error err = HUTCH_ERROR_INIT;
    int ends[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    assert_int_equal(send(ends[0], "keep\0backend=oci", 17, 0), 17);
    assert_int_equal(container_order_receive(ends[1], &got, &err), -HUTCH_E_INTERNAL);
    (void)close(ends[0]);
    assert_true(container_order_receive(ends[1], &got, &err) < 0);
    (void)close(ends[1]);
}

/* In a child, so that its parent, this process, is the keeper. */
static void tell_owner(char text[OWNER_BYTES])
{
    int ends[2];
    struct hutch_error err = HUTCH_ERROR_INIT;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char told[OWNER_BYTES] = "";
        int status = owner_text(told, &err);
        _exit(status == 0 && write(ends[1], told, sizeof(told)) == sizeof(told) ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], text, OWNER_BYTES), OWNER_BYTES);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void a_container_is_left_over_when_its_keeper_is_gone(void **state)
{
    char alive[OWNER_BYTES], other[OWNER_BYTES], home[OWNER_HOME_BYTES];
    struct hutch_error err;
    (void)state;
    tell_owner(alive);
    assert_fine(owner_home(home, &err), &err);
    assert_false(owner_has_left(home, alive, "0123456789abcdef"));
    /* the number is taken, but by one that was started at another time */
    (void)snprintf(other, sizeof(other), "%.100s1", alive);
    assert_true(owner_has_left(home, other, "0123456789abcdef"));
    /* of another boot */
    (void)snprintf(other, sizeof(other), "0%.100s", alive);
    assert_true(owner_has_left(home, other, "0123456789abcdef"));
    assert_true(owner_has_left(home, "", "0123456789abcdef"));
    /* what belongs to somebody else's homes is not ours to judge */
    assert_false(owner_has_left("elsewhere:/var/lib/hutch", other, "0123456789abcdef"));
    assert_false(owner_has_left("", other, "0123456789abcdef"));
}

static void only_what_was_noted_is_swept(void **state)
{
    struct hutch_error err;
    (void)state;
    assert_false(owner_has_noted("oci"));
    assert_fine(owner_note("oci", &err), &err);
    assert_fine(owner_note("oci", &err), &err);
    assert_true(owner_has_noted("oci"));
    assert_false(owner_has_noted("docker"));
}

int main(void)
{
    char home[] = "/tmp/hutch-test-XXXXXX";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_arrives_without_what_may_be_secret),
        cmocka_unit_test(a_message_that_is_no_order_is_refused),
        cmocka_unit_test(a_container_is_left_over_when_its_keeper_is_gone),
        cmocka_unit_test(only_what_was_noted_is_swept),
    };
    if (!mkdtemp(home) || setenv("HUTCH_HOME", home, 1) != 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return remove_tree(AT_FDCWD, home) < 0 ? 1 : failed;
}
