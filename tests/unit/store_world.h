/* SPDX-License-Identifier: Apache-2.0 */
/* A store of images for each test, and none after it. */
#ifndef HUTCH_TESTS_STORE_WORLD_H
#define HUTCH_TESTS_STORE_WORLD_H

#include "unit.h"

#include "../image/image_world.h"

static inline int new_world(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    *state = world;
    return world ? world_make(world, "/var/tmp") : -1;
}

static inline int no_world(void **state)
{
    struct world *world = *state;
    int r = world_remove(world);
    free(world);
    return r;
}

static inline void digest_of(const void *data, size_t length, char ret_digest[IMAGE_DIGEST_BYTES])
{
    struct hutch_error err;
    assert_fine(hash_of(data, length, ret_digest, &err), &err);
}

#endif
