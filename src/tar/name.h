/* SPDX-License-Identifier: Apache-2.0 */
/* Names out of an archive, made fit for use beneath a directory. */
#ifndef HUTCH_TAR_NAME_H
#define HUTCH_TAR_NAME_H

#include "tar/format.h"
#include "tar/text.h"

/* In place: no "/" at the front or the end, no empty component, no ".", no "..". What is left is
 * empty when the name is that of the target itself. Returns TAR_FINE, or what is wrong with it. */
enum tar_what tar_name_clean(struct tar_text *name, const struct tar_unpack_options *options);
/* One component that names something. */
bool tar_name_is_component(const char *name);

#endif
