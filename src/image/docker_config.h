/* SPDX-License-Identifier: Apache-2.0 */
/* docker's config.json as a tree, of which we know a few branches and keep the others as they are.
 */
#ifndef HUTCH_IMAGE_DOCKER_CONFIG_H
#define HUTCH_IMAGE_DOCKER_CONFIG_H

#include <stddef.h>

#include "core/value.h"

#define DOCKER_CONFIG_PATH_BYTES 4096
#define DOCKER_SERVER_BYTES 300

struct docker_config {
    char path[DOCKER_CONFIG_PATH_BYTES]; /* empty: nobody says where it would be */
    struct hutch_value root;             /* an object; an empty one when there is no file */
    int lock;                            /* held until it is done, by who wants to write it */
};

int docker_config_load(struct docker_config *ret_config, bool to_write,
                       struct hutch_error *err) HUTCH_MUST_CHECK;
/* In one step, readable by its owner alone. */
int docker_config_save(const struct docker_config *config,
                       struct hutch_error *err) HUTCH_MUST_CHECK;
void docker_config_done(struct docker_config *config);

/* The name under which docker knows a registry. */
void docker_server_name(const char *registry, char ret_server[DOCKER_SERVER_BYTES]);
/* The entry of an object whose key names the registry in one of the ways there are: with or without
 * a scheme, with a path. NULL: none. */
const struct hutch_value *docker_entry(const struct hutch_value *object, const char *registry);
/* The helper that keeps this registry's login; NULL: it is in the file itself. Borrowed. */
const char *docker_helper(const struct docker_config *config, const char *registry);

/* Makes the object a member of the root when it is missing; NULL: out of memory, or it is something
 * else. */
struct hutch_value *docker_object(struct hutch_value *parent, const char *key);
int docker_set_text(struct hutch_value *object, const char *key, const char *text,
                    struct hutch_error *err) HUTCH_MUST_CHECK;
void docker_remove(struct hutch_value *object, const struct hutch_value *member);

#endif
