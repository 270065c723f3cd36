/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a build by an engine, out of its stream, wherever that is cut. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "backend/docker/build_log.h"
#include "util/own.h"

struct heard {
    char text[1024];
};

static void hear(void *context, const char *line)
{
    struct heard *heard = context;
    size_t used = strlen(heard->text);
    (void)snprintf(heard->text + used, sizeof(heard->text) - used, "%s|", line);
}

static const char stream[] =
    "{\"stream\":\"Step 1/2 : FROM a\"}\r\n"
    "{\"stream\":\"\\n\"}\r\n"
    "{\"status\":\"Pulling from library/a\",\"id\":\"latest\"}\r\n"
    "{\"status\":\"Downloading\",\"progressDetail\":{\"current\":1},\"progress\":\"[=> ]\","
    "\"id\":\"12\"}\r\n"
    "{\"stream\":\"Step 2/2 : RUN make\\n\"}\r\n"
    "no JSON\r\n"
    "[1,2]\r\n\r\n"
    "{\"stream\":\"half a \"}\r\n"
    "{\"stream\":\"line\\n\\u00e9 and\\r another\\n\"}\r\n"
    "{\"aux\":{\"ID\":\"sha256:0\"}}\r\n"
    "{\"errorDetail\":{\"code\":3,\"message\":\"it returned a non-zero code: 3\\n\"},"
    "\"error\":\"shorter\"}\r\n"
    "{\"stream\":\"the end\"}";
static const char expected[] = "Step 1/2 : FROM a|latest: Pulling from library/a|"
                               "Step 2/2 : RUN make|half a line|\xc3\xa9 and| another|the end|";

static void expect_log(const size_t *cuts, size_t count)
{
    struct docker_build_log log;
    struct heard heard = {""};
    size_t at = 0;
    docker_build_log_begin(&log, hear, &heard);
    for (size_t i = 0; i <= count; i++) {
        size_t end = i < count ? cuts[i] : sizeof(stream) - 1;
        assert_int_equal(docker_progress_feed(&log.progress, stream + at, end - at), 0);
        at = end;
    }
    docker_build_log_end(&log);
    assert_string_equal(heard.text, expected);
    assert_string_equal(log.problem, "it returned a non-zero code: 3");
    assert_true(log.step.counts_all);
    assert_int_equal(log.step.number, 2);
    assert_string_equal(log.step.text, "RUN make");
}

static void a_log_is_the_same_wherever_its_stream_is_cut(void **state)
{
    size_t every[sizeof(stream) - 1];
    (void)state;
    for (size_t one = 0; one < sizeof(stream); one++)
        for (size_t two = one; two < sizeof(stream); two += 7)
            expect_log((const size_t[]){one, two}, 2);
    for (size_t i = 0; i < HUTCH_COUNT(every); i++)
        every[i] = i + 1;
    expect_log(every, HUTCH_COUNT(every));
}

static void causes_are_told_without_what_is_known(void **state)
{
    static const struct {
        const char *stream;
        const char *problem;
    } rows[] = {
        {"{\"error\":\"building at STEP \\\"RUN x\\\": while running: exit status 3 \"}",
         "while running: exit status 3"},
        {"{\"error\":\"a\\tb\\nc\"}", "a b c"},
        {"{\"error\":\"\"}", "the engine does not say why"},
        {"{\"errorDetail\":{}}", ""},
        {"{\"errorDetail\":{\"message\":7},\"error\":\"x\"}", "x"},
        {"{\"stream\":\"fine\"}", ""},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++) {
        struct docker_build_log log;
        docker_build_log_begin(&log, NULL, NULL);
        assert_int_equal(
            docker_progress_feed(&log.progress, rows[i].stream, strlen(rows[i].stream)), 0);
        docker_build_log_end(&log);
        assert_string_equal(log.problem, rows[i].problem);
    }
}

static void a_line_without_end_is_given_up(void **state)
{
    struct docker_build_log log;
    char piece[4096];
    int status = 0;
    size_t fed = 0;
    (void)state;
    memset(piece, 'x', sizeof(piece));
    docker_build_log_begin(&log, NULL, NULL);
    for (; status == 0 && fed < (size_t)2 * DOCKER_PROGRESS_LINE_BYTES; fed += sizeof(piece))
        status = docker_progress_feed(&log.progress, piece, sizeof(piece));
    docker_build_log_end(&log);
    assert_int_equal(status, -1);
    assert_true(fed <= DOCKER_PROGRESS_LINE_BYTES + sizeof(piece));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_is_the_same_wherever_its_stream_is_cut),
        cmocka_unit_test(causes_are_told_without_what_is_known),
        cmocka_unit_test(a_line_without_end_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
