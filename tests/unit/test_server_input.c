/* SPDX-License-Identifier: Apache-2.0 */
/* What a request brings: its path, its query and its body, held against a route's tables. */
#include "server/body.h"
#include "server/nearest.h"
#include "unit.h"

static const struct api_field fields[] = {
    {"name", API_TEXT, true, "A name.", 0},      {"count", API_INTEGER, false, "A count.", 0},
    {"force", API_BOOLEAN, false, "A flag.", 0}, {"grace", API_DURATION, false, "A time.", 0},
    {"size", API_SIZE, false, "A size.", 0},     {"words", API_TEXTS, false, "Words.", 0},
    {"env", API_TEXT_MAP, false, "Pairs.", 0},   {0},
};

static const struct api_field spec_fields[] = {
    {"project_name", API_TEXT, false, "A name.", 0},
    {"spec", API_SPEC, false, "A spec.", HUTCH_USE_CREATE},
    {0},
};

/* ---- percent-encoding ------------------------------------------------------------------------ */

static void expect_decoded(const char *text, bool is_query, const char *wanted)
{
    char *decoded = percent_decode(text, strlen(text), is_query);
    if (wanted)
        assert_string_equal(decoded, wanted);
    else
        assert_null(decoded);
    free(decoded);
}

static void test_decoding(void **state)
{
    (void)state;
    expect_decoded("", false, "");
    expect_decoded("a%41%c3%a9", false, "aA\xc3\xa9");
    expect_decoded("a+b", false, "a+b");
    expect_decoded("a+b%2B", true, "a b+");
    static const char *const broken[] = {"%",   "%4",  "%zz",       "%00",          "a%0",
                                         "%ff", "%c3", "%ed%a0%80", "%f4%90%80%80", "\xff"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        expect_decoded(broken[i], true, NULL);
}

/* ---- queries --------------------------------------------------------------------------------- */

static void free_values(char *values[8])
{
    for (size_t i = 0; i < 8; i++) {
        free(values[i]);
        values[i] = NULL;
    }
}

static void test_query(void **state)
{
    struct hutch_error err;
    char *values[8] = {0};
    (void)state;
    assert_fine(query_parse("name=x&&count=7&force&grace=5s&", fields, values, &err), &err);
    assert_string_equal(values[0], "x");
    assert_string_equal(values[1], "7");
    assert_string_equal(values[2], "");
    free_values(values);
    assert_refused(query_parse("name=x&name=y", fields, values, &err), &err,
                   "parameter 'name' is given twice");
    free_values(values);
    assert_refused(query_parse("name=x&n%61me=y", fields, values, &err), &err,
                   "parameter 'name' is given twice");
    free_values(values);
    assert_refused(query_parse("nam=x", fields, values, &err), &err,
                   "unknown parameter 'nam'; did you mean 'name'?");
    assert_refused(query_parse("x=1", NULL, values, &err), &err, "unknown parameter 'x'");
    assert_refused(query_parse("count=-1", fields, values, &err), &err,
                   "parameter 'count' must be a whole number that is not negative, not '-1'");
    assert_refused(query_parse("count=18446744073709551616", fields, values, &err), &err,
                   "parameter 'count' must be a whole number that is not negative, not "
                   "'18446744073709551616'");
    assert_refused(query_parse("force=yes", fields, values, &err), &err,
                   "parameter 'force' must be 0 or 1, not 'yes'");
    assert_refused(query_parse("", fields, values, &err), &err,
                   "parameter 'name' is missing: A name.");
    free_values(values);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static int check(const char *text, const struct api_field *rows, struct hutch_error *err)
{
    json_t *body = NULL;
    int status = body_parse(text, strlen(text), 8, &body, err);
    if (status == 0)
        status = body_check(body, rows, err);
    json_decref(body);
    return status;
}

static void test_body(void **state)
{
    struct hutch_error err;
    (void)state;
    assert_fine(check("{\"name\": \"x\", \"count\": 0, \"force\": true, \"grace\": 1.5, \"size\": "
                      "\"1g\", \"words\": [], \"env\": {\"A\": \"b\"}}",
                      fields, &err),
                &err);
    assert_refused(check("{}", fields, &err), &err, "field 'name' is missing: A name.");
    assert_refused(check("{\"nmae\": 1}", fields, &err), &err, "unknown field 'nmae'");
    assert_refused(check("{\"counts\": 1}", fields, &err), &err,
                   "unknown field 'counts'; did you mean 'count'?");
    assert_refused(check("{\"name\": null}", fields, &err), &err, "field 'name' must be a text");
    assert_refused(check("{\"count\": -1}", fields, &err), &err,
                   "field 'count' must be a whole number that is not negative");
    assert_refused(check("{\"count\": 1.0}", fields, &err), &err,
                   "field 'count' must be a whole number that is not negative");
    assert_refused(check("{\"words\": [1]}", fields, &err), &err,
                   "field 'words' must be a list of texts");
    assert_refused(check("{\"env\": {\"A\": 1}}", fields, &err), &err,
                   "field 'env' must be an object whose values are texts");
    assert_refused(check("{\"grace\": -1}", fields, &err), &err,
                   "field 'grace' must be a time such as \"30s\", or a number of seconds");
    assert_refused(check("[]", fields, &err), &err, "the body must be a JSON object, as in {}");
    assert_refused(check("{\"a\":[[[[[[[[1]]]]]]]]}", fields, &err), &err,
                   "the body is nested more than 8 levels deep, which nothing needs");
    /* brackets in a text are none */
    assert_fine(check("{\"name\": \"[[[[[[[[[[\\\"[[[\"}", fields, &err), &err);
}

static void test_what_two_readers_could_read_differently(void **state)
{
    static const char *const texts[] = {
        "{\"name\":\"a\",\"name\":\"b\"}",
        "{\"env\":{\"A\":\"1\",\"A\":\"2\"}}",
        "{} {}",
        "{\"name\":\"\\u0000\"}",
        "{\"name\":\"\\ud800\"}",
        "{\"name\":\"\xff\"}",
        "{\"count\":1e999}",
        "{\"count\":NaN}",
        "\xef\xbb\xbf{}",
        "{\"count\":99999999999999999999}",
        "{'name':'x'}",
        "",
    };
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(check(texts[i], fields, &err), -HUTCH_E_INVALID);
        assert_non_null(strstr(err.msg, "the body is not JSON: line "));
    }
}

static void test_fields_of_a_spec(void **state)
{
    struct hutch_error err;
    json_t *body = NULL;
    char *text = NULL;
    (void)state;
    assert_refused(check("{\"policy\": {\"tenant\": \"b\"}}", spec_fields, &err), &err,
                   "unknown field 'policy'");
    assert_refused(check("{\"egress_policy\": {}}", spec_fields, &err), &err,
                   "unknown field 'egress_policy'");
    const char *given = "{\"project_name\": \"x\", \"limits\": {\"memory\": \"1g\"}}";
    assert_fine(body_parse(given, strlen(given), 8, &body, &err), &err);
    assert_fine(body_check(body, spec_fields, &err), &err);
    assert_fine(body_spec_text(body, spec_fields, &text, &err), &err);
    assert_string_equal(text, "{\"limits\":{\"memory\":\"1g\"}}");
    free(text);
    json_decref(body);
}

static void test_nearest(void **state)
{
    struct nearest nearest = {.written = "memroy"};
    (void)state;
    nearest_offer(&nearest, "disk", 4);
    assert_string_equal(nearest.name, "");
    nearest_offer(&nearest, "memory", 6);
    nearest_offer(&nearest, "memo", 4);
    assert_string_equal(nearest.name, "memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoding),
        cmocka_unit_test(test_query),
        cmocka_unit_test(test_body),
        cmocka_unit_test(test_what_two_readers_could_read_differently),
        cmocka_unit_test(test_fields_of_a_spec),
        cmocka_unit_test(test_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
