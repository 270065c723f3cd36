/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for named sandboxes in the small program, which hands such calls over to the complete
 * one (handover.c). */
#include "hutch/named.h"
#include "util/error.h"

static int fail_small(struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0, "this program has no named sandboxes");
}

int hutch_named_apply(struct hutch_spec *spec, const char *name,
                      const struct hutch_named_options *options, struct hutch_error *err)
{
    (void)spec;
    (void)name;
    (void)options;
    return fail_small(err);
}

int hutch_named_build(struct hutch_spec *spec, const char *name,
                      const struct hutch_named_options *options, struct hutch_error *err)
{
    (void)spec;
    (void)name;
    (void)options;
    return fail_small(err);
}

int hutch_named_list(const struct hutch_named_options *options, hutch_named_fn on_named,
                     void *userdata, struct hutch_error *err)
{
    (void)options;
    (void)on_named;
    (void)userdata;
    return fail_small(err);
}
