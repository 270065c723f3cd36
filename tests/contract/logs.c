/* SPDX-License-Identifier: Apache-2.0 */
/* What a command in the background has said can be read while it runs, later, from anywhere in it,
 * and when the sandbox has stopped. */
#include <stdlib.h>
#include <string.h>

#include "boxes.h"

struct seen {
    char text[3][256];
    uint64_t next;
    uint64_t lost;
};

static int see(void *userdata, const struct hutch_log_piece *piece)
{
    struct seen *seen = userdata;
    char *text = seen->text[piece->stream];
    size_t used = strlen(text);
    if (used + piece->length >= sizeof(seen->text[0]))
        return 1;
    memcpy(text + used, piece->data, piece->length);
    text[used + piece->length] = '\0';
    seen->next = piece->offset + piece->length;
    seen->lost += piece->lost_bytes;
    return 0;
}

static void read_log(struct hutch_sandbox *box, const struct hutch_log_options *options,
                     struct seen *ret_seen)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    memset(ret_seen, 0, sizeof(*ret_seen));
    if (hutch_sandbox_logs(box, options, see, ret_seen, &err) < 0)
        fail_msg("logs: %s", err.msg);
    assert_int_equal(ret_seen->lost, 0);
}

static void it_is_followed_to_the_end_and_read_again(void **state)
{
    struct hutch_log_options options = HUTCH_LOG_OPTIONS_INIT;
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    struct seen seen;
    (void)state;
    struct hutch_sandbox *box = box_create("followed");
    options.exec_id =
        box_spawn(box, "for i in 1 2 3; do echo out $i; echo err $i >&2; sleep 0.2; done; exit 3");
    options.follow = true;
    read_log(box, &options, &seen);
    assert_string_equal(seen.text[HUTCH_STDOUT], "out 1\nout 2\nout 3\n");
    assert_string_equal(seen.text[HUTCH_STDERR], "err 1\nerr 2\nerr 3\n");
    assert_int_equal(seen.next, 36);
    assert_int_equal(hutch_sandbox_wait(box, options.exec_id, &result, &err), 0);
    assert_reason(result, HUTCH_REASON_EXITED, 3);
    hutch_result_free(result);
    options.follow = false;
    options.offset = 24;
    read_log(box, &options, &seen);
    assert_string_equal(seen.text[HUTCH_STDOUT], "out 3\n");
    options.offset = 0;
    options.streams = HUTCH_STDERR;
    options.tail = 1;
    read_log(box, &options, &seen);
    assert_string_equal(seen.text[HUTCH_STDERR], "err 3\n");
    assert_string_equal(seen.text[HUTCH_STDOUT], "");
    box_destroy(box);
}

static void it_outlives_a_stop(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)state;
    struct hutch_sandbox *box = box_create("outlived");
    const char *id = box_spawn(box, "echo said; sleep 1000");
    box_await_log(box, id, 5);
    assert_int_equal(hutch_sandbox_kill(box, &err), 0);
    char *text = box_log(box, id);
    assert_string_equal(text, "said\n");
    free(text);
    box_destroy(box);
}

/* Its own command, given when it was made, is the one without an id. */
static void the_sandboxes_own_command_is_recorded(void **state)
{
    const char *const command[] = {"sh", "-c", "echo own; sleep 1000"};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_sandbox *box = NULL;
    struct hutch_spec *spec = NULL;
    (void)state;
    assert_int_equal(hutch_spec_new(&spec, &err), 0);
    contract_prepare(spec);
    contract_set(spec, "name", "own");
    assert_int_equal(hutch_spec_set_command(spec, COUNT(command), command, &err), 0);
    if (hutch_sandbox_create(spec, &box, &err) < 0)
        fail_msg("create: %s", err.msg);
    hutch_spec_free(spec);
    box_await_log(box, NULL, 4);
    char *text = box_log(box, NULL);
    assert_string_equal(text, "own\n");
    free(text);
    box_destroy(box);
}

static int add_length(void *userdata, const struct hutch_log_piece *piece)
{
    uint64_t *bytes = userdata;
    bytes[piece->stream] += piece->length;
    bytes[0] += piece->lost_bytes;
    return 0;
}

static void much_is_recorded_without_a_gap(void **state)
{
    struct hutch_log_options options = HUTCH_LOG_OPTIONS_INIT;
    struct hutch_error err = HUTCH_ERROR_INIT;
    uint64_t bytes[3] = {0};
    (void)state;
    struct hutch_sandbox *box = box_create("recorded");
    options.exec_id = box_spawn(box, "yes | head -c 20000000; yes | head -c 1000000 >&2");
    options.follow = true;
    assert_int_equal(hutch_sandbox_logs(box, &options, add_length, bytes, &err), 0);
    assert_int_equal(bytes[0], 0);
    assert_int_equal(bytes[HUTCH_STDOUT], 20000000);
    assert_int_equal(bytes[HUTCH_STDERR], 1000000);
    box_destroy(box);
}

CONTRACT_TABLE(contract_logs, TEST(it_is_followed_to_the_end_and_read_again),
               TEST(it_outlives_a_stop), TEST(the_sandboxes_own_command_is_recorded),
               TEST(much_is_recorded_without_a_gap));
