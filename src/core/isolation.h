/* SPDX-License-Identifier: Apache-2.0 */
/* Which wall stands around a sandbox. A spec may name the backend, the runtime of one, or only how
 * strong the wall must be; what it leaves open follows from what it says. */
#ifndef HUTCH_CORE_ISOLATION_H
#define HUTCH_CORE_ISOLATION_H

#include "core/spec.h"

/* What is to run it: as asked for, or as runtime or isolation want it. */
const char *hutch_spec_backend(const struct hutch_spec *spec);
/* Of backend oci; NULL: the usual one. */
const char *hutch_spec_runtime(const struct hutch_spec *spec);
/* How results name the wall: "namespaces", "container" or "gvisor". */
const char *hutch_spec_level(const struct hutch_spec *spec);
/* Refuses what contradicts itself. */
HUTCH_MUST_CHECK int hutch_spec_check_isolation(const struct hutch_spec *spec,
                                                struct hutch_error *err);

/* A name of a backend or a level that came from elsewhere, as one that lasts; the first of them
 * when it is none. */
const char *hutch_backend_name(const char *name);
const char *hutch_level_name(const char *name);

#endif
