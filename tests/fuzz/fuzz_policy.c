/* SPDX-License-Identifier: Apache-2.0 */
/* A document is a policy or is refused with its line; and what a policy has decided once it allows
 * again: under its own rules nothing changes any more. The first byte says which format it is and
 * whose rules hold. */
#include "core/policy.h"
#include "fuzz.h"

static void decide(struct policy_file *file, uint32_t uid)
{
    struct policy_file *const files[POLICY_FILES] = {file, NULL};
    const struct policy_subject subject = {.uid = uid};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = fuzz_spec_new();
    struct hutch_spec_over over, again;
    struct policy_view view;
    REQUIRE(policy_view_init(&view, files, &subject, &err) == 0, "%s", err.msg);
    (void)!hutch_spec_set(spec, "egress", "www.example.com", &err);
    hutch_spec_over_init(&over, spec);
    const struct policy_request request = {&over, spec->set_fields, HUTCH_USE_RUN, NULL};
    int r = policy_decide(&view, &request, &err);
    REQUIRE(r == 0 || r == -HUTCH_E_PERMISSION, "%d: %s", r, err.msg);
    if (r < 0) {
        REQUIRE(strstr(err.msg, "rule '"), "%s", err.msg);
    } else {
        hutch_spec_over_init(&again, &over.spec);
        const struct policy_request once_more = {&again, over.spec.set_fields, HUTCH_USE_RUN, NULL};
        REQUIRE(policy_decide(&view, &once_more, &err) == 0, "%s", err.msg);
        REQUIRE(!memcmp(&again.spec.limits, &over.spec.limits, sizeof(over.spec.limits)),
                "decided twice, and differently");
        hutch_spec_over_done(&again);
    }
    (void)!policy_check_image(&view, "docker.io/library/python", "3.11", NULL, &err);
    hutch_spec_over_done(&over);
    hutch_spec_free(spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct policy_file *file = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (!size)
        return 0;
    hutch_autofree char *text = fuzz_text(data + 1, size - 1);
    enum hutch_format format = data[0] & 1 ? HUTCH_FORMAT_YAML : HUTCH_FORMAT_JSON;
    int r = policy_file_parse("p", text, size - 1, format, &file, &err);
    if (r < 0) {
        fuzz_check_failure(r, &err);
        REQUIRE(strstr(err.msg, "policy 'p': "), "%s", err.msg);
        return 0;
    }
    decide(file, data[0] >> 1);
    policy_file_free(file);
    return 0;
}
