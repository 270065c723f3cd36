/* SPDX-License-Identifier: Apache-2.0 */
/* Which secrets there are. Their values are nobody's to ask for: a spec names a secret, and the
 * sandbox has its value. */
#ifndef HUTCH_SECRET_H
#define HUTCH_SECRET_H

#include "hutch/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hutch_secret_info {
    const char *name;
    const char *provider; /* "file", "env", "command" or "directory" */
    const char *source;   /* the file, the variable, the program, the directory */
    const char *config;   /* the file that says so; NULL: a directory that was named by itself */
};

/* What is borrowed lives as long as the call. Stops when it returns other than 0. */
typedef int (*hutch_secret_fn)(void *userdata, const struct hutch_secret_info *secret);

/* Every secret that the providers have, each once. Returns what on_secret returned last. */
HUTCH_API HUTCH_MUST_CHECK int hutch_secret_list(hutch_secret_fn on_secret, void *userdata,
                                                 struct hutch_error *err);

#ifdef __cplusplus
}
#endif
#endif
