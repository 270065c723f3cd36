/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "core/isolation.h"

/* NULL: not given. */
static struct hutch_spec *spec_of(const char *backend, const char *runtime, const char *isolation)
{
    const char *const fields[][2] = {
        {"backend", backend}, {"runtime", runtime}, {"isolation", isolation}};
    struct hutch_spec *spec = NULL;
    struct hutch_error err;
    assert_fine(hutch_spec_new(&spec, &err), &err);
    for (size_t i = 0; i < 3; i++)
        if (fields[i][1])
            assert_fine(hutch_spec_set(spec, fields[i][0], fields[i][1], &err), &err);
    return spec;
}

static void what_is_left_open_follows_from_what_is_said(void **state)
{
    static const struct {
        const char *given[3]; /* backend, runtime, isolation */
        const char *backend;
        const char *runtime;
        const char *level;
    } cases[] = {
        {{NULL, NULL, NULL}, "native", NULL, "namespaces"},
        {{"native", NULL, "namespaces"}, "native", NULL, "namespaces"},
        {{"docker", NULL, NULL}, "docker", NULL, "container"},
        {{"docker", NULL, "container"}, "docker", NULL, "container"},
        {{"oci", NULL, NULL}, "oci", NULL, "container"},
        {{"oci", "runc", NULL}, "oci", "runc", "container"},
        {{"oci", "runsc", NULL}, "oci", "runsc", "gvisor"},
        {{NULL, NULL, "namespaces"}, "native", NULL, "namespaces"},
        {{NULL, NULL, "container"}, "oci", NULL, "container"},
        {{NULL, NULL, "gvisor"}, "oci", "runsc", "gvisor"},
        {{"oci", NULL, "gvisor"}, "oci", "runsc", "gvisor"},
        {{NULL, "crun", NULL}, "oci", "crun", "container"},
        {{NULL, "runsc", "gvisor"}, "oci", "runsc", "gvisor"},
    };
    struct hutch_error err;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const *given = cases[i].given;
        struct hutch_spec *spec = spec_of(given[0], given[1], given[2]);
        assert_fine(hutch_spec_check_isolation(spec, &err), &err);
        assert_string_equal(hutch_spec_backend(spec), cases[i].backend);
        assert_string_equal(hutch_spec_level(spec), cases[i].level);
        if (cases[i].runtime)
            assert_string_equal(hutch_spec_runtime(spec), cases[i].runtime);
        else
            assert_null(hutch_spec_runtime(spec));
        hutch_spec_free(spec);
    }
}

static void what_contradicts_itself_is_refused(void **state)
{
    static const struct {
        const char *given[3];
        const char *message;
    } cases[] = {
        {{"native", NULL, "gvisor"},
         "isolation 'gvisor' is not what backend 'native' gives, which is 'namespaces'; leave one "
         "of them"},
        {{"docker", NULL, "namespaces"},
         "isolation 'namespaces' is not what backend 'docker' gives, which is 'container'; leave "
         "one of them"},
        {{"docker", NULL, "gvisor"},
         "isolation 'gvisor' is not what backend 'docker' gives, which is 'container'; leave one "
         "of them"},
        {{NULL, "runc", "gvisor"},
         "isolation 'gvisor' is not what backend 'oci' with runtime 'runc' gives, which is "
         "'container'; leave one of them"},
        {{"oci", "runsc", "container"},
         "isolation 'container' is not what backend 'oci' with runtime 'runsc' gives, which is "
         "'gvisor'; leave one of them"},
        {{NULL, "runc", "namespaces"},
         "runtime 'runc' is for backend 'oci', and the backend is 'native'; leave one of them"},
        {{"native", "runc", NULL},
         "runtime 'runc' is for backend 'oci', and the backend is 'native'; leave one of them"},
        {{"docker", "runc", NULL},
         "runtime 'runc' is for backend 'oci', and the backend is 'docker'; leave one of them"},
    };
    struct hutch_error err;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const *given = cases[i].given;
        struct hutch_spec *spec = spec_of(given[0], given[1], given[2]);
        assert_refused(hutch_spec_check_isolation(spec, &err), &err, cases[i].message);
        hutch_spec_free(spec);
    }
}

static void names_from_elsewhere_become_our_own(void **state)
{
    char docker[] = "docker", gvisor[] = "gvisor";
    (void)state;
    assert_string_equal(hutch_backend_name(docker), "docker");
    assert_ptr_not_equal(hutch_backend_name(docker), docker);
    assert_string_equal(hutch_backend_name("other"), "native");
    assert_string_equal(hutch_backend_name(NULL), "native");
    assert_string_equal(hutch_level_name(gvisor), "gvisor");
    assert_ptr_not_equal(hutch_level_name(gvisor), gvisor);
    assert_string_equal(hutch_level_name(NULL), "namespaces");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_open_follows_from_what_is_said),
        cmocka_unit_test(what_contradicts_itself_is_refused),
        cmocka_unit_test(names_from_elsewhere_become_our_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
