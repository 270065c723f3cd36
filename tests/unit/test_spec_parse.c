/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "core/map.h"
#include "core/spec.h"

static int setup(void **state)
{
    struct hutch_spec *spec = NULL;
    struct hutch_error err;
    int r = hutch_spec_new(&spec, &err);
    *state = spec;
    return r;
}

static int teardown(void **state)
{
    hutch_spec_free(*state);
    return 0;
}

static void parse(struct hutch_spec *spec, enum hutch_format format, const char *text)
{
    struct hutch_error err;
    assert_fine(hutch_spec_parse(spec, text, strlen(text), format, &err), &err);
}

static char *json_of(const struct hutch_spec *spec)
{
    struct hutch_error err;
    char *json = NULL;
    assert_fine(hutch_spec_to_json(spec, &json, &err), &err);
    return json;
}

static const char everything[] =
    "{\"command\": [\"sh\", \"-c\", \"echo \\\"\\u00fc\\n\\\"\", \"\"],"
    " \"name\": \"n\", \"backend\": \"oci\", \"runtime\": \"runsc\", \"isolation\": \"gvisor\", "
    "\"rootfs\": \"/r\", \"image\": \"i:1\", \"pull\": "
    "\"never\","
    " \"entrypoint\": [\"e\"], \"hostname\": \"h\","
    " \"user\": \"1000:1000\", \"workdir\": \"/w/\", \"artifacts\": \"out\","
    " \"workspace\": {\"path\": \"a:b\", \"mode\": \"overlay\"},"
    " \"mounts\": [\"/a:/b:ro\", {\"source\": \"c:d\", \"target\": \"/e:f/\"},"
    "  {\"source\": \"g\", \"target\": \"/h\", \"read_only\": true}],"
    " \"tmpfs\": [\"/t\", {\"target\": \"/u:1\", \"size\": \"1m\"}, {\"target\": \"/v\","
    "  \"size\": 8192}], \"read_only\": true,"
    " \"env\": {\"B\": \"2\", \"A\": \"\", \"N\": 7}, \"pass_env\": [\"LANG\"],"
    " \"env_files\": [\"x.env\"], \"secrets\": [\"key\", {\"name\": \"k2\", \"file\": \"/f\"}],"
    " \"redact\": true, \"labels\": {\"k\": \"v\"},"
    " \"allow_missing\": [\"memory\", \"all\"],"
    " \"limits\": {\"memory\": \"1g\", \"cpus\": 1.5, \"pids\": 12, \"disk\": 1048576,"
    "  \"inodes\": \"200\", \"timeout\": 2.5, \"idle_timeout\": \"1500ms\", \"output\": 0,"
    "  \"output_max\": \"2m\", \"open_files\": 64, \"log\": \"1m\"},"
    " \"egress\": [\"a.example\", \"*.b.example:5432\"],"
    " \"egress_limits\": {\"connections\": 3, \"bytes\": \"1g\", \"rate\": \"1m\"},"
    " \"egress_policy\": {\"opened\": [\"10.0.0.0/8\"], \"proxy\": \"http://10.0.0.1:3128\","
    "  \"login\": \"proxy\"},"
    " \"policy\": {\"tenant\": \"ci\","
    "  \"hash\": \"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\","
    "  \"audit\": \"digest\"},"
    " \"ttl\": \"1h\", \"max_lifetime\": \"2h\"}";

static void every_field_can_stand_in_a_document(void **state)
{
    struct hutch_spec *spec = *state;
    parse(spec, HUTCH_FORMAT_JSON, everything);
    assert_int_equal(spec->command.count, 4);
    assert_string_equal(spec->command.items[2], "echo \"\xC3\xBC\n\"");
    assert_string_equal(spec->workdir, "/w");
    assert_string_equal(spec->workspace.path, "a:b");
    assert_int_equal(spec->workspace.mode, HUTCH_WORKSPACE_OVERLAY);
    assert_int_equal(spec->mounts.count, 3);
    assert_string_equal(spec->mounts.items[1].source, "c:d");
    assert_string_equal(spec->mounts.items[1].target, "/e:f");
    assert_false(spec->mounts.items[1].read_only);
    assert_true(spec->mounts.items[2].read_only);
    assert_string_equal(spec->tmpfs.items[1].target, "/u:1");
    assert_int_equal(spec->tmpfs.items[1].size_bytes, 1 << 20);
    assert_int_equal(spec->tmpfs.items[2].size_bytes, 8192);
    assert_string_equal(hutch_map_get(&spec->env, "N"), "7");
    assert_int_equal(spec->limits.cpus_milli, 1500);
    assert_int_equal(spec->limits.timeout_ms, 2500);
    assert_int_equal(spec->limits.idle_timeout_ms, 1500);
    assert_int_equal(spec->limits.output_bytes, 0);
    size_t count;
    (void)hutch_fields(&count);
    assert_int_equal(spec->set_fields, (UINT64_C(1) << count) - 1);
}

static void what_is_written_reads_back_the_same(void **state)
{
    struct hutch_spec *spec = *state, *again = NULL;
    struct hutch_error err;
    parse(spec, HUTCH_FORMAT_JSON, everything);
    char *json = json_of(spec);
    assert_fine(hutch_spec_new(&again, &err), &err);
    parse(again, HUTCH_FORMAT_JSON, json);
    assert_int_equal(spec->set_fields, again->set_fields);
    assert_memory_equal(&spec->limits, &again->limits, sizeof(spec->limits));
    char *json_again = json_of(again);
    assert_string_equal(json, json_again);
    free(json);
    free(json_again);
    hutch_spec_free(again);
}

static char *json_set_of(const struct hutch_spec *spec)
{
    struct hutch_error err;
    char *json = NULL;
    assert_fine(hutch_spec_to_json_set(spec, &json, &err), &err);
    return json;
}

/* All fields equal, given or not, and the same ones given. */
static void assert_set_fields_read_back(const struct hutch_spec *spec)
{
    struct hutch_spec *again = NULL;
    struct hutch_error err;
    char *json = json_set_of(spec);
    assert_fine(hutch_spec_new(&again, &err), &err);
    parse(again, HUTCH_FORMAT_JSON, json);
    assert_true(spec->set_fields == again->set_fields);
    assert_memory_equal(&spec->limits, &again->limits, sizeof(spec->limits));
    char *all = json_of(spec), *all_again = json_of(again);
    assert_string_equal(all, all_again);
    char *json_again = json_set_of(again);
    assert_string_equal(json, json_again);
    free(json);
    free(json_again);
    free(all);
    free(all_again);
    hutch_spec_free(again);
}

static void a_spec_of_all_fields_reads_back_with_all_of_them_set(void **state)
{
    parse(*state, HUTCH_FORMAT_JSON, everything);
    assert_set_fields_read_back(*state);
}

/* What the text of a flag could not say, or not in one piece. */
static void awkward_texts_read_back_as_they_were(void **state)
{
    static const char text[] =
        "{\"command\": [\"\", \"a,b:c\", \"\\n\\t\\\"\\\\\", \"\\u0001\\u007f\", "
        "\"\\ud83d\\udc07\", \"null\"],"
        " \"workspace\": {\"path\": \"/a:b,c:ro\", \"mode\": \"copy\"},"
        " \"mounts\": [{\"source\": \"/a:b,c:ro\", \"target\": \"/d:e,f:rw\", \"read_only\": true},"
        "  {\"source\": \"/x y\\n\", \"target\": \"/z\\\"\"}],"
        " \"tmpfs\": [{\"target\": \"/t:64m,x\", \"size\": 4096}, \"/u\"],"
        " \"env\": {\"LINES\": \"one\\ntwo\\r\\n\", \"EMPTY\": \"\", \"A B\": \"=x=\", "
        "\"\\u00e9\": \"7\"},"
        " \"labels\": {\"a:b\": \"c,d=e \\u00e9\", \"n\": \"null\"},"
        " \"env_files\": [\"a:b,c\", \"d\\ne\"], \"rootfs\": \"/r:o,o\\nt\", \"artifacts\": "
        "\"a:b,c\"}";
    const struct hutch_spec *spec = *state;
    parse(*state, HUTCH_FORMAT_JSON, text);
    assert_string_equal(hutch_map_get(&spec->env, "LINES"), "one\ntwo\r\n");
    assert_set_fields_read_back(spec);
}

static void only_what_was_given_is_written_as_set(void **state)
{
    struct hutch_spec *spec = *state;
    struct hutch_error err;
    char *json = json_set_of(spec);
    assert_string_equal(json, "{}");
    free(json);
    assert_set_fields_read_back(spec);
    assert_fine(hutch_spec_set(spec, "limits.pids", "256", &err),
                &err); /* the default, but given */
    assert_fine(hutch_spec_set(spec, "name", "n", &err), &err);
    assert_fine(hutch_spec_set(spec, "limits.cpus", "0.5", &err), &err);
    json = json_set_of(spec);
    assert_string_equal(json, "{\"name\":\"n\",\"limits\":{\"cpus\":\"0.5\",\"pids\":256}}");
    free(json);
    assert_set_fields_read_back(spec);
}

/* Each by itself, at its default where it has one. */
static void each_field_reads_back_by_itself(void **state)
{
    static const char *const others[] = {
        "/a:/b",
        "/a",
        "A=1",
        "memory",
        "1000",
        "gvisor",
        "a.example",
        "10.0.0.0/8",
        "http://10.0.0.1:1",
        "true",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"};
    size_t count = 0;
    const struct hutch_field *fields = hutch_fields(&count);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct hutch_spec *spec = NULL;
        struct hutch_error err;
        size_t other = 0;
        assert_fine(hutch_spec_new(&spec, &err), &err);
        if (fields[i].default_text)
            assert_fine(hutch_spec_set(spec, fields[i].name, fields[i].default_text, &err), &err);
        while (!hutch_spec_is_set(spec, fields[i].name) && other < sizeof(others) / sizeof(*others))
            (void)!hutch_spec_set(spec, fields[i].name, others[other++], &err);
        assert_true(spec->set_fields == UINT64_C(1) << i);
        assert_set_fields_read_back(spec);
        hutch_spec_free(spec);
    }
}

/* null would bring the default back, and an empty list is not the same as none given. */
static void none_and_empty_lists_read_back_as_given(void **state)
{
    struct hutch_spec *spec = *state;
    parse(spec, HUTCH_FORMAT_JSON,
          "{\"command\": [], \"mounts\": [], \"tmpfs\": [], \"env\": {}, \"labels\": {},"
          " \"allow_missing\": [], \"limits\": {\"idle_timeout\": \"none\", \"output_max\": 0}}");
    char *json = json_set_of(spec);
    assert_string_equal(json, "{\"command\":[],\"mounts\":[],\"tmpfs\":[],\"env\":{},\"labels\":{},"
                              "\"allow_missing\":[],"
                              "\"limits\":{\"idle_timeout\":\"none\",\"output_max\":\"none\"}}");
    free(json);
    assert_true(hutch_spec_is_set(spec, "limits.output_max"));
    assert_set_fields_read_back(spec);
}

static void a_spec_too_large_to_be_read_again_is_not_written_as_set(void **state)
{
    struct hutch_error err;
    char *json = NULL;
    size_t length = 1 << 20;
    char *text = malloc(length + 1);
    assert_non_null(text);
    memset(text, '\1', length); /* six bytes each when escaped */
    text[length] = '\0';
    assert_fine(hutch_spec_set(*state, "command", text, &err), &err);
    assert_refused(hutch_spec_to_json_set(*state, &json, &err), &err,
                   "the document has 6291472 bytes, the most is 4194304");
    assert_null(json);
    free(text);
}

/* JSON is YAML too. */
static void what_is_written_reads_back_as_yaml(void **state)
{
    struct hutch_spec *spec = *state, *again = NULL;
    struct hutch_error err;
    parse(spec, HUTCH_FORMAT_JSON, everything);
    char *json = json_of(spec);
    assert_fine(hutch_spec_new(&again, &err), &err);
    parse(again, HUTCH_FORMAT_YAML, json);
    char *json_again = json_of(again);
    assert_string_equal(json, json_again);
    free(json);
    free(json_again);
    hutch_spec_free(again);
}

static void the_default_spec_is_written_in_full(void **state)
{
    char *json = json_of(*state);
    assert_string_equal(
        json, "{\"command\":[],\"name\":null,\"backend\":\"native\",\"runtime\":null,\"isolation\":"
              "null,\"rootfs\":null,"
              "\"image\":null,\"pull\":\"missing\",\"entrypoint\":[],"
              "\"hostname\":\"hutch\",\"user\":null,\"workdir\":null,\"artifacts\":null,"
              "\"workspace\":null,\"mounts\":[],\"tmpfs\":[],\"read_only\":false,\"env\":{},\"pass_"
              "env\":[],"
              "\"env_files\":[],\"secrets\":[],\"redact\":false,\"labels\":{},\"allow_missing\":[],"
              "\"limits\":{\"memory\":536870912,\"cpus\":\"1\",\"pids\":256,\"disk\":268435456,"
              "\"inodes\":100000,\"timeout\":\"5m\",\"idle_timeout\":null,\"output\":1048576,"
              "\"output_max\":null,\"open_files\":1024,\"log\":2147483648},"
              "\"egress\":[],\"egress_limits\":{\"connections\":256,\"bytes\":null,\"rate\":null},"
              "\"egress_policy\":{\"opened\":[],\"proxy\":null,\"login\":null},"
              "\"policy\":{\"tenant\":null,\"hash\":null,\"audit\":null},"
              "\"ttl\":null,\"max_lifetime\":null}");
    free(json);
}

static void yaml_as_people_write_it(void **state)
{
    struct hutch_spec *spec = *state;
    parse(spec, HUTCH_FORMAT_YAML,
          "command: [python3, -c, 'print(6*7)']\n"
          "user: 1000\n"
          "workspace: .:overlay\n"
          "mounts:\n"
          "  - /srv/data:/data:ro\n"
          "  - source: /srv/cache\n"
          "    target: /cache\n"
          "env:\n"
          "  PORT: 8080\n"
          "  ZIP: 01234\n"
          "  DEBUG: 'true'\n"
          "limits:\n"
          "  memory: 1g\n"
          "  cpus: 1.5\n"
          "  timeout: 30\n"
          "  idle_timeout: none\n");
    assert_string_equal(spec->command.items[2], "print(6*7)");
    assert_string_equal(spec->user, "1000");
    assert_int_equal(spec->workspace.mode, HUTCH_WORKSPACE_OVERLAY);
    assert_string_equal(spec->mounts.items[1].target, "/cache");
    assert_string_equal(hutch_map_get(&spec->env, "PORT"), "8080");
    assert_string_equal(hutch_map_get(&spec->env, "ZIP"), "01234");
    assert_string_equal(hutch_map_get(&spec->env, "DEBUG"), "true");
    assert_int_equal(spec->limits.cpus_milli, 1500);
    assert_int_equal(spec->limits.timeout_ms, 30000);
}

static void null_brings_the_default_back(void **state)
{
    struct hutch_spec *spec = *state;
    parse(spec, HUTCH_FORMAT_JSON, everything);
    parse(spec, HUTCH_FORMAT_JSON,
          "{\"name\": null, \"hostname\": null, \"workspace\": null, \"env\": null,"
          " \"limits\": {\"memory\": null, \"idle_timeout\": null}}");
    assert_null(spec->name);
    assert_string_equal(spec->hostname, "hutch");
    assert_null(spec->workspace.path);
    assert_int_equal(spec->env.count, 0);
    assert_int_equal(spec->limits.memory_bytes, UINT64_C(512) << 20);
    assert_int_equal(spec->limits.idle_timeout_ms, 0);
    assert_false(hutch_spec_is_set(spec, "limits.memory"));
    assert_int_equal(spec->limits.pids, 12);
    parse(spec, HUTCH_FORMAT_JSON, "{\"limits\": null}");
    assert_int_equal(spec->limits.pids, 12);
}

static void a_document_replaces_lists_and_flags_add_to_them(void **state)
{
    struct hutch_spec *spec = *state;
    struct hutch_error err;
    parse(spec, HUTCH_FORMAT_JSON, "{\"env\": {\"A\": \"1\"}, \"pass_env\": [\"X\", \"Y\"]}");
    parse(spec, HUTCH_FORMAT_JSON, "{\"env\": {\"B\": \"1\"}, \"pass_env\": [\"Z\"]}");
    assert_fine(hutch_spec_set(spec, "env", "C=1", &err), &err);
    assert_int_equal(spec->env.count, 2);
    assert_null(hutch_map_get(&spec->env, "A"));
    assert_int_equal(spec->pass_env.count, 1);
}

struct refused {
    const char *text;
    const char *message;
};

static void assert_all_refused(struct hutch_spec *spec, enum hutch_format format,
                               const struct refused *cases, size_t count)
{
    struct hutch_error err;
    for (size_t i = 0; i < count; i++)
        assert_refused(hutch_spec_parse(spec, cases[i].text, strlen(cases[i].text), format, &err),
                       &err, cases[i].message);
}

static void yaml_messages_carry_the_line(void **state)
{
    static const struct refused cases[] = {
        {"command: [a]\nlimits:\n  memroy: 1g\n",
         "line 3: unknown field 'limits.memroy', did you mean 'limits.memory'?"},
        {"name: a\nmemory: 1g\n", "line 2: unknown field 'memory', did you mean 'limits.memory'?"},
        {"name: a\nlimits:\n  memory: lots\n",
         "line 3: limits.memory: 'lots' is not a size, write it like '512m' or '1.5g'"},
        {"mounts:\n- /a:/b\n- source: /c\n  tarmac: /d\n",
         "line 4: mounts: entry 2: unknown field 'mounts.tarmac'"},
        {"mounts:\n- /a:/b\n- source: /c\n  targte: /d\n",
         "line 4: mounts: entry 2: unknown field 'mounts.targte', did you mean 'mounts.target'?"},
        {"mounts:\n- source: /c\n", "line 2: mounts: entry 1: 'target' is missing, add it to the "
                                    "object"},
        {"env:\n  A: 1\n  B: true\n",
         "line 3: env: 'B': true stands where a string (put it in quotes) must be"},
        {"env:\n  A: 1\n  B: 1.10\n",
         "line 3: env: 'B': a number stands where a string (put it in quotes) must be"},
        {"command:\n- a\n- [b]\n",
         "line 3: command: entry 2: a list stands where a string (put it in quotes) must be"},
    };
    assert_all_refused(*state, HUTCH_FORMAT_YAML, cases, sizeof(cases) / sizeof(cases[0]));
}

static void wrong_documents_are_refused_by_name(void **state)
{
    static const struct refused cases[] = {
        {"{\"limits\": {\"memroy\": 1}}",
         "unknown field 'limits.memroy', did you mean 'limits.memory'?"},
        {"{\"limits.memory\": 1}",
         "'limits.memory' is one key, write 'memory' as a key inside 'limits'"},
        {"{\"limits\": {\"memory.x\": 1}}",
         "unknown field 'limits.memory.x', did you mean 'limits.memory'?"},
        {"{\"limits\": 5}", "limits: a number stands where an object must be"},
        {"{\"limits\": {\"memory\": true}}",
         "limits.memory: true stands where a number or a string must be"},
        {"{\"limits\": {\"memory\": -1}}",
         "limits.memory: '-1' is not a size, write it like '512m' or '1.5g'"},
        {"{\"limits\": {\"memory\": 1e300}}",
         "limits.memory: '1e+300' is too large for a size, write it like '512m' or '1.5g'"},
        {"{\"limits\": {\"pids\": 1.5}}",
         "limits.pids: '1.5' is not a whole number, write it like '256'"},
        {"{\"limits\": {\"memory\": 1}}", "limits.memory: '1' is too little, the least is '4m'"},
        {"{\"command\": \"ls\"}",
         "command: a string stands where a list such as [\"a\", \"b\"] must be"},
        {"{\"env\": [\"A=1\"]}", "env: a list stands where an object of strings must be"},
        {"{\"env\": {\"A=B\": \"\"}}",
         "env: 'A=B' is not a key, leave out the '=' and what follows"},
        {"{\"env\": {\"\": \"\"}}", "env: '' is not a key, write it like 'LANG'"},
        {"{\"name\": {}}", "name: an object stands where a string (put it in quotes) must be"},
        {"{\"workspace\": 5}", "workspace: a number stands where a string or an object must be"},
        {"{\"workspace\": {\"mode\": \"ro\"}}",
         "workspace: 'path' is missing, add it to the object"},
        {"{\"workspace\": {\"path\": \"a\", \"mode\": \"x\"}}",
         "workspace: mode: 'x' is not a mode, write ro, rw, overlay or copy (a path that has a ':' "
         "takes a mode after it, such as 'a:b:rw')"},
        {"{\"workspace\": {\"pth\": \"a\"}}",
         "workspace: unknown field 'workspace.pth', did you mean 'workspace.path'?"},
        {"{\"mounts\": [{\"source\": \"\", \"target\": \"/a\"}]}",
         "mounts: entry 1: source: '' is not a path, write it like '/srv/data' or './data'"},
        {"{\"mounts\": [{\"source\": \"/a\", \"target\": \"/a\", \"read_only\": 1}]}",
         "mounts: entry 1: read_only: a number stands where true or false must be"},
        {"{\"tmpfs\": [{\"target\": \"/a\", \"size\": 0}]}",
         "tmpfs: entry 1: size: '0' is too little, the least is '4k'"},
        {"{\"tmpfs\": [null]}", "tmpfs: entry 1: null stands where a string or an object must be"},
    };
    assert_all_refused(*state, HUTCH_FORMAT_JSON, cases, sizeof(cases) / sizeof(cases[0]));
}

static void a_list_that_is_too_long_is_refused(void **state)
{
    char text[2000] = "{\"tmpfs\": [";
    struct hutch_error err;
    char *at = text + strlen(text);
    for (unsigned i = 0; i < 256; i++)
        at = stpcpy(at, "\"/a\",");
    (void)stpcpy(at - 1, "]}");
    parse(*state, HUTCH_FORMAT_JSON, text);
    assert_refused(hutch_spec_set(*state, "tmpfs", "/b", &err), &err,
                   "tmpfs: more than 256 entries, remove some");
    (void)stpcpy(at - 1, ",\"/a\"]}");
    assert_refused(hutch_spec_parse(*state, text, strlen(text), HUTCH_FORMAT_JSON, &err), &err,
                   "tmpfs: more than 256 entries, remove some");
}

static void a_refused_field_keeps_its_value(void **state)
{
    struct hutch_spec *spec = *state;
    static const char text[] = "{\"env\": {\"B\": \"2\", \"\": \"\"}}";
    parse(spec, HUTCH_FORMAT_JSON, "{\"env\": {\"A\": \"1\"}}");
    assert_int_equal(hutch_spec_parse(spec, text, sizeof(text) - 1, HUTCH_FORMAT_JSON, NULL) < 0,
                     1);
    assert_int_equal(spec->env.count, 1);
    assert_string_equal(hutch_map_get(&spec->env, "A"), "1");
}

static void text_that_is_not_utf8_is_never_written(void **state)
{
    static const char *const cases[][3] = {
        {"env", "A=\xFF", "env: 'A': the text is not UTF-8, so it cannot be written as JSON"},
        {"env", "\xFF=1", "env: a key is not UTF-8, so it cannot be written as JSON"},
        {"command", "\xC3",
         "command: entry 1: the text is not UTF-8, so it cannot be written as "
         "JSON"},
        {"rootfs", "/\xFF", "rootfs: the text is not UTF-8, so it cannot be written as JSON"},
        {"workspace", "/\xFF:ro",
         "workspace: the text is not UTF-8, so it cannot be written as JSON"},
        {"mounts", "/\xFF:/a",
         "mounts: entry 1: the text is not UTF-8, so it cannot be written as JSON"},
        {"tmpfs", "/\xFF",
         "tmpfs: entry 1: the text is not UTF-8, so it cannot be written as JSON"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hutch_spec *spec = NULL;
        struct hutch_error err;
        char *json = NULL;
        assert_fine(hutch_spec_new(&spec, &err), &err);
        assert_fine(hutch_spec_set(spec, cases[i][0], cases[i][1], &err), &err);
        assert_refused(hutch_spec_to_json(spec, &json, &err), &err, cases[i][2]);
        assert_null(json);
        hutch_spec_free(spec);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_field_can_stand_in_a_document),
        TEST(what_is_written_reads_back_the_same),
        TEST(a_spec_of_all_fields_reads_back_with_all_of_them_set),
        TEST(awkward_texts_read_back_as_they_were),
        TEST(only_what_was_given_is_written_as_set),
        TEST(each_field_reads_back_by_itself),
        TEST(none_and_empty_lists_read_back_as_given),
        TEST(a_spec_too_large_to_be_read_again_is_not_written_as_set),
        TEST(what_is_written_reads_back_as_yaml),
        TEST(the_default_spec_is_written_in_full),
        TEST(yaml_as_people_write_it),
        TEST(null_brings_the_default_back),
        TEST(a_document_replaces_lists_and_flags_add_to_them),
        TEST(yaml_messages_carry_the_line),
        TEST(wrong_documents_are_refused_by_name),
        TEST(a_list_that_is_too_long_is_refused),
        TEST(a_refused_field_keeps_its_value),
        TEST(text_that_is_not_utf8_is_never_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
