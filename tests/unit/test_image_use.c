/* SPDX-License-Identifier: Apache-2.0 */
/* What an image says and what the spec says, put together. Docker's rules for commands are those of
 * its daemon: an entrypoint that is given drops the image's Cmd, an empty one drops both. */
#include "unit.h"

#include <stdio.h>

#include "image/use.h"

static void fill(struct hutch_strlist *list, const char *words)
{
    struct hutch_error err;
    char copy[128], *rest = NULL;
    (void)snprintf(copy, sizeof(copy), "%s", words);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        assert_fine(hutch_strlist_add(list, strcmp(word, "''") ? word : "", &err), &err);
}

static void join(const struct hutch_strlist *list, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, size - used, "%s%s", i ? " " : "", list->items[i]);
    }
}

static struct hutch_spec *new_spec(void)
{
    struct hutch_spec *spec = NULL;
    struct hutch_error err;
    assert_fine(hutch_spec_new(&spec, &err), &err);
    assert_fine(hutch_spec_set(spec, "image", "i", &err), &err);
    return spec;
}

static void commands_are_put_together_as_docker_does(void **state)
{
    static const struct {
        const char *image_entrypoint, *image_cmd, *entrypoint, *command, *whole;
    } cases[] = {
        {"", "", "", "", ""},           {"", "c", "", "", "c"},      {"e", "", "", "", "e"},
        {"e", "c d", "", "", "e c d"},  {"e", "c", "", "x", "e x"},  {"", "c", "", "x y", "x y"},
        {"e", "c", "n", "", "n"},       {"e", "c", "n", "x", "n x"}, {"e", "c", "''", "", ""},
        {"e", "c", "''", "x", "x"},     {"", "c", "''", "", ""},     {"", "c", "n", "", "n"},
        {"e f", "c", "", "g", "e f g"}, {"''", "c", "", "", "c"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hutch_spec *spec = new_spec();
        struct image_use use = IMAGE_USE_INIT;
        struct hutch_error err;
        char whole[256];
        fill(&use.image.entrypoint, cases[i].image_entrypoint);
        fill(&use.image.cmd, cases[i].image_cmd);
        fill(&spec->entrypoint, cases[i].entrypoint);
        fill(&spec->command, cases[i].command);
        assert_fine(image_use_settle(&use, spec, &err), &err);
        join(&use.command, whole, sizeof(whole));
        assert_string_equal(whole, cases[i].whole);
        image_use_done(&use);
        hutch_spec_free(spec);
    }
}

static void stop_signals_have_names_and_numbers(void **state)
{
    static const struct {
        const char *text;
        int number; /* -1: refused */
    } cases[] = {
        {"", 15},
        {"SIGTERM", 15},
        {"TERM", 15},
        {"3", 3},
        {"64", 64},
        {"SIGQUIT", 3},
        {"SIGRTMIN", 34},
        {"SIGRTMIN+3", 37},
        {"RTMAX-1", 63},
        {"0", -1},
        {"65", -1},
        {"-9", -1},
        {"SIG", -1},
        {"sigterm", -1},
        {"SIGTERM+1", -1},
        {"RTMIN+99", -1},
        {"SIGRTMIN+x", -1},
        {"9 ", -1},
        {"99999999999999999999", -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hutch_spec *spec = new_spec();
        struct image_use use = IMAGE_USE_INIT;
        struct hutch_error err;
        use.image.stop_signal = strdup(cases[i].text);
        int r = image_use_settle(&use, spec, &err);
        assert_int_equal(r, cases[i].number < 0 ? -HUTCH_E_INVALID : 0);
        if (r == 0)
            assert_int_equal(use.stop_signal, cases[i].number);
        image_use_done(&use);
        hutch_spec_free(spec);
    }
}

static void a_pinned_spec_keeps_its_name(void **state)
{
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    static const char *const cases[][2] = {
        {"python", "python@sha256:" HEX},
        {"a.b:1/c:2", "a.b:1/c:2@sha256:" HEX},
        {"x@sha256:ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
         "x@sha256:" HEX}, /* of an index: now it is the image that was chosen from it */
        {"sha256:" HEX, "sha256:" HEX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hutch_spec *spec = new_spec();
        struct image_use use = IMAGE_USE_INIT;
        struct hutch_error err;
        (void)snprintf(use.image.digest, sizeof(use.image.digest), "sha256:" HEX);
        assert_fine(hutch_spec_set(spec, "image", cases[i][0], &err), &err);
        assert_fine(image_use_pin(&use, spec, &err), &err);
        assert_string_equal(spec->image, cases[i][1]);
        assert_string_equal(image_pinned_digest(spec), "sha256:" HEX);
        image_use_done(&use);
        hutch_spec_free(spec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_put_together_as_docker_does),
        cmocka_unit_test(stop_signals_have_names_and_numbers),
        cmocka_unit_test(a_pinned_spec_keeps_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
