/* SPDX-License-Identifier: Apache-2.0 */
/* Who the command is: its ids inside, and what they are on the host. */
#ifndef HUTCH_NATIVE_IDENTITY_H
#define HUTCH_NATIVE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/spec.h"
#include "image/use.h"
#include "util/error.h"

#define IDENTITY_DEFAULT_ID 1000
#define IDENTITY_DEFAULT_NAME "user"

enum identity_map {
    IDENTITY_SLOT,   /* root: 65536 ids of a slot nobody else has */
    IDENTITY_SINGLE, /* ordinary user: one id, the caller's own */
    IDENTITY_SUBIDS, /* ordinary user with newuidmap: the caller's own id and the subordinate ones
                        around it */
};

struct identity {
    uint32_t uid; /* inside */
    uint32_t gid;
    char home[256];
    char name[64];
    enum identity_map map;
    uint32_t first_host_id; /* IDENTITY_SLOT: of the slot; IDENTITY_SUBIDS: of the subuid range */
    uint32_t first_host_gid;
    bool can_set_groups;
    bool root_writes; /* what the command writes is made by its namespace's root, which hands it
                         over to the command: gVisor */
};

/* Looks a user up in the root's own passwd and group files (never the host's for a foreign root).
 * user: NULL is the usual one. image: open where the spec names one. */
int identity_resolve(struct identity *identity, const struct hutch_spec *spec,
                     const struct image_use *image, const char *user, struct hutch_error *err);
/* The user of the sandbox's own command, as far as anybody has said. */
const char *identity_asked(const struct hutch_spec *spec, const struct image_use *image);
/* Chooses how ids are mapped. */
void identity_choose_map(struct identity *identity, bool privileged, bool many_owners);
/* Writes the maps of a child that waits for them. */
int identity_write_maps(const struct identity *identity, pid_t child, struct hutch_error *err);
/* The user namespace of a process, by its number and its pidfd. */
int identity_open_namespace(pid_t pid, int pidfd);
/* A user namespace in which files of this host owner belong to the command: for an idmapped mount.
 */
int identity_owner_namespace(const struct identity *identity, uid_t owner, gid_t group,
                             struct hutch_error *err);
/* The numbers that an owner on the host has inside. */
void identity_to_inside(const struct identity *identity, uid_t *uid, gid_t *gid);
/* Is this process root of the initial user namespace? */
bool identity_is_privileged(void);

#endif
