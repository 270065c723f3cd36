/* SPDX-License-Identifier: Apache-2.0 */
/* Documents by which operators and users configure hutch. Whoever can change one can change what
 * hutch allows, so each must be root's or the caller's, and writable for nobody else; and so must
 * its directory, in which another could be put in its place. */
#ifndef HUTCH_UTIL_CONFIG_FILE_H
#define HUTCH_UTIL_CONFIG_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

#define CONFIG_SYSTEM_DIRECTORY "/etc/hutch"
#define CONFIG_MAX_BYTES (4u << 20)

enum config_place {
    CONFIG_SYSTEM, /* /etc/hutch */
    CONFIG_USER,   /* $XDG_CONFIG_HOME/hutch or ~/.config/hutch */
};

struct config_file {
    char path[PATH_MAX];
    char *text;
    size_t length;
    bool is_json; /* by its name; everything else is YAML */
};

void config_file_done(struct config_file *file);

/* NAME.yml, NAME.yaml or NAME.json of the place: 1 when it is there and was read, 0 when there is
 * none. Two of them are an error: one would be forgotten. */
HUTCH_MUST_CHECK int config_file_find(enum config_place place, const char *name,
                                      struct config_file *ret_file, struct hutch_error *err);
/* A document that somebody named: it must be there. */
HUTCH_MUST_CHECK int config_file_read(const char *path, struct config_file *ret_file,
                                      struct hutch_error *err);

/* For whoever cannot read YAML: is there a document of this name that is not JSON? Reads nothing.
 */
bool config_has_yaml(const char *const *names, size_t count);

#endif
