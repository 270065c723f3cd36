/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a sandbox that stays: made, found, paused, changed, stopped, started, removed; and
 * then nothing of it is left. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boxes.h"

static const char counting[] = "while :; do echo x; sleep 0.05; done";

static size_t logged(struct hutch_sandbox *box, const char *id)
{
    char *text = box_log(box, id);
    size_t length = strlen(text);
    free(text);
    return length;
}

static void what_is_paused_stands_still_and_goes_on(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    const char *const command[] = {"true"};
    char id[33];
    (void)state;
    struct hutch_sandbox *box = box_create("paused");
    (void)snprintf(id, sizeof(id), "%s", box_spawn(box, counting));
    box_await_log(box, id, 6);
    if (hutch_sandbox_pause(box, &err) < 0) {
        /* no cgroup that can be frozen: an ordinary user's */
        assert_true(err.code == HUTCH_E_UNSUPPORTED || err.code == HUTCH_E_PERMISSION);
        box_destroy(box);
        return;
    }
    assert_string_equal(box_state(box), "paused");
    (void)usleep(200000); /* what was on its way arrives */
    size_t before = logged(box, id);
    (void)usleep(500000);
    assert_int_equal(logged(box, id), before);
    assert_int_equal(hutch_sandbox_exec(box, 1, command, NULL, &result, &err), -HUTCH_E_CONFLICT);
    assert_int_equal(hutch_sandbox_pause(box, &err), -HUTCH_E_CONFLICT);
    assert_int_equal(hutch_sandbox_resume(box, &err), 0);
    assert_string_equal(box_state(box), "running");
    box_await_log(box, id, before + 6);
    assert_int_equal(hutch_sandbox_resume(box, &err), -HUTCH_E_CONFLICT);
    box_destroy(box);
}

static void one_that_is_paused_can_be_removed(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)state;
    struct hutch_sandbox *box = box_create("frozen");
    (void)box_spawn(box, "sleep 1000");
    if (hutch_sandbox_pause(box, &err) == 0)
        assert_string_equal(box_state(box), "paused");
    int64_t began = now_ms();
    box_destroy(box);
    assert_true(now_ms() - began < 10000);
    assert_nothing_is_left();
}

static void a_stop_tells_first_and_kills_after_the_grace(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_sandbox_info info;
    (void)state;
    struct hutch_sandbox *box = box_create("stopped");
    (void)box_spawn(box, "trap 'echo told >/workspace/told; exit 0' TERM; echo on; "
                         "while :; do sleep 0.1; done");
    (void)box_spawn(box, "trap '' TERM; echo deaf; while :; do sleep 1; done");
    (void)usleep(300000);
    int64_t began = now_ms();
    assert_int_equal(hutch_sandbox_stop(box, 1000, &err), 0);
    assert_true(now_ms() - began < 8000);
    assert_int_equal(hutch_sandbox_info(box, &info, &err), 0);
    assert_string_equal(info.state, "stopped");
    assert_true(info.ended_us >= info.started_us && info.started_us >= info.created_us);
    if (hutch_sandbox_start(box, &err) < 0)
        fail_msg("start: %s", err.msg);
    box_says(box, "cat /workspace/told", "told\n");
    box_destroy(box);
}

static void a_kill_comes_at_once_and_keeps_the_files(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)state;
    struct hutch_sandbox *box = box_create("killed");
    (void)box_spawn(box, "trap '' TERM INT HUP; while :; do sleep 1; done");
    box_says(box, "echo kept >/workspace/kept; mkdir /tmp/d; echo too >/tmp/d/f", "");
    int64_t began = now_ms();
    assert_int_equal(hutch_sandbox_kill(box, &err), 0);
    assert_true(now_ms() - began < 5000);
    assert_string_equal(box_state(box), "stopped");
    assert_int_equal(hutch_sandbox_kill(box, &err), -HUTCH_E_CONFLICT);
    if (hutch_sandbox_start(box, &err) < 0)
        fail_msg("start: %s", err.msg);
    box_says(box, "cat /workspace/kept", "kept\n");
    box_destroy(box);
}

static int count_boxes(void *userdata, struct hutch_sandbox *box)
{
    if (hutch_sandbox_has_label(box, "team=contract"))
        (*(unsigned *)userdata)++;
    return 0;
}

static void labels_find_it_again(void **state)
{
    static const char *const fields[] = {"labels", "team=contract", "labels", "empty=", NULL};
    struct hutch_error err = HUTCH_ERROR_INIT;
    unsigned count = 0;
    (void)state;
    struct hutch_sandbox *one = box_create_with("one", fields);
    struct hutch_sandbox *two = box_create("two");
    assert_int_equal(hutch_sandbox_list(count_boxes, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_true(hutch_sandbox_has_label(one, "team"));
    assert_true(hutch_sandbox_has_label(one, "empty="));
    assert_false(hutch_sandbox_has_label(one, "team=other"));
    assert_false(hutch_sandbox_has_label(two, "team"));
    box_destroy(one);
    box_destroy(two);
}

static void figures_are_told(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_stats stats;
    (void)state;
    struct hutch_sandbox *box = box_create("figures");
    (void)box_spawn(box, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 1000");
    (void)usleep(500000);
    if (hutch_sandbox_stats(box, &stats, &err) < 0)
        fail_msg("stats: %s", err.msg);
    assert_int_equal(stats.running, 1);
    assert_true(stats.cpu_us > 0);
    assert_true(!contract_enforces("memory") ||
                (stats.memory_bytes > 0 && stats.memory_bytes < 512U << 20 &&
                 stats.memory_limit_bytes == 512U << 20));
    assert_true(!contract_enforces("pids") || stats.pids_limit == 256);
    box_destroy(box);
}

/* Or refused, by an engine that cannot, and then all is as it was. */
static void limits_are_changed_while_it_runs(void **state)
{
    static const char *const fields[] = {"limits.pids", "limits.memory"};
    static const char *const values[] = {"33", "96m"};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_stats stats;
    (void)state;
    struct hutch_sandbox *box = box_create("changed");
    size_t count = contract_enforces("memory") ? COUNT(fields) : 1;
    int status = hutch_sandbox_update(box, count, fields, values, &err);
    if (status < 0 && err.code != HUTCH_E_UNSUPPORTED && err.code != HUTCH_E_UNENFORCEABLE)
        fail_msg("update: %s", err.msg);
    assert_int_equal(hutch_sandbox_stats(box, &stats, &err), 0);
    if (contract_enforces("pids"))
        assert_int_equal(stats.pids_limit, status < 0 ? 256 : 33);
    if (contract_enforces("memory"))
        assert_int_equal(stats.memory_limit_bytes, (status < 0 ? 512U : 96U) << 20);
    struct hutch_result *result = box_shell(
        box, "i=0; while [ $i -lt 60 ]; do sleep 100 & i=$((i+1)); done 2>/dev/null", NULL);
    if (contract_enforces("pids"))
        assert_int_equal(result->ok, status < 0);
    hutch_result_free(result);
    box_destroy(box);
}

static void it_knows_what_it_was_made_from(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    char *json = NULL;
    (void)state;
    struct hutch_sandbox *box = box_create("known");
    if (hutch_sandbox_to_json(box, &json, &err) < 0)
        fail_msg("inspect: %s", err.msg);
    assert_non_null(strstr(json, "\"name\":\"known\""));
    assert_non_null(strstr(json, contract_backend()));
    free(json);
    box_destroy(box);
}

/* Also of one whose command has ended, and of one that was stopped. */
static void a_removed_one_leaves_nothing(void **state)
{
    static const char *const fields[] = {"tmpfs", "/scratch:1m", NULL};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_sandbox *again = NULL;
    unsigned count = 0;
    (void)state;
    struct hutch_sandbox *box = box_create_with("gone", fields);
    box_says(box, "echo x >/scratch/x; echo x >/workspace/x", "");
    (void)box_spawn(box, "setsid sleep 1000");
    assert_int_equal(hutch_sandbox_remove(box, false, &err), -HUTCH_E_CONFLICT);
    assert_int_equal(hutch_sandbox_stop(box, 0, &err), 0);
    if (hutch_sandbox_remove(box, false, &err) < 0)
        fail_msg("remove: %s", err.msg);
    hutch_sandbox_free(box);
    assert_int_equal(hutch_sandbox_open("gone", &again, &err), -HUTCH_E_NOT_FOUND);
    assert_int_equal(hutch_sandbox_list(count_boxes, &count, &err), 0);
    assert_nothing_is_left();
}

static void one_that_could_not_be_made_leaves_nothing(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_sandbox *box = NULL;
    struct hutch_spec *spec = NULL;
    (void)state;
    assert_int_equal(hutch_spec_new(&spec, &err), 0);
    contract_prepare(spec);
    contract_set(spec, "name", "unmade");
    contract_set(spec, "user", "nosuchuser");
    assert_int_equal(hutch_sandbox_create(spec, &box, &err), -HUTCH_E_NOT_FOUND);
    assert_non_null(strstr(err.msg, "nosuchuser"));
    hutch_spec_free(spec);
    assert_int_equal(hutch_sandbox_open("unmade", &box, &err), -HUTCH_E_NOT_FOUND);
    assert_nothing_is_left();
}

CONTRACT_TABLE(contract_life, TEST(what_is_paused_stands_still_and_goes_on),
               TEST(one_that_is_paused_can_be_removed),
               TEST(a_stop_tells_first_and_kills_after_the_grace),
               TEST(a_kill_comes_at_once_and_keeps_the_files), TEST(labels_find_it_again),
               TEST(figures_are_told), TEST(limits_are_changed_while_it_runs),
               TEST(it_knows_what_it_was_made_from), TEST(a_removed_one_leaves_nothing),
               TEST(one_that_could_not_be_made_leaves_nothing));
