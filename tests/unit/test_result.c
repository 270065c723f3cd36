/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <signal.h>
#include <stdio.h>

#include "core/json_in.h"
#include "core/result.h"

static void keep(struct hutch_output *output, const char *data, size_t length)
{
    *output = (struct hutch_output){.data = data, .length = length, .head_bytes = length};
    output->total_bytes = length;
}

/* Head and tail of a stream of which dropped bytes are missing in between. */
static void keep_cut(struct hutch_output *output, const char *data, size_t head, size_t tail,
                     uint64_t dropped)
{
    *output = (struct hutch_output){data, head + tail, head, head + tail + dropped, dropped};
}

static struct hutch_result typical(void)
{
    struct hutch_result result = {.id = "0123456789abcdef", .reason = HUTCH_REASON_EXITED};
    result.ok = true;
    keep(&result.out, "hello\n", 6);
    keep(&result.both, "hello\n", 6);
    result.duration_us = 3999;
    result.usage = (struct hutch_usage){.cpu_us = 1500,
                                        .memory_peak_bytes = 1048576,
                                        .pids_peak = 1,
                                        .disk_peak_bytes = 4096,
                                        .has_memory_peak = true,
                                        .has_pids_peak = true};
    result.backend = "native";
    result.isolation_level = "namespaces";
    result.writable_layer = "memory";
    return result;
}

static char *json_of(const struct hutch_result *result)
{
    struct hutch_error err;
    char *json = NULL;
    size_t length = 0;
    assert_fine(hutch_result_to_json(result, &json, &length, &err), &err);
    assert_int_equal(length, strlen(json));
    return json;
}

static struct hutch_value tree_of(const struct hutch_result *result)
{
    struct hutch_value tree = {0};
    struct hutch_error err;
    char *json = json_of(result);
    assert_fine(hutch_json_parse(json, strlen(json), &tree, &err), &err);
    free(json);
    return tree;
}

static const struct hutch_value *get(const struct hutch_value *tree, const char *key,
                                     enum hutch_value_type type)
{
    const struct hutch_value *value = hutch_value_get(tree, key);
    assert_non_null(value);
    assert_int_equal(value->type, type);
    return value;
}

static void assert_text(const struct hutch_value *tree, const char *key, const char *expected)
{
    assert_string_equal(get(tree, key, HUTCH_VALUE_STRING)->string.bytes, expected);
}

static void assert_number(const struct hutch_value *tree, const char *key, int64_t expected)
{
    assert_int_equal(get(tree, key, HUTCH_VALUE_INTEGER)->integer, expected);
}

static void assert_is_true(const struct hutch_value *tree, const char *key)
{
    assert_true(get(tree, key, HUTCH_VALUE_BOOL)->boolean);
}

static void a_result_has_the_promised_shape(void **state)
{
    struct hutch_result result = typical();
    (void)state;
    char *json = json_of(&result);
    assert_string_equal(
        json, "{\"id\":\"0123456789abcdef\",\"reason\":\"exited\",\"exit_code\":0,\"signal\":null,"
              "\"ok\":true,\"stdout\":\"hello\\n\",\"stderr\":\"\",\"output\":\"hello\\n\","
              "\"truncated\":false,\"stdout_bytes\":6,\"stderr_bytes\":0,\"dropped_bytes\":0,"
              "\"duration_ms\":3,"
              "\"usage\":{\"cpu_ms\":1,\"memory_peak_bytes\":1048576,\"pids_peak\":1,"
              "\"disk_peak_bytes\":4096,\"oom_kills\":0},"
              "\"isolation\":{\"backend\":\"native\",\"level\":\"namespaces\","
              "\"writable_layer\":\"memory\",\"missing\":[]},"
              "\"held_pipes\":false,\"egress_denied\":[]}");
    free(json);
}

static void a_signal_and_unknown_counters(void **state)
{
    struct hutch_result result = typical();
    (void)state;
    result.reason = HUTCH_REASON_OOM;
    result.signal = SIGKILL;
    result.exit_code = 137;
    result.ok = false;
    result.held_pipes = true;
    result.usage.has_memory_peak = false;
    result.usage.has_pids_peak = false;
    struct hutch_value tree = tree_of(&result);
    assert_text(&tree, "reason", "oom");
    assert_number(&tree, "signal", 9);
    assert_number(&tree, "exit_code", 137);
    assert_is_true(&tree, "held_pipes");
    const struct hutch_value *usage = get(&tree, "usage", HUTCH_VALUE_OBJECT);
    (void)get(usage, "memory_peak_bytes", HUTCH_VALUE_NULL);
    (void)get(usage, "pids_peak", HUTCH_VALUE_NULL);
    hutch_value_done(&tree);
}

static void every_reason_has_its_name(void **state)
{
    static const char *const names[] = {"exited",    "signaled",     "timeout",     "idle_timeout",
                                        "oom",       "pids_limit",   "disk_limit",  "output_limit",
                                        "cancelled", "sandbox_died", "setup_failed"};
    (void)state;
    assert_int_equal(sizeof(names) / sizeof(names[0]), HUTCH_REASON_COUNT);
    for (unsigned i = 0; i < HUTCH_REASON_COUNT; i++)
        assert_string_equal(hutch_reason_name((enum hutch_reason)i), names[i]);
    assert_string_equal(hutch_reason_name(HUTCH_REASON_COUNT), "unknown");
}

static void output_that_is_not_utf8_is_base64_in_all_three(void **state)
{
    struct hutch_result result = typical();
    (void)state;
    keep(&result.out, "ok", 2);
    keep(&result.err, "\xFF\0", 2);
    keep(&result.both, "ok\xFF\0", 4);
    char *json = json_of(&result);
    assert_non_null(strstr(json, "\"stdout\":\"b2s=\",\"stderr\":\"/wA=\",\"output\":\"b2v/AA==\","
                                 "\"encoding\":\"base64\",\"truncated\":false"));
    free(json);
}

static void a_nul_byte_is_text(void **state)
{
    struct hutch_result result = typical();
    (void)state;
    keep(&result.out, "a\0b", 3);
    char *json = json_of(&result);
    assert_null(strstr(json, "\"encoding\""));
    assert_non_null(strstr(json, "\"stdout\":\"a\\u0000b\","));
    free(json);
}

static void a_cut_inside_a_character_is_trimmed_and_counted(void **state)
{
    struct hutch_result result = typical();
    (void)state;
    /* "a" and two bytes of the euro sign | two bytes of a rabbit and "z" */
    keep_cut(&result.out, "a\xE2\x82\x90\x87z", 3, 3, 100);
    keep_cut(&result.both, "a\xE2\x82\x90\x87z", 3, 3, 100);
    struct hutch_value tree = tree_of(&result);
    assert_null(hutch_value_get(&tree, "encoding"));
    assert_text(&tree, "stdout", "az");
    assert_text(&tree, "output", "az");
    assert_is_true(&tree, "truncated");
    assert_number(&tree, "stdout_bytes", 106);
    assert_number(&tree, "dropped_bytes", 104);
    assert_number(&tree, "stdout_head_bytes", 1);
    assert_number(&tree, "stderr_head_bytes", 0);
    hutch_value_done(&tree);
}

static void whole_characters_beside_a_cut_stay(void **state)
{
    struct hutch_result result = typical();
    (void)state;
    keep_cut(&result.out, "\xE2\x82\xAC\xF0\x9F\x90\x87", 3, 4, 1);
    struct hutch_value tree = tree_of(&result);
    assert_text(&tree, "stdout", "\xE2\x82\xAC\xF0\x9F\x90\x87");
    assert_number(&tree, "stdout_head_bytes", 3);
    assert_number(&tree, "dropped_bytes", 1);
    hutch_value_done(&tree);
}

static void trimming_never_hides_bytes_that_are_not_text(void **state)
{
    static const struct {
        const char *data;
        size_t head, tail;
    } cases[] = {
        {"a\xFF", 2, 0},             /* no character begins so */
        {"\x80\x80\x80\x80z", 0, 5}, /* four continuations are no half of a character */
        {"\xE2\x82\xE2\x82z", 2, 3}, /* a tail that begins a character it does not end */
        {"\xFF"
         "a\xE2",
         3, 0}, /* the middle is wrong */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hutch_result result = typical();
        keep_cut(&result.out, cases[i].data, cases[i].head, cases[i].tail, 10);
        struct hutch_value tree = tree_of(&result);
        assert_text(&tree, "encoding", "base64");
        assert_number(&tree, "dropped_bytes", 10);
        assert_number(&tree, "stdout_head_bytes", (int64_t)cases[i].head);
        hutch_value_done(&tree);
    }
}

static void an_end_in_the_middle_of_a_character_is_not_a_cut(void **state)
{
    struct hutch_result result = typical();
    (void)state;
    keep(&result.out, "a\xE2\x82", 3);
    struct hutch_value tree = tree_of(&result);
    assert_text(&tree, "stdout", "YeKC");
    assert_text(&tree, "encoding", "base64");
    hutch_value_done(&tree);
}

static void a_cut_in_one_stream_marks_the_whole(void **state)
{
    struct hutch_result result = typical();
    (void)state;
    keep_cut(&result.err, "ab", 1, 1, 5);
    struct hutch_value tree = tree_of(&result);
    assert_is_true(&tree, "truncated");
    assert_number(&tree, "dropped_bytes", 5);
    assert_number(&tree, "stdout_head_bytes", 6);
    assert_number(&tree, "stderr_head_bytes", 1);
    hutch_value_done(&tree);
}

static void missing_promises_are_listed(void **state)
{
    struct hutch_result_owned *owned = hutch_result_new();
    (void)state;
    assert_non_null(owned);
    assert_null(owned->result.missing[0]);
    hutch_result_set_missing(owned, HUTCH_PROMISE_BIT(MEMORY) | HUTCH_PROMISE_BIT(GROUPS));
    struct hutch_value tree = tree_of(&owned->result);
    const struct hutch_value *isolation = get(&tree, "isolation", HUTCH_VALUE_OBJECT);
    const struct hutch_value *missing = get(isolation, "missing", HUTCH_VALUE_ARRAY);
    assert_int_equal(missing->list.count, 2);
    assert_string_equal(hutch_value_text(&missing->list.items[0]), "memory");
    assert_string_equal(hutch_value_text(&missing->list.items[1]), "groups");
    (void)get(isolation, "backend", HUTCH_VALUE_NULL);
    hutch_value_done(&tree);
    hutch_result_set_missing(owned, (UINT32_C(1) << HUTCH_PROMISE_COUNT) - 1);
    assert_string_equal(owned->result.missing[HUTCH_PROMISE_COUNT - 1], "read_only");
    assert_null(owned->result.missing[HUTCH_PROMISE_COUNT]);
    hutch_result_free(&owned->result);
    hutch_result_free(NULL);
}

static void a_result_owns_its_output(void **state)
{
    struct hutch_result_owned *owned = hutch_result_new();
    (void)state;
    assert_non_null(owned);
    owned->data[0] = strdup("out");
    owned->data[2] = strdup("both");
    hutch_result_free(&owned->result); /* leaks are found by the sanitizer */
}

static void a_failed_set_up_says_why(void **state)
{
    struct hutch_result result = typical();
    (void)state;
    result.reason = HUTCH_REASON_SETUP_FAILED;
    result.error.code = HUTCH_E_NO_COMMAND;
    (void)snprintf(result.error.msg, sizeof(result.error.msg), "'b\xFFr' is not in the sandbox");
    struct hutch_value tree = tree_of(&result);
    const struct hutch_value *error = get(&tree, "error", HUTCH_VALUE_OBJECT);
    assert_text(error, "code", "no_command");
    assert_text(error, "message", "'b\xEF\xBF\xBDr' is not in the sandbox");
    hutch_value_done(&tree);
}

static void output_that_needs_escaping_still_fits(void **state)
{
    struct hutch_result result = typical();
    size_t length = 1 << 20;
    char *data = calloc(1, length);
    (void)state;
    assert_non_null(data);
    keep(&result.out, data, length);
    char *json = json_of(&result);
    assert_true(strlen(json) > 6 * length);
    free(json);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_has_the_promised_shape),
        cmocka_unit_test(a_signal_and_unknown_counters),
        cmocka_unit_test(every_reason_has_its_name),
        cmocka_unit_test(output_that_is_not_utf8_is_base64_in_all_three),
        cmocka_unit_test(a_nul_byte_is_text),
        cmocka_unit_test(a_cut_inside_a_character_is_trimmed_and_counted),
        cmocka_unit_test(whole_characters_beside_a_cut_stay),
        cmocka_unit_test(trimming_never_hides_bytes_that_are_not_text),
        cmocka_unit_test(an_end_in_the_middle_of_a_character_is_not_a_cut),
        cmocka_unit_test(a_cut_in_one_stream_marks_the_whole),
        cmocka_unit_test(missing_promises_are_listed),
        cmocka_unit_test(a_result_owns_its_output),
        cmocka_unit_test(a_failed_set_up_says_why),
        cmocka_unit_test(output_that_needs_escaping_still_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
