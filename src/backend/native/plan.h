/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: what PID 1 will do, as data. Computed from the spec and a few facts about the host;
 * nothing is made yet. */
#ifndef HUTCH_NATIVE_PLAN_H
#define HUTCH_NATIVE_PLAN_H

#include "backend/native/identity.h"
#include "core/spec.h"
#include "init/protocol.h"
#include "util/buf.h"

/* How a host tree's owners appear inside (privileged only; an ordinary user's are as they are). */
enum plan_ids {
    PLAN_IDS_PLAIN,  /* not mapped: nobody inside owns anything of the host's, user 0 included */
    PLAN_IDS_ROOTFS, /* number by number */
    PLAN_IDS_OWNER,  /* whoever owns the tree's top becomes the command's user */
};

struct plan_tree {
    char *path;
    enum plan_ids ids;
    enum init_tree_kind kind; /* where it is known beforehand */
    uint32_t attrs;           /* MOUNT_ATTR_* */
    bool optional;
    bool directory; /* must be one */
    bool detached;  /* given is a mount of its own already */
    bool unused;    /* no step wants it any more */
    bool is_secret; /* no tree but a memory file, open already */
    int given;      /* a directory that stands for the path (the quota pool's); negative: none */
    int fd;
};

/* Not to be copied: steps and blob may point into it. */
struct plan {
    size_t tree_count;
    struct init_step *steps; /* first_steps, or allocated */
    size_t step_count;
    size_t step_capacity;
    struct init_step first_steps[96];
    struct init_step scratch; /* takes what a failed allocation has no room for; the blob is then
                                 marked failed */
    struct init_plan header;
    struct hutch_buf blob;
    bool is_confined; /* a policy has allowed the spec's paths as they are: no link may lead on */
    char first_blob[4096]; /* enough for most */
    struct plan_tree trees[INIT_MAX_TREES];
};

struct plan_input {
    const struct hutch_spec *spec;
    const struct image_use *image; /* NULL unless the spec names one */
    const struct identity *identity;
    bool privileged;
    bool has_egress;
    int writable_fd;        /* directory of the quota pool; negative: a tmpfs */
    bool writable_kept;     /* it has the ids of the inside */
    bool writable_detached; /* it is what is left of a sandbox in memory */
    bool keeps_writable;    /* let something be left of this one */
};

int plan_build(struct plan *plan, const struct plan_input *input, struct hutch_error *err);
/* One more host tree, which nobody inside owns, read-only at a path of the sandbox. */
int plan_add_tree(struct plan *plan, const char *source, const char *target,
                  struct hutch_error *err);
/* Files of secrets: first room for this many, then each from a memory file, which is the plan's
 * from then on, also on failure, at a path of the sandbox. */
void plan_add_secrets(struct plan *plan, size_t count);
int plan_add_secret(struct plan *plan, const struct identity *identity, const char *target,
                    int memfd, struct hutch_error *err);
/* Completes the blob, once every tree is a descriptor or a path. */
int plan_finish(struct plan *plan, bool privileged, struct hutch_error *err);
/* What step number 'index' was about, for an error message. */
void plan_describe_step(const struct plan *plan, uint32_t index, char *text, size_t size);
/* An authority that programs inside trust, besides those they trusted before; memfd as above. */
int plan_add_trust(struct plan *plan, int memfd, struct hutch_error *err);
/* PID 1 has them. */
void plan_close_secrets(struct plan *plan);
void plan_done(struct plan *plan);

#endif
