/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a container is. An engine keeps containers whatever becomes of who made them, so each has
 * labels by which a sweep tells those that nobody wants any more from those of other keepers, other
 * users and other machines that share the engine. */
#ifndef HUTCH_CONTAINER_OWNER_H
#define HUTCH_CONTAINER_OWNER_H

#include <stdbool.h>

#include "util/error.h"

#define OWNER_LABEL_ID "hutch.id"       /* of the sandbox */
#define OWNER_LABEL_NAME "hutch.name"   /* of a sandbox that stays; empty: a run */
#define OWNER_LABEL_OWNER "hutch.owner" /* owner_text() */
#define OWNER_LABEL_HOME "hutch.home"   /* owner_home() */

#define OWNER_BYTES 128
#define OWNER_HOME_BYTES 512

/* This porter's keeper, which is its parent: the boot, its number and when it was started. */
int owner_text(char ret_text[OWNER_BYTES], struct hutch_error *err) HUTCH_MUST_CHECK;
/* Of this machine, where its sandboxes have their homes. */
int owner_home(char ret_text[OWNER_HOME_BYTES], struct hutch_error *err) HUTCH_MUST_CHECK;

/* Is a container with these labels left over? Not when its home is not ours to know, when its
 * keeper lives, or when a sandbox that stays has this id: a stopped one has no keeper and is still
 * wanted. */
bool owner_has_left(const char *home, const char *owner, const char *id);

/* A note that there has been a container of this backend, made before the first one is. Without it
 * a sweep need not look for an engine, which may never have been there. */
int owner_note(const char *backend, struct hutch_error *err) HUTCH_MUST_CHECK;
bool owner_has_noted(const char *backend);

#endif
