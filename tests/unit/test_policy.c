/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>

#include "core/field.h"
#include "core/policy.h"
#include "util/own.h"

static struct policy_file *read_policy(const char *text)
{
    struct policy_file *file = NULL;
    struct hutch_error err;
    assert_fine(policy_file_parse("p.yml", text, strlen(text), HUTCH_FORMAT_YAML, &file, &err),
                &err);
    return file;
}

static void refuse_policy(const char *text, const char *message)
{
    struct policy_file *file = NULL;
    struct hutch_error err;
    assert_refused(policy_file_parse("p.yml", text, strlen(text), HUTCH_FORMAT_YAML, &file, &err),
                   &err, message);
    assert_null(file);
}

/* One file or two, a spec by pairs of field and text, and what becomes of it. */
struct trial {
    struct policy_file *files[POLICY_FILES];
    struct policy_view view;
    struct hutch_spec *spec;
    struct hutch_spec_over over;
    struct hutch_strlist told;
    struct hutch_error err;
};

static int decide(struct trial *trial, const char *first, const char *second, uint32_t uid,
                  const char *const *pairs)
{
    const struct policy_subject subject = {.uid = uid};
    memset(trial, 0, sizeof(*trial));
    trial->files[0] = first ? read_policy(first) : NULL;
    trial->files[1] = second ? read_policy(second) : NULL;
    assert_fine(policy_view_init(&trial->view, trial->files, &subject, &trial->err), &trial->err);
    assert_fine(hutch_spec_new(&trial->spec, &trial->err), &trial->err);
    for (; pairs && *pairs; pairs += 2)
        assert_fine(hutch_spec_set(trial->spec, pairs[0], pairs[1], &trial->err), &trial->err);
    hutch_spec_over_init(&trial->over, trial->spec);
    const struct policy_request request = {&trial->over, trial->spec->set_fields, HUTCH_USE_RUN,
                                           &trial->told};
    return policy_decide(&trial->view, &request, &trial->err);
}

static void trial_done(struct trial *trial)
{
    hutch_spec_over_done(&trial->over);
    hutch_spec_free(trial->spec);
    hutch_strlist_done(&trial->told);
    policy_file_free(trial->files[0]);
    policy_file_free(trial->files[1]);
}

#define WITH(...)         \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }
#define WITH_NOTHING      \
    (const char *const[]) \
    {                     \
        NULL              \
    }

static void what_is_no_policy_is_refused_with_its_line(void **state)
{
    (void)state;
    refuse_policy("on_exceed: refuse\nimage: []",
                  "policy 'p.yml': line 2: unknown key 'image', did you mean 'images'?");
    refuse_policy(
        "ceilings: {limits: {memory: 1}}",
        "policy 'p.yml': line 1: ceilings: limits.memory: '1' is too little, the least is "
        "'4m'");
    refuse_policy("images:",
                  "policy 'p.yml': line 1: 'images' has no value; write one, such as [] for a list "
                  "that allows nothing, or leave the key out");
    refuse_policy(
        "defaults: {limits: {memory: none}}",
        "policy 'p.yml': line 1: defaults: limits.memory cannot be 'none', write a limit");
    refuse_policy("ceilings: {name: x}", "policy 'p.yml': line 1: ceilings: 'name' is not a limit");
    refuse_policy("egress: []",
                  "policy 'p.yml': line 1: egress: a list stands where an object must be");
    refuse_policy("tenants: {A: {}}",
                  "policy 'p.yml': line 1: tenant 'A': 'A' is not a name, write 1 to 63 of a-z 0-9 "
                  "_ . - beginning with a letter or a digit, such as 'build-1'");
    refuse_policy("tenants: {a: {uids: [-1]}}",
                  "policy 'p.yml': line 1: tenant 'a': uids: entry 1: a uid must be a number such "
                  "as 1000");
    refuse_policy("tenants: {a: {tenants: {}}}",
                  "policy 'p.yml': line 1: tenant 'a': 'tenants' stands only at the top of the "
                  "file");
    refuse_policy("ceilings: {limits.memory: 1g}",
                  "policy 'p.yml': line 1: ceilings: 'limits.memory' is one key, write 'memory' as "
                  "a key inside 'limits'");
    refuse_policy(
        "egress.hosts: []",
        "policy 'p.yml': line 1: 'egress.hosts' is one key, write 'hosts' as a key inside "
        "'egress'");
    refuse_policy("secrets: [{delivery: [edge]}]",
                  "policy 'p.yml': line 1: secrets: entry 1: 'name' is missing");
}

/* Over the whole table, so that a limit that is added is held too. */
static void every_limit_of_the_table_can_have_a_ceiling(void **state)
{
    size_t count = 0, limits = 0;
    const struct hutch_field *fields = hutch_fields(&count);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        enum hutch_type type = hutch_field_row(i)->type;
        if (type < HUTCH_TYPE_SIZE || type > HUTCH_TYPE_COUNT)
            continue;
        limits++;
        const char *dot = strchr(fields[i].name, '.');
        char text[200], value[HUTCH_QUANTITY_TEXT_SIZE], above[HUTCH_QUANTITY_TEXT_SIZE];
        uint64_t least = hutch_field_row(i)->min;
        enum hutch_quantity quantity = hutch_field_types[type].quantity;
        hutch_quantity_format(quantity, least, value);
        hutch_quantity_format(quantity, least + 1, above);
        if (dot)
            (void)snprintf(text, sizeof(text), "ceilings: {%.*s: {%s: %s}}",
                           (int)(dot - fields[i].name), fields[i].name, dot + 1, value);
        else
            (void)snprintf(text, sizeof(text), "ceilings: {%s: %s}", fields[i].name, value);
        struct trial trial;
        enum hutch_use use = fields[i].uses & HUTCH_USE_RUN ? HUTCH_USE_RUN : HUTCH_USE_CREATE;
        (void)decide(&trial, text, NULL, 0, WITH("egress", "a.example", fields[i].name, above));
        const struct policy_request request = {&trial.over, trial.spec->set_fields, use, NULL};
        assert_int_equal(policy_decide_limits(&trial.view, &request, &trial.err),
                         -HUTCH_E_PERMISSION);
        assert_non_null(strstr(trial.err.msg, fields[i].name));
        assert_non_null(strstr(trial.err.msg, "p.yml:1"));
        trial_done(&trial);
    }
    assert_true(limits >= 16);
}

static void defaults_and_ceilings_of_two_files(void **state)
{
    struct trial trial;
    static const char host[] = "defaults: {limits: {pids: 70}}\nceilings: {limits: {pids: 100}}";
    (void)state;
    assert_int_equal(decide(&trial, host, "defaults: {limits: {pids: 60}}", 0, WITH_NOTHING), 0);
    assert_int_equal(trial.over.spec.limits.pids, 60);
    trial_done(&trial);
    /* a caller's default beyond the host's ceiling is held */
    assert_int_equal(decide(&trial, host, "defaults: {limits: {pids: 600}}", 0, WITH_NOTHING), 0);
    assert_int_equal(trial.over.spec.limits.pids, 100);
    trial_done(&trial);
    /* a caller's ceiling above it opens nothing, nor does a tenant of the caller's file */
    assert_int_equal(
        decide(&trial, host, "ceilings: {limits: {pids: none}}", 0, WITH("limits.pids", "101")),
        -HUTCH_E_PERMISSION);
    trial_done(&trial);
    assert_int_equal(
        decide(&trial, host, "ceilings: {limits: {pids: 50}}", 0, WITH("limits.pids", "51")),
        -HUTCH_E_PERMISSION);
    trial_done(&trial);
    /* the spec below is as it was */
    assert_int_equal(decide(&trial, "on_exceed: clamp\nceilings: {limits: {pids: 5}}", NULL, 0,
                            WITH("limits.pids", "9")),
                     0);
    assert_int_equal(trial.over.spec.limits.pids, 5);
    assert_int_equal(trial.spec->limits.pids, 9);
    assert_int_equal(trial.told.count, 1);
    hutch_spec_over_commit(&trial.over, trial.spec);
    assert_int_equal(trial.spec->limits.pids, 5);
    trial_done(&trial);
}

static void a_tenant_is_its_uid_or_its_name(void **state)
{
    static const char text[] = "ceilings: {limits: {pids: 10}}\n"
                               "tenants:\n"
                               "  a: {uids: [1, 2], ceilings: {limits: {pids: 20}}}\n"
                               "  b: {ceilings: {limits: {pids: 30}}}\n";
    static const struct {
        struct policy_subject subject;
        const char *tenant;
        uint64_t most;
    } cases[] = {
        {{NULL, 0}, NULL, 10}, {{NULL, 2}, "a", 20}, {{"b", 2}, "b", 30}, {{"a", 0}, "a", 20}};
    struct policy_file *files[POLICY_FILES] = {read_policy(text), NULL};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct policy_view view;
    size_t pids = (size_t)hutch_field_find("limits.pids");
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        assert_fine(policy_view_init(&view, files, &cases[i].subject, &err), &err);
        assert_int_equal(policy_ceiling(&view.layers[0], pids)->value, cases[i].most);
        if (cases[i].tenant)
            assert_string_equal(view.tenant, cases[i].tenant);
        else
            assert_null(view.tenant);
    }
    const struct policy_subject nobody = {"c", 1};
    assert_int_equal(policy_view_init(&view, files, &nobody, &err), -HUTCH_E_PERMISSION);
    policy_file_free(files[0]);
}

static void stars_stay_in_their_part(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"a*c", "abc", true},
        {"a*c", "a/c", false},
        {"a**c", "a/b/c", true},
        {"*", "", true},
        {"*", "a/b", false},
        {"**", "a/b", true},
        {"**/a*", "x/ab/ac", true},
        {"a/*/c", "a/b/c", true},
        {"a/*/c", "a/b/b/c", false},
        {"**/b/*", "a/b/b/c", true},
        {"*a*b*", "xaxbx", true},
        {"*a*b*", "xbxax", false},
        {"a", "ab", false},
        {"ab", "a", false},
        {"**a*b/**", "x/a/ab/y", true},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++)
        if (policy_glob(cases[i].pattern, cases[i].text, "/") != cases[i].matches)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].text);
}

static void images_match_by_name_tag_and_digest(void **state)
{
    static const char d1[] =
        "sha256:1111111111111111111111111111111111111111111111111111111111111111";
    static const char d2[] =
        "sha256:2222222222222222222222222222222222222222222222222222222222222222";
    static const char py[] = "docker.io/library/python";
    (void)state;
    assert_true(policy_image_matches("python", py, "latest", NULL));
    assert_false(policy_image_matches("python", py, "3", NULL));
    assert_false(policy_image_matches("python", py, NULL, d1));
    assert_true(policy_image_matches("python:*", py, NULL, d1));
    assert_false(policy_image_matches("python:3.*", py, NULL, d1));
    assert_true(policy_image_matches("python:3.*", py, "3.11", d1));
    assert_true(policy_image_matches(d1, py, "3", d1));
    assert_false(policy_image_matches(d1, py, "3", d2));
    assert_false(policy_image_matches(d1, py, "3", NULL));
    assert_false(policy_image_matches("user/*", "docker.io/library/python", "1", NULL));
    assert_true(policy_image_matches("user/*", "docker.io/user/x", "1", NULL));
    assert_true(policy_image_matches("**", "docker.io/user/x", "1", NULL));
    assert_false(policy_image_matches("*.io/x", "evil.com/a.io/x", "latest", NULL));
    assert_false(policy_image_matches("a.io/x", "a.io.evil.com/x", "latest", NULL));
}

static void totals_hold_to_the_last_unit(void **state)
{
    struct trial trial;
    uint64_t used[POLICY_TOTAL_COUNT] = {0};
    (void)state;
    assert_int_equal(decide(&trial, "totals: {memory: 1g, sandboxes: 3}", NULL, 0,
                            WITH("limits.memory", "512m")),
                     0);
    assert_true(policy_has_totals(&trial.view));
    policy_add_up(used, trial.spec);
    assert_fine(policy_check_totals(&trial.view, used, trial.spec, &trial.err), &trial.err);
    used[POLICY_TOTAL_MEMORY]++;
    assert_int_equal(policy_check_totals(&trial.view, used, trial.spec, &trial.err),
                     -HUTCH_E_PERMISSION);
    used[POLICY_TOTAL_MEMORY] = UINT64_MAX; /* what cannot be added up is too much */
    assert_int_equal(policy_check_totals(&trial.view, used, trial.spec, &trial.err),
                     -HUTCH_E_PERMISSION);
    trial_done(&trial);
}

static void a_callers_file_opens_no_network_and_stops_no_record(void **state)
{
    struct trial trial;
    (void)state;
    static const char host[] = "egress: {ranges: [10.0.0.0/8], proxy: 'http://10.0.0.1:1'}\n"
                               "audit: {argv: digest}";
    assert_int_equal(decide(&trial, host,
                            "egress: {ranges: [10.1.0.0/16, 192.168.0.0/16]}\naudit: off", 0,
                            WITH("egress", "a.example")),
                     0);
    const struct hutch_egress_policy *given = &trial.over.spec.egress_policy;
    assert_int_equal(given->opened.count, 1);
    assert_string_equal(given->opened.items[0], "10.1.0.0/16");
    assert_string_equal(given->proxy, "http://10.0.0.1:1");
    struct policy_audit audit = policy_audit(&trial.view);
    assert_false(audit.is_off);
    assert_true(audit.argv_is_digest);
    trial_done(&trial);
    /* the host's file says nothing of ranges: none are open */
    assert_int_equal(decide(&trial, "backends: [native]", "egress: {ranges: [10.0.0.0/8]}", 0,
                            WITH("egress", "a.example")),
                     0);
    assert_int_equal(trial.over.spec.egress_policy.opened.count, 0);
    trial_done(&trial);
    /* through a proxy of its own a caller would reach anything */
    assert_int_equal(decide(&trial, host, "egress: {proxy: 'http://10.9.9.9:1'}", 0,
                            WITH("egress", "a.example")),
                     -HUTCH_E_PERMISSION);
    trial_done(&trial);
}

static void a_host_is_allowed_port_by_port(void **state)
{
    static const char hosts[] = "egress: {hosts: ['a.test:80', 'a.test:443', '*.b.test:443',"
                                " 'x.b.test:80', '*.c.test:80', '*.d.c.test:443']}";
    static const struct {
        const char *rule;
        const char *left; /* where the policy clamps; NULL: nothing */
    } cases[] = {
        {"a.test", "a.test"},
        {"A.test:443,80", "A.test:443,80"},
        {"a.test:80,22", "a.test:80"},
        {"a.test:22", NULL},
        {"x.b.test", "x.b.test"},
        {"y.b.test", "y.b.test:443"},
        {"*.d.c.test", "*.d.c.test"},
        {"*.c.test", "*.c.test:80"},
        {"*.b.test:443,80", "*.b.test:443"},
        {"*.a.test", NULL},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        struct trial trial;
        bool is_whole = cases[i].left && !strcmp(cases[i].left, cases[i].rule);
        int r = decide(&trial, hosts, NULL, 0, WITH("egress", cases[i].rule));
        if (r != (is_whole ? 0 : -HUTCH_E_PERMISSION))
            fail_msg("'%s': %s", cases[i].rule, trial.err.msg);
        trial_done(&trial);
        char clamping[sizeof(hosts) + 32];
        (void)snprintf(clamping, sizeof(clamping), "on_exceed: clamp\n%s", hosts);
        assert_int_equal(decide(&trial, clamping, NULL, 0, WITH("egress", cases[i].rule)), 0);
        assert_int_equal(trial.over.spec.egress.count, cases[i].left ? 1 : 0);
        if (cases[i].left)
            assert_string_equal(trial.over.spec.egress.items[0], cases[i].left);
        assert_int_equal(trial.told.count, is_whole ? 0 : 1);
        trial_done(&trial);
    }
}

static void secrets_are_allowed_by_name_and_delivery(void **state)
{
    static const char text[] = "secrets: [db-*, {name: api, delivery: [edge, file]}]";
    static const struct {
        const char *secret;
        bool allowed;
    } cases[] = {
        {"db-a", true},       {"db-a:file", true}, {"api:file", true},
        {"api", false},       {"db", false},       {"api:edge=a.example:X: {}", true},
        {"api:env=X", false}, {"xdb-a", false},    {"db-a:edge=a.example:X: {}", true},
    };
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(cases); i++) {
        struct trial trial;
        int r =
            decide(&trial, text, NULL, 0, WITH("egress", "a.example", "secrets", cases[i].secret));
        if (r != (cases[i].allowed ? 0 : -HUTCH_E_PERMISSION))
            fail_msg("'%s': %s", cases[i].secret, trial.err.msg);
        trial_done(&trial);
    }
}

/* As long as a spec takes them, and with the same letters. */
static void names_of_secrets_are_those_of_a_spec(void **state)
{
#define LETTERS_16 "Abcdefghijklm_.-"
#define LETTERS_64 LETTERS_16 LETTERS_16 LETTERS_16 LETTERS_16
    struct trial trial;
    (void)state;
    assert_int_equal(
        decide(&trial, "secrets: [" LETTERS_64 "]", NULL, 0, WITH("secrets", LETTERS_64 ":file")),
        0);
    trial_done(&trial);
    refuse_policy("secrets: [" LETTERS_64 "a]",
                  "policy 'p.yml': line 1: secrets: entry 1: '" LETTERS_64
                  "a' is not the name of a secret, write it like 'api-key' or 'team-*'");
    policy_file_free(read_policy("secrets: ['*', '*-key', 'a*b*']"));
    static const char host[] = "egress: {proxy: 'http://10.0.0.1:1', proxy_secret: A-key}";
    assert_int_equal(decide(&trial, host, NULL, 0, WITH("egress", "a.example")), 0);
    assert_string_equal(trial.over.spec.egress_policy.login, "A-key");
    trial_done(&trial);
    refuse_policy("egress: {proxy_secret: 'a*'}",
                  "policy 'p.yml': line 1: egress.proxy_secret: 'a*' is not the name of a secret, "
                  "use up to 64 letters, digits, '.', '_' and '-'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_policy_is_refused_with_its_line),
        cmocka_unit_test(every_limit_of_the_table_can_have_a_ceiling),
        cmocka_unit_test(defaults_and_ceilings_of_two_files),
        cmocka_unit_test(a_tenant_is_its_uid_or_its_name),
        cmocka_unit_test(stars_stay_in_their_part),
        cmocka_unit_test(images_match_by_name_tag_and_digest),
        cmocka_unit_test(totals_hold_to_the_last_unit),
        cmocka_unit_test(a_callers_file_opens_no_network_and_stops_no_record),
        cmocka_unit_test(a_host_is_allowed_port_by_port),
        cmocka_unit_test(secrets_are_allowed_by_name_and_delivery),
        cmocka_unit_test(names_of_secrets_are_those_of_a_spec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
