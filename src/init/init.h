/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_INIT_INIT_H
#define HUTCH_INIT_INIT_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "init/network.h"
#include "init/protocol.h"

/* Where a stage failed. Functions return 0, or -1 with errno set; the stage and step say which. */
struct failure {
    uint32_t stage;
    uint32_t step;
    uint32_t session;
};

/* The directory that steps of one kind share: "etc", "dev". */
struct parent {
    int fd; /* -1: none */
    char path[256];
};

/* A command that runs. Its first process is what the keeper hears of. */
struct session {
    pid_t pid; /* who is waited for: the command's first process, or its guard; 0: a free place */
    uint32_t number;
    volatile pid_t leader; /* the command's first process, 0 once it has ended */
    volatile bool reported;
    bool is_guarded;
    volatile bool is_marked; /* its guard is no subreaper: see guard.c */
    bool is_lost;            /* its guard has gone before all that it guarded */
    bool is_doomed;          /* and that is to be killed */
};

struct spawn_stdio {
    int fds[3];
    int terminal;      /* master, -1: none */
    const int *groups; /* files into which the command writes "0" to enter its own cgroups */
    uint32_t group_count;
    int program;      /* to be executed instead of argv[0]; -1: none */
    uint64_t mark;    /* its limit on data, by which it is known: see guard.c; 0: as asked for */
    bool is_confined; /* by spawn_confine, before it was started */
};

struct sandbox {
    int trees[INIT_MAX_TREES];
    uint32_t tree_count;
    int root;            /* the new root directory */
    int writable;        /* the writable layer's directory */
    int kept;            /* a clone of its mount, when the keeper wants to keep it; -1: none */
    int artifacts;       /* /artifacts, when asked for */
    int whole;           /* the root and every mount in it, when it is handed over; -1: none */
    uint32_t steps_done; /* of the plan, by layer_prepare */
    struct parent parent;
    struct network network;
    struct failure failure;
};

static inline const void *blob_at(const void *blob, uint32_t offset)
{
    return offset ? (const char *)blob + offset : NULL;
}

/* message.c */
int message_send(const struct init_message *message, const int *fds, uint32_t fd_count);
/* A message with what came along. The blob stays until the next one is received. */
struct received {
    struct init_message message;
    int fds[INIT_MAX_FDS_PER_MESSAGE];
    int fd_count;
    void *mapped; /* a blob that came as a memfd */
    size_t mapped_length;
    _Alignas(8) char blob[INIT_INLINE_BYTES];
};
/* Returns 0, or -1 on error or when the keeper is gone. */
int message_receive(struct received *received);
/* The message's blob, of at least this size; a memfd is taken out of the descriptors. NULL with
 * errno. */
const void *message_blob(struct received *received, uint32_t minimum);
/* Done with the blob. */
void message_forget(struct received *received);

int failure_send(const struct failure *failure);

/* guard.c */
/* A table that guards share with PID 1. */
struct session *sessions_map(void);
/* Starts the command by way of a guard, which reports about it. */
pid_t guard_start(struct session *session, const struct init_spawn *spawn,
                  struct spawn_stdio *stdio, uint64_t time_us);
/* Kills what is left of a command. Returns how many it met. */
size_t guard_kill(const struct session *table, size_t limit, const struct session *session);
/* Is something left of one whose guard has gone? */
bool guard_has_left(const struct session *session);
/* Kills whatever is below this process. */
void guard_kill_all(void);

/* setup.c */
int sandbox_build(struct sandbox *box, const struct init_plan *plan);

int tree_restrict(int tree, uint32_t attrs);
int overlay_mount(int at, const char *lower, const char *upper, const char *work, unsigned attrs);

/* step.c */
int step_apply(struct sandbox *box, const struct init_plan *plan, const struct init_step *step);
/* Opens a name beneath the new root; never leaves it, follows no symlink when strict. */
int target_open(const struct sandbox *box, const char *path, int flags, bool strict);

/* layer.c */
/* A directory of the writable layer that the sandbox does not see as such. 1 when it is there
 * already: the layer has served before. */
int layer_mkdir(int writable, const char *name);
/* Puts what the plan begins with into a fresh "upper", over what is in "lower". Returns how many
 * steps that were. */
uint32_t layer_prepare(int writable, const struct init_plan *plan);

/* entry.c: the directory, file or symlink of a step. */
int entry_make(int parent, const char *name, const struct init_step *step, const char *text);

/* inside.c: a directory and what is missing on the way to it, through symlinks of the image. */
int directory_make_inside(const struct sandbox *box, const struct init_step *step,
                          const char *name);

/* secret.c */
/* A file of its own in the tmpfs of secrets, from source. *ret_mount: what is to be mounted where
 * the path is elsewhere, -1 when it is in its place. */
int secret_make(const struct sandbox *box, const struct init_step *step, const char *path,
                int source, int *ret_mount);
/* Of one that has been mounted elsewhere. */
int secret_forget_name(const struct sandbox *box);

/* trust.c: a certificate more in each bundle of certificates that the root has. */
int trust_add(const struct sandbox *box, int certificate);

/* copy.c */
int copy_tree(int from, int to, uid_t uid, gid_t gid);

/* spawn.c */
/* No new privileges, and the filter, for this process and all it starts. */
int spawn_confine(const struct init_spawn *spawn);
pid_t spawn_command(const struct init_spawn *spawn, struct spawn_stdio *stdio,
                    struct failure *failure);

#endif
