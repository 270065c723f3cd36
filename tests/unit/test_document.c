/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>

#include "core/document.h"

static int parse(const char *text, enum hutch_format format, struct hutch_document *document,
                 struct hutch_error *err)
{
    return hutch_document_parse(text, strlen(text), format, document, err);
}

static bool is_list(const struct hutch_value *value)
{
    return value->type == HUTCH_VALUE_ARRAY || value->type == HUTCH_VALUE_OBJECT;
}

static bool equal_lists(const struct hutch_value *a, const struct hutch_value *b);

static bool equal(const struct hutch_value *a, const struct hutch_value *b)
{
    if (a->type != b->type || !a->key != !b->key || (a->key && strcmp(a->key, b->key) != 0))
        return false;
    if (is_list(a))
        return equal_lists(a, b);
    if (a->type == HUTCH_VALUE_STRING)
        return a->string.length == b->string.length && !strcmp(a->string.bytes, b->string.bytes);
    if (a->type == HUTCH_VALUE_BOOL)
        return a->boolean == b->boolean;
    return a->type == HUTCH_VALUE_NULL || a->integer == b->integer; /* or the bits of a number */
}

static bool equal_lists(const struct hutch_value *a, const struct hutch_value *b)
{
    if (a->list.count != b->list.count)
        return false;
    for (size_t i = 0; i < a->list.count; i++)
        if (!equal(&a->list.items[i], &b->list.items[i]))
            return false;
    return true;
}

/* The YAML and the JSON text are the same document. */
static void assert_same(const char *yaml, const char *json)
{
    struct hutch_document a = {0}, b = {0};
    struct hutch_error err;
    assert_fine(parse(yaml, HUTCH_FORMAT_YAML, &a, &err), &err);
    assert_fine(parse(json, HUTCH_FORMAT_JSON, &b, &err), &err);
    if (!equal(&a.root, &b.root))
        fail_msg("%s", yaml);
    hutch_document_done(&a);
    hutch_document_done(&b);
}

static void yaml_and_json_become_the_same_tree(void **state)
{
    (void)state;
    assert_same("a: 1\nb: [x, 'y', \"z\"]\nc: {d: e}\n",
                "{\"a\": 1, \"b\": [\"x\", \"y\", \"z\"], \"c\": {\"d\": \"e\"}}");
    assert_same("---\nb:\n- 1\n-\n  c: d\n- []\ne: |\n  two\n  lines\n...\n",
                "{\"b\": [1, {\"c\": \"d\"}, []], \"e\": \"two\\nlines\\n\"}");
    assert_same("{\"a\": [true, null, \"\\u00e9\"]}", "{\"a\": [true, null, \"\\u00e9\"]}");
}

static void scalars_resolve_as_in_json(void **state)
{
    (void)state;
    assert_same("v: [true, True, FALSE, null, ~, '', \"true\", 'null', NULL]",
                "{\"v\": [true, true, false, null, null, \"\", \"true\", \"null\", null]}");
    assert_same("v: [0, -7, 1.5, 1e3, -2.5E-1, 9223372036854775807]",
                "{\"v\": [0, -7, 1.5, 1e3, -2.5E-1, 9223372036854775807]}");
    /* What would lose text as a number stays text. */
    assert_same(
        "v: [007, 0x1f, 0o7, 1_000, .5, 1., +1, -0, 9223372036854775808, 1e999, 12:30, 1 2]",
        "{\"v\": [\"007\", \"0x1f\", \"0o7\", \"1_000\", \".5\", \"1.\", \"+1\", \"-0\", "
        "\"9223372036854775808\", \"1e999\", \"12:30\", \"1 2\"]}");
    /* YAML 1.1's other booleans are words here. */
    assert_same("v: [yes, no, on, off, y, n, .inf, .nan, 2024-01-01, tRUE]",
                "{\"v\": [\"yes\", \"no\", \"on\", \"off\", \"y\", \"n\", \".inf\", \".nan\", "
                "\"2024-01-01\", \"tRUE\"]}");
    assert_same("v:", "{\"v\": null}");
}

static void keys_are_words(void **state)
{
    (void)state;
    assert_same("1: a\ntrue: b\n'': c\n", "{\"1\": \"a\", \"true\": \"b\", \"\": \"c\"}");
}

/* The message begins like this; what libyaml adds to it is its own. */
struct refused {
    const char *text;
    const char *message;
};

static void assert_all_refused(const struct refused *cases, size_t count, enum hutch_format format)
{
    for (size_t i = 0; i < count; i++) {
        struct hutch_document document = {0};
        struct hutch_error err;
        assert_int_equal(parse(cases[i].text, format, &document, &err), -HUTCH_E_INVALID);
        if (strncmp(err.msg, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("'%s' is refused with '%s'", cases[i].text, err.msg);
        assert_int_equal(document.root.type, HUTCH_VALUE_NULL);
    }
}

static void yaml_that_json_could_not_say_is_refused(void **state)
{
    static const char anchor[] =
        "line 2: anchors and tags are not taken, write the value out and quote strings";
    static const struct refused cases[] = {
        {"a: 1\nb: &x 2\n", anchor},
        {"a: 1\nb: &x [2]\n", anchor},
        {"a: 1\nb: &x {c: 2}\n", anchor},
        {"a: 1\nb: !!str 2\n", anchor},
        {"a: 1\nb: !mine {}\n", anchor},
        {"a: 1\nb: ! x\n", anchor},
        {"a: *x\n", "line 1: aliases are not taken, write the value again"},
        {"&k a: 1\n", "line 1: a key takes neither an anchor nor a tag"},
        {"*k : 1\n", "line 1: a key must be a plain word"},
        {"[a]: 1\n", "line 1: a key must be a plain word"},
        {"? {a: b}\n: 1\n", "line 1: a key must be a plain word"},
        {"a: 1\n---\nb: 2\n", "line 2: a second document begins here, only one is taken"},
        {"a: 1\nb: 2\na: 3\n", "line 3: duplicate key 'a', leave one of them"},
        {"a: {b: 1,\n b: 2}\n", "line 2: duplicate key 'b', leave one of them"},
        {"a: null\na: 1\n", "line 2: duplicate key 'a', leave one of them"},
        {"a: \"\\0\"\n", "line 1: a NUL byte cannot be part of a value"},
        {"\"a\\0b\": 1\n", "line 1: a NUL byte cannot be part of a key"},
        {"", "line 1: the document is empty"},
        {"# only this\n", "line 2: the document is empty"},
        {"- a\n", "the document is a list, it must be an object such as {\"command\": [\"true\"]}"},
        {"word", "the document is a string, it must be an object such as {\"command\": "
                 "[\"true\"]}"},
        {"~", "the document is null, it must be an object such as {\"command\": [\"true\"]}"},
        {"a: [1\n", "line 2: "},
        {"a:\n\tb: 1\n", "line 2: "},
    };
    (void)state;
    assert_all_refused(cases, sizeof(cases) / sizeof(cases[0]), HUTCH_FORMAT_YAML);
}

static void json_that_is_wrong_is_refused(void **state)
{
    static const struct refused cases[] = {
        {"", "line 1: "},
        {"{\n\"a\": 1,\n\"a\": 2}", "line 3: duplicate"},
        {"{\"a\": \"\\u0000\"}", "line 1: a NUL byte cannot be part of a value"},
        {"{\"a\": 1} x", "line 1: "},
        {"{\"a\": 99999999999999999999}", "line 1: "},
        {"{\"a\": NaN}", "line 1: "},
        {"[]", "the document is a list, it must be an object such as {\"command\": [\"true\"]}"},
        {"{\"a\": \"\xFF\"}", "line 1: "},
    };
    (void)state;
    assert_all_refused(cases, sizeof(cases) / sizeof(cases[0]), HUTCH_FORMAT_JSON);
}

/* An object that holds a number inside depth - 1 lists. Free it. */
static char *nested(size_t depth)
{
    char *text = malloc(2 * depth + 16), *at = text;
    assert_non_null(text);
    at = stpcpy(at, "{\"a\":");
    memset(at, '[', depth - 1);
    at = stpcpy(at + depth - 1, "1");
    memset(at, ']', depth - 1);
    (void)stpcpy(at + depth - 1, "}");
    return text;
}

static void depth_is_bounded(void **state)
{
    struct hutch_document document = {0};
    struct hutch_error err;
    char *deepest = nested(HUTCH_DOCUMENT_MAX_DEPTH);
    char *deeper = nested(HUTCH_DOCUMENT_MAX_DEPTH + 1);
    char *abyss = nested(100000);
    (void)state;
    for (int i = HUTCH_FORMAT_JSON; i <= HUTCH_FORMAT_YAML; i++) {
        enum hutch_format format = (enum hutch_format)i;
        assert_fine(parse(deepest, format, &document, &err), &err);
        hutch_document_done(&document);
        assert_refused(parse(deeper, format, &document, &err), &err,
                       "line 1: the document is nested too deeply");
        assert_int_equal(parse(abyss, format, &document, &err), -HUTCH_E_INVALID);
    }
    free(deepest);
    free(deeper);
    free(abyss);
}

static void size_is_bounded(void **state)
{
    struct hutch_document document = {0};
    struct hutch_error err;
    size_t length = HUTCH_DOCUMENT_MAX_BYTES + 1;
    char *text = malloc(length);
    (void)state;
    assert_non_null(text);
    memset(text, ' ', length);
    memcpy(text, "{}", 2);
    for (int format = HUTCH_FORMAT_JSON; format <= HUTCH_FORMAT_YAML; format++) {
        assert_fine(
            hutch_document_parse(text, length - 1, (enum hutch_format)format, &document, &err),
            &err);
        hutch_document_done(&document);
        assert_refused(
            hutch_document_parse(text, length, (enum hutch_format)format, &document, &err), &err,
            "the document has 4194305 bytes, the most is 4194304");
    }
    free(text);
}

/* Walks to the last item of the last item and so on, and gives its line. */
static unsigned deepest_line(struct hutch_document *document)
{
    struct hutch_node node = hutch_document_root(document);
    while (is_list(node.value) && node.value->list.count)
        node = hutch_node_item(node, node.value->list.count - 1);
    return document->line;
}

static void a_node_knows_its_line_in_yaml(void **state)
{
    struct hutch_document document = {0};
    struct hutch_error err;
    (void)state;
    assert_fine(parse("z: 1\ny: 2\na:\n  - b: 1\n    c:\n    - 2\n    - 3\n", HUTCH_FORMAT_YAML,
                      &document, &err),
                &err);
    assert_int_equal(deepest_line(&document), 7);
    hutch_document_done(&document);
    assert_fine(parse("{\"a\": [1]}", HUTCH_FORMAT_JSON, &document, &err), &err);
    assert_int_equal(deepest_line(&document), 0);
    hutch_document_done(&document);
}

static void objects_keep_the_order_of_their_keys(void **state)
{
    struct hutch_document document = {0};
    struct hutch_error err;
    char text[2000];
    char *at = text;
    (void)state;
    for (unsigned i = 0; i < 100; i++)
        at += snprintf(at, 16, "k%u: %u\n", i * 37 % 100, i);
    assert_fine(parse(text, HUTCH_FORMAT_YAML, &document, &err), &err);
    struct hutch_node root = hutch_document_root(&document);
    assert_int_equal(root.value->list.count, 100);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(hutch_node_item(root, i).value->integer, i);
        assert_int_equal(document.line, i + 1);
    }
    hutch_document_done(&document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml_and_json_become_the_same_tree),
        cmocka_unit_test(scalars_resolve_as_in_json),
        cmocka_unit_test(keys_are_words),
        cmocka_unit_test(yaml_that_json_could_not_say_is_refused),
        cmocka_unit_test(json_that_is_wrong_is_refused),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(size_is_bounded),
        cmocka_unit_test(a_node_knows_its_line_in_yaml),
        cmocka_unit_test(objects_keep_the_order_of_their_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
