/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/home.h"
#include "core/spec.h"
#include "util/own.h"

int home_parse_spec(const struct home *home, struct hutch_spec **ret_spec, struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    size_t length = 0;
    struct hutch_spec *spec = NULL;
    if (home_read_spec(home, &text, &length, err) < 0 || hutch_spec_new(&spec, err) < 0)
        return -(int)err->code;
    if (hutch_spec_parse(spec, text, length, HUTCH_FORMAT_JSON, err) < 0) {
        hutch_spec_free(spec);
        return -(int)err->code;
    }
    *ret_spec = spec;
    return 0;
}
