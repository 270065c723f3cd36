/* SPDX-License-Identifier: Apache-2.0 */
/* What the keeper (outside) and hutch-init (PID 1 inside) say to each other over a SOCK_SEQPACKET
 * pair.
 *
 * keeper -> init:  FDS* SETUP (blob: plan)  JOIN  SPAWN (blob: spawn)*       (SIGNAL | KILL)*
 * init -> keeper:  READY | FAILED      (SPAWNED | FAILED)*      EXITED* GONE*
 *
 * For a run, READY is left out: what it would bring comes with SPAWNED, and the keeper sleeps on.
 *
 * A blob is a struct first, then arrays and NUL-terminated strings, named by their offset from the
 * start. Offset 0 means "none". A short one follows its message, a long one comes as a memfd before
 * the message's other descriptors. Both ends are built together, so there is no version. */
#ifndef HUTCH_INIT_PROTOCOL_H
#define HUTCH_INIT_PROTOCOL_H

#include <stdint.h>

#define INIT_GUEST_WORD \
    "guest" /* its argument in a container that an engine has made: see guest.c */
#define INIT_SOCKET_FD 3
#define INIT_MAX_FDS_PER_MESSAGE 250
#define INIT_MAX_SESSIONS 1024 /* commands at one time */
#define INIT_MAX_TREES 1024
#define INIT_RLIMITS 16
#define INIT_SECRETS "run/secrets"           /* where their tmpfs is */
#define INIT_TRUST "run/hutch"               /* where a sandbox finds certificates of hutch's */
#define INIT_TRUST_AUTHORITY "authority.crt" /* the added one alone */
#define INIT_TRUST_BUNDLE "certificates.crt" /* all of them */
#define INIT_INLINE_BYTES 16384              /* a longer blob comes as a memfd */

enum init_message_type {
    INIT_FDS = 1, /* keeper: more descriptors for the plan's table of trees */
    INIT_SETUP,   /* keeper: build the sandbox; with a blob, and the last of the plan's trees */
    INIT_JOIN,    /* keeper: descriptors of cgroup files; write "0" into each, then hide the cgroup
                     tree */
    INIT_SPAWN,  /* keeper: run a command; with a blob; descriptors: stdin, stdout, stderr (none for
                    a terminal), then the command's own cgroup files */
    INIT_SIGNAL, /* keeper: send signal 'value' to the process group of the session's command */
    INIT_KILL,   /* keeper: kill every process of the session's command, where it has a guard; again
                    until GONE */
    INIT_READY,  /* init: the sandbox is built; descriptors: writable layer, artifacts directory
                    (when asked for), the root with all that is mounted in it (likewise) */
    INIT_SPAWNED, /* init: the command runs; descriptors: the terminal's master when one was asked
                     for, for a run those of READY */
    INIT_EXITED,  /* init: the command's first process has ended; value is its wait status */
    INIT_GONE,    /* init: nothing is left of a command that had a guard */
    INIT_FAILED, /* init: step number 'step' of the plan (or enum init_stage) failed with 'os_errno'
                  */
};

struct init_message {
    uint32_t type;
    uint32_t inline_length; /* of the blob that follows; 0: it comes as a memfd, or there is none */
    int32_t value;
    uint32_t stage; /* enum init_stage */
    uint32_t step;  /* index of a plan step, for INIT_STAGE_STEP */
    int32_t os_errno;
    uint32_t session; /* the command this is about, by the keeper's own number */
    uint32_t others;  /* INIT_EXITED: processes besides the command's first one are left */
    uint64_t time_us; /* INIT_SPAWNED: when, by CLOCK_MONOTONIC */
};

/* Where something failed; the keeper turns it into a sentence. */
enum init_stage {
    INIT_STAGE_STEP,
    INIT_STAGE_PROTOCOL,
    INIT_STAGE_BEGIN,
    INIT_STAGE_NAMESPACES,
    INIT_STAGE_IDENTITY,
    INIT_STAGE_GRAB,
    INIT_STAGE_WRITABLE,
    INIT_STAGE_OVERLAY,
    INIT_STAGE_READ_ONLY,
    INIT_STAGE_PIVOT,
    INIT_STAGE_HOSTNAME,
    INIT_STAGE_NETWORK,
    INIT_STAGE_PLANT,
    INIT_STAGE_CGROUP,
    INIT_STAGE_TERMINAL,
    INIT_STAGE_FORK,
    INIT_STAGE_SESSION,
    INIT_STAGE_STDIO,
    INIT_STAGE_RLIMITS,
    INIT_STAGE_CREDENTIALS,
    INIT_STAGE_CAPABILITIES,
    INIT_STAGE_WORKDIR,
    INIT_STAGE_SECCOMP,
    INIT_STAGE_EXEC,
    INIT_STAGE_COUNT,
};

enum init_op {
    INIT_OP_MKDIR = 1, /* path, mode, uid, gid; an existing directory is fine */
    INIT_OP_FILE,      /* path, mode, text: create with content; skipped when it exists */
    INIT_OP_SYMLINK,   /* path, text: where it points; skipped when the name exists */
    INIT_OP_ATTACH,    /* tree onto path, which is made as a directory or a file when missing */
    INIT_OP_PROC,      /* path: a new proc, all of it read-only */
    INIT_OP_DEVPTS,    /* path: a new devpts */
    INIT_OP_TMPFS,     /* path, text: options */
    INIT_OP_LEND,      /* path, text: a new directory of the writable layer, by its name there */
    INIT_OP_MASK_FILE, /* path: cover it with /dev/null */
    INIT_OP_MASK_DIRECTORY, /* path: cover it with an empty directory */
    INIT_OP_OVERLAY, /* tree below, fresh layer above (named by text in the writable layer), onto
                        path; uid, gid own the top */
    INIT_OP_COPY,    /* content of tree into path; everything owned by uid, gid */
    INIT_OP_SECRET,  /* tree is a memory file: its content becomes the file path, of uid, gid and
                        mode, in the tmpfs of secrets, which is mounted already */
    INIT_OP_TRUST,   /* tree is a memory file: a certificate that is added to the bundles of
                        certificates that the root has; path: a tmpfs for what that takes */
    INIT_OP_KEEP,    /* path, a directory: becomes a mount of itself, which stays writable when the
                        root is not */
};

struct init_step {
    uint16_t op;
    uint16_t flags; /* INIT_STEP_* */
    uint32_t mode;
    uint32_t uid;
    uint32_t gid;
    int32_t tree;  /* index in the table of trees, -1: none */
    uint32_t path; /* offset; relative to the root, without a leading slash */
    uint32_t text; /* offset */
    uint32_t text_length;
};

#define INIT_STEP_OPTIONAL 1u /* a failure is not an error */
#define INIT_STEP_INSIDE 4u   /* symlinks on the way are followed, as seen from inside */
#define INIT_STEP_REPLACE 8u  /* of a file: whatever has its name goes */
#define INIT_STEP_USER 2u     /* the path is the user's choice: no symlink on the way */

/* A tree comes either as a descriptor (the keeper is privileged and has cloned it) or as a path
 * which init clones itself, with the caller's own rights. */
struct init_tree {
    uint32_t path;   /* offset of an absolute host path; 0: next descriptor of the table */
    uint32_t absent; /* optional, and the keeper has not found it: there is no descriptor */
    uint32_t optional;
    uint32_t attrs; /* MOUNT_ATTR_*, for a path; a descriptor already has them */
    uint32_t kind;  /* enum init_tree_kind */
};

enum init_tree_kind { INIT_TREE_UNKNOWN, INIT_TREE_DIRECTORY, INIT_TREE_FILE };

struct init_plan {
    uint32_t size;
    uint32_t trees; /* offset of struct init_tree[tree_count] */
    uint32_t tree_count;
    uint32_t steps; /* offset of struct init_step[step_count] */
    uint32_t step_count;
    uint32_t hostname; /* offset */
    uint32_t
        writable_opts; /* offset of "k=v" NUL-separated tmpfs options, ended by an empty string */
    int32_t writable_tree; /* tree that holds the writable layer instead of a tmpfs, -1: none */
    int32_t lower_tree;   /* root filesystem below an overlay, -1: the writable layer is the root */
    uint32_t lower_names; /* offset of "N:N:...": directories in it that are stacked, the topmost
                             first; 0: it is the lower directory itself */
    uint32_t
        hide_writable;  /* keep the writable layer's own directories out of the sandbox's sight */
    uint32_t artifacts; /* offset of the path to open and send back */
    uint32_t
        keeps_writable;   /* send a clone of the writable layer back, which outlives the sandbox */
    uint32_t become_root; /* take uid and gid 0 of the namespace before building */
    uint32_t hands_over;  /* do not live in the tree: send it back whole, for the container of an
                             engine */
    uint32_t read_only;   /* the root and /dev, once everything is made */
    uint32_t is_run;      /* a command will follow at once: no READY */
    uint32_t at_once;     /* there are processors to spare: do what can be done beside the rest */
    uint32_t has_egress; /* the message's last descriptor is the way to the gateway: init/plant.h */
};

struct init_rlimit {
    uint64_t soft;
    uint64_t hard;
};

struct init_spawn {
    uint32_t size;
    uint32_t argv; /* offset of uint64_t[]: offsets of strings, then 0 */
    uint32_t envp;
    uint32_t workdir; /* offset */
    uint32_t search;  /* offset of the PATH to look in */
    uint32_t uid;
    uint32_t gid;
    uint32_t
        set_groups;    /* 0 where the kernel forbids setgroups (single-user map without helpers) */
    uint32_t terminal; /* 1: own terminal */
    uint32_t program;  /* 1: execute the last descriptor instead of looking for argv[0] */
    uint32_t keeps_files; /* 1: keep the capabilities that copying files of any owner takes */
    uint32_t group_count; /* cgroup files to enter, after the standard descriptors */
    uint16_t rows;
    uint16_t columns;
    uint32_t pin_core_limit; /* core dumps would go to a program of the host's: see spawn.c */
    int32_t nice;
    uint32_t guarded;     /* it has no cgroup: see guard.c */
    uint32_t one_shot;    /* exit when the command has ended and no process is left */
    uint32_t starts_here; /* on PID 1's processor: see spawn.c */
    struct init_rlimit rlimits[INIT_RLIMITS];
};

#endif
