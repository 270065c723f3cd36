/* SPDX-License-Identifier: Apache-2.0 */
/* What hutch reads in a Dockerfile itself: which line a step of a build is, and the images it asks
 * for. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "image/build_step.h"
#include "image/dockerfile.h"
#include "util/own.h"

static void announcements_are_told_from_other_lines(void **state)
{
    static const char *const others[] = {
        "",
        "STEP",
        "STEP 1/2",
        "STEP x/2: RUN a",
        "step 1/2: RUN a",
        "[1/2] ",
        "[1/2] RUN a",
        "STEP 0/2: RUN",
        "STEP -1/2: ",
        " STEP 1/2: RUN a",
        "RUN STEP 1",
        "-->STEP 1/2: a",
        "[0/1] STEP 1/1: RUN a",
    };
    struct build_step step = {0};
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(others); i++)
        assert_false(build_step_hear(&step, others[i]));
    assert_int_equal(step.stage, 0);
    assert_false(build_step_hear(&step, "Step 1/2 RUN a"));
    assert_false(build_step_hear(&step, "Step 3/2 : RUN a"));
    assert_true(build_step_hear(&step, "Step 2/3 : RUN make"));
    assert_true(step.counts_all && step.stage && step.number == 2);
    assert_string_equal(step.text, "RUN make");
    assert_true(build_step_hear(&step, "STEP 3/12: RUN make all"));
    assert_false(step.counts_all);
    assert_int_equal(step.stage, 1);
    assert_int_equal(step.number, 3);
    assert_string_equal(step.text, "RUN make all");
    assert_true(build_step_hear(&step, "[2/3] STEP 1/4: FROM scratch"));
    assert_int_equal(step.stage, 2);
    assert_int_equal(step.number, 1);
}

static unsigned line_of(const char *announcement, const char *dockerfile)
{
    struct build_step step = {0};
    assert_true(build_step_hear(&step, announcement));
    return build_step_line(&step, dockerfile);
}

static void lines_are_found_between_comments_and_continuations(void **state)
{
    static const char text[] = "# syntax\n"
                               "ARG BASE\n"
                               "FROM $BASE\n"
                               "\n"
                               "run a && \\\n"
                               "    # within\n"
                               "\n"
                               "    b\n"
                               "  COPY x y\r\n"
                               "CMD [\"a\"]";
    (void)state;
    assert_int_equal(line_of("STEP 1/4: FROM base", text), 3);
    assert_int_equal(line_of("STEP 2/4: RUN a &&     b", text), 5);
    assert_int_equal(line_of("STEP 3/4: COPY x y", text), 9);
    assert_int_equal(line_of("STEP 4/4: CMD [\"a\"]", text), 10);
    assert_int_equal(line_of("Step 1/5 : ARG BASE", text), 2);
    assert_int_equal(line_of("Step 2/5 : FROM base", text), 3);
    assert_int_equal(line_of("Step 5/5 : CMD [\"a\"]", text), 10);
}

static void stages_count_their_own_steps(void **state)
{
    static const char text[] = "FROM a AS first\nRUN one\nFROM b\nRUN two\nRUN three\n";
    (void)state;
    assert_int_equal(line_of("[1/2] STEP 2/2: RUN one", text), 2);
    assert_int_equal(line_of("[2/2] STEP 1/3: FROM b", text), 3);
    assert_int_equal(line_of("[2/2] STEP 3/3: RUN three", text), 5);
    assert_int_equal(line_of("Step 3/5 : FROM b", text), 3);
    assert_int_equal(line_of("Step 5/5 : RUN three", text), 5);
}

static void what_does_not_fit_has_no_line(void **state)
{
    struct build_step none = {0};
    (void)state;
    assert_int_equal(build_step_line(&none, "FROM a\n"), 0);
    assert_int_equal(line_of("STEP 1/1: FROM a", ""), 0);
    assert_int_equal(line_of("STEP 2/2: RUN x", "FROM a\n"), 0);
    assert_int_equal(line_of("STEP 2/2: RUN x", "FROM a\nCOPY a b\n"), 0);
    assert_int_equal(line_of("STEP 2/2: RUN x", "FROM a\nRUNX x\n"), 0);
    assert_int_equal(line_of("[3/3] STEP 1/1: FROM x", "FROM a\nFROM b\n"), 0);
    assert_int_equal(line_of("STEP 2/2: RUN x", "FROM a\nRUN x \\"), 2);
}

/* Their names, with a space after each. */
static void assert_bases(const char *dockerfile, const char *const *build_args, const char *names)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist found = {0};
    char text[512] = "";
    assert_int_equal(dockerfile_bases(dockerfile, build_args, &found, NULL), 0);
    for (size_t i = 0; i < found.count; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof(text) - used, "%s ", found.items[i]);
    }
    assert_string_equal(text, names);
}

static void images_that_are_asked_for_are_found(void **state)
{
    (void)state;
    assert_bases("", NULL, "");
    assert_bases("FROM", NULL, "");
    assert_bases("FROM scratch\nCOPY a b\n", NULL, "");
    assert_bases("# FROM no\nfrom a:1\nRUN x\nFROM a:1\nFROM \\\n  # within\n b\n", NULL, "a:1 b ");
    assert_bases("FROM --platform=linux/arm64 a AS Build\nFROM build as c\nFROM c\n", NULL, "a ");
    assert_bases("FROM a\nCOPY --chown=1:1 --from=b /x /y\nCOPY --from=0 /x /y\nCOPY x --from=c\n",
                 NULL, "a b ");
    assert_bases("FROM a AS s\nRUN --mount=type=bind,from=b,target=/b --mount=from=s,target=/c "
                 "--mount=type=cache,target=/from=d make\n",
                 NULL, "a b ");
}

static void variables_of_images_have_their_values(void **state)
{
    static const char text[] = "ARG BASE=debian TAG=\"12\"\n"
                               "ARG FULL=${BASE}:$TAG\n"
                               "ARG EMPTY\n"
                               "FROM $FULL\n"
                               "ARG BASE=too-late\n"
                               "FROM ${BASE}-${EMPTY:-slim}${TAG:+-x}\n"
                               "FROM $EMPTY\n"
                               "FROM ${BASE\n";
    static const char *const args[] = {"TAG=11", "EMPTY=full", "OTHER=x", "TAG=13", NULL};
    hutch_autofree char *huge = calloc(1, 4097);
    (void)state;
    assert_bases(text, NULL, "debian:12 debian-slim-x ");
    assert_bases(text, args, "debian:13 debian-full-x full ");
    assert_non_null(huge);
    memset(huge, 'x', 4096); /* no name is that long */
    memcpy(huge, "FROM ", 5);
    assert_bases(huge, NULL, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(announcements_are_told_from_other_lines),
        cmocka_unit_test(lines_are_found_between_comments_and_continuations),
        cmocka_unit_test(stages_count_their_own_steps),
        cmocka_unit_test(what_does_not_fit_has_no_line),
        cmocka_unit_test(images_that_are_asked_for_are_found),
        cmocka_unit_test(variables_of_images_have_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
