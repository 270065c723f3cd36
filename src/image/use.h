/* SPDX-License-Identifier: Apache-2.0 */
/* An image as one sandbox uses it: opened, its configuration checked and put together with what the
 * spec says. Everything in a configuration is a stranger's: it decides about the inside of the
 * sandbox alone, and what makes no sense there is refused with a sentence. */
#ifndef HUTCH_IMAGE_USE_H
#define HUTCH_IMAGE_USE_H

#include <errno.h>

#include "core/spec.h"
#include "image/store.h"
#include "util/buf.h"

struct image_use {
    struct image_store store;
    struct image image; /* its record is locked as long as this is open */
    /* What to run, as Docker puts it together: the entrypoint of the spec or of the image, then the
     * command of the spec, or of an image whose entrypoint was not replaced. May be empty. */
    struct hutch_strlist command;
    const char *user;    /* the spec's, or the image's; NULL: neither says */
    const char *workdir; /* likewise; NULL: neither says */
    int stop_signal;     /* for the sandbox's own command */
};

#define IMAGE_USE_INIT                                       \
    {                                                        \
        .store = {.dir = -EBADF}, .image = {.lock = -EBADF } \
    }

/* The spec's image as the store has it. HUTCH_E_NOT_FOUND when it does not. Borrows from the spec.
 */
int image_use_open(struct image_use *ret_use, const struct hutch_spec *spec,
                   struct hutch_error *err) HUTCH_MUST_CHECK;
void image_use_done(struct image_use *use);

/* From now on the spec means this very image, whatever its name comes to mean: NAME@sha256:... */
int image_use_pin(const struct image_use *use, struct hutch_spec *spec,
                  struct hutch_error *err) HUTCH_MUST_CHECK;
/* The digest that a spec is pinned to; NULL: none. */
const char *image_pinned_digest(const struct hutch_spec *spec);

/* Where the directory that holds the layers is: whoever is not root mounts it by its path. */
int image_use_layers_path(const struct image_use *use, char *ret_path, size_t size,
                          struct hutch_error *err) HUTCH_MUST_CHECK;

/* Appends "7:3:1", its layers as overlayfs wants them, and returns how many they are. A layer that
 * lies in an image twice counts where it is topmost: the one below it is hidden in all its parts,
 * and overlayfs does not take a directory twice. */
size_t image_use_name_layers(const struct image_use *use, struct hutch_buf *names);

/* use_config.c: what is left when a configuration has been checked. */
int image_use_settle(struct image_use *use, const struct hutch_spec *spec,
                     struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
