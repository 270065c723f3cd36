/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for the reader of YAML in the small program, which hands calls whose document may be
 * YAML over to the complete one (handover.c). */
#include "core/document.h"

int hutch_yaml_parse(const char *text, size_t length, struct hutch_value *ret_value,
                     struct hutch_error *err)
{
    (void)text;
    (void)length;
    (void)ret_value;
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                      "this program reads no YAML, give the document as JSON in a file that ends "
                      "in '.json'");
}
