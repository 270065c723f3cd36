/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper: the host-side owner of one sandbox. For a one-shot run it is the calling thread. */
#ifndef HUTCH_NATIVE_KEEPER_H
#define HUTCH_NATIVE_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>

#include "backend/container/engine.h"
#include "backend/native/capture.h"
#include "backend/native/cgroup.h"
#include "backend/native/clone.h"
#include "backend/native/gateway.h"
#include "backend/native/identity.h"
#include "backend/native/plan.h"
#include "backend/native/pool.h"
#include "backend/native/processors.h"
#include "backend/native/sink.h"
#include "backend/native/state.h"
#include "core/result.h"
#include "hutch/run.h"
#include "secrets/redact.h"
#include "store/audit.h"

/* One output of the command. */
struct stream {
    enum hutch_stream number;
    int source;    /* our end of its pipe; negative once it has ended */
    bool enlarged; /* its pipe has been made larger */
    struct capture capture;
    struct sink sink;
    struct redactor redactor; /* of a spec with redact */
};

/* Input on its way to the command. */
struct feed {
    int source;   /* the caller's descriptor; negative once it has ended */
    int target;   /* our end of the command's stdin, or the terminal */
    char *buffer; /* SINK_CHUNK bytes */
    size_t start;
    size_t length;
    int os_errno; /* why it stopped, when not because one end was closed */
};

enum phase {
    PHASE_SETUP,    /* PID 1 builds the sandbox */
    PHASE_RUNNING,  /* the command runs */
    PHASE_DRAINING, /* it has ended; a background process may still hold a pipe */
    PHASE_ENDED,    /* every process is gone */
};

struct container_link;

struct keeper {
    const struct engine_ops *engine;
    struct container_link *link; /* to the porter, of an engine with one */
    const struct hutch_spec *spec;
    const struct hutch_run_options *options; /* NULL: a sandbox that stays */
    const struct image_use *image;           /* open as long as this lives; NULL: without one */
    char id[33];
    bool privileged;
    bool counts_usage; /* somebody will look at the usage */
    bool keeps_layer;  /* the writable layer outlives the keeper */
    char layer[33];    /* its name: the id, unless it is older than this keeper */
    bool has_layer;    /* and is there already */
    int layer_from;    /* who makes it when it is asked here; negative: nobody does. Borrowed */
    bool is_on_disk;   /* on an engine's own disk, whatever that is */
    int memory_layer;  /* of a sandbox that stays, in memory: what the last keeper's left */
    hutch_promise_set missing;
    struct identity identity;
    struct cgroup_layout layout;
    struct cgroup cgroup;
    char freezer[512]; /* of a sandbox that stays, on v1: its group there, made when it is paused */
    struct lease lease;
    struct audit audit; /* of a run: where its life is noted */
    struct pool_dir pool;
    struct gateway gateway;
    struct secret_set secrets; /* as long as their values are needed */
    struct secret_value proxy_login;
    struct init_rlimit rlimits[INIT_RLIMITS]; /* its own, once they have been read */
    bool has_rlimits;
    int core_pattern; /* the kernel's, read for each command: it may change */

    struct processors processors;
    struct clone_child child; /* PID 1 until it has executed */
    pid_t pid;                /* of PID 1, as seen from here; 0 when there is none */
    int pidfd;
    int socket;
    int writable;         /* the writable layer, for looking at its fill */
    int artifacts;        /* the sandbox's /artifacts */
    int artifacts_target; /* the host directory for it */
    int terminal;         /* master side, negative without one */

    struct stream streams[2];
    struct capture both;
    struct feed feed;

    enum phase phase;
    uint64_t started_us; /* when the command was started */
    uint64_t ended_us;
    uint64_t deadline_us;
    uint64_t idle_since_us;
    uint64_t disk_check_us; /* when to look at the writable layer next */
    uint64_t disk_pause_us;
    uint64_t disk_seen_bytes;
    bool disk_full;
    bool held_pipes;
    bool others_left; /* the command has ended, other processes of the sandbox have not */
    bool has_status;
    int status;  /* the command's wait status */
    bool killed; /* by us, for ended_by */
    enum hutch_reason ended_by;
    uint64_t rusage_cpu_us;
    struct hutch_usage usage;
    struct cgroup_events events;
    bool has_usage;
    struct hutch_error failure; /* why the set-up or the exec failed */
    bool has_failure;
    bool never_was; /* it failed before there was a sandbox: that is no result */
    struct hutch_error artifacts_failure; /* why not all of /artifacts came out */

    struct plan plan;       /* large, and mostly untouched, as what follows */
    char chunk[SINK_CHUNK]; /* one read buffer for everything */
    char input[SINK_CHUNK];
};

uint64_t now_us(void);

/* recipe.c */
bool layer_tmpfs_carries_overlay(void);
bool layer_needs_overlay(const struct hutch_spec *spec);
/* Does its writable layer go to disk? */
bool layer_wants_pool(const struct hutch_spec *spec);
int keeper_make_id(char *id, struct hutch_error *err);
/* image: NULL unless the spec names one. */
struct keeper *keeper_new(const struct hutch_spec *spec, const struct image_use *image,
                          const struct hutch_run_options *options);
/* The command that was asked for, of the spec or of its image; may be empty. */
const struct hutch_strlist *keeper_command(const struct keeper *keeper);
/* Where it starts. */
const char *keeper_workdir(const struct keeper *keeper);
/* With id, layout and missing filled in. When it returns, PID 1 has its orders. */
int keeper_build(struct keeper *keeper, struct hutch_error *err);
/* Its parts that other engines need too: who the command is, what outlives a kill -9 put on record,
 * and a directory of the quota pool, where there is to be one. */
int keeper_decide_identity(struct keeper *keeper, struct hutch_error *err);
int keeper_put_on_record(struct keeper *keeper, struct hutch_error *err);
int keeper_make_layer(struct keeper *keeper, struct hutch_error *err);
/* What the command sees. */
int keeper_plan(struct keeper *keeper, struct hutch_error *err);
/* native.c: a run from its beginning to its result, or to why there is none. Frees the keeper. */
int keeper_run(struct keeper *keeper, struct hutch_result **ret_result, struct hutch_error *err);
/* In the reverse order of making; safe at any point. */
void keeper_free(struct keeper *keeper);

/* A command to start, and what it gets. */
struct spawn_order {
    const struct hutch_strlist *command;
    const struct hutch_strlist *environment;
    const struct secret_set *secrets; /* variables that replace others; NULL: none */
    const char *workdir;
    uint32_t uid;
    uint32_t gid;
    bool terminal; /* instead of the three descriptors */
    struct winsize size;
    int fds[3];
    int groups[CGROUP_MAX_GROUPS]; /* files of its own cgroups, to write "0" into */
    size_t group_count;
    int program; /* to be executed instead of the command's first word, with power over all of the
                    sandbox's files; 0: none */
    uint32_t session; /* by this number PID 1 reports about it */
    bool one_shot;
};

/* launch.c, explain.c */
int keeper_start(struct keeper *keeper, struct hutch_error *err);
/* Every resource limit that a command gets. */
int keeper_rlimits(struct keeper *keeper, struct init_rlimit *rlimits, struct hutch_error *err);
/* Sends PID 1 the plan, the cgroups to enter and, for a run, the command. */
int keeper_instruct(struct keeper *keeper, struct hutch_error *err);
/* The one command of a run. */
int keeper_send_command(struct keeper *keeper, struct hutch_error *err);
int keeper_spawn(struct keeper *keeper, const struct spawn_order *order, struct hutch_error *err);
/* PID 1 reports as it is told: whoever waited for room while it waits to report would wait for
 * ever.
 */
bool keeper_has_room(const struct keeper *keeper);
int keeper_signal(const struct keeper *keeper, uint32_t session, int number,
                  struct hutch_error *err);
/* Of a command without a cgroup: kills what there is of it now; PID 1 reports when that was all. */
int keeper_kill_session(const struct keeper *keeper, uint32_t session, struct hutch_error *err);
/* Turns PID 1's report of a failure into a sentence. */
void keeper_explain(const struct keeper *keeper, const struct init_message *report,
                    const char *command, const char *workdir, struct hutch_error *err);

/* Of a run: a terminal, the writable layer, the artifacts. Of a builder: the whole tree too. */
#define KEEPER_REPORT_FDS 3

/* The next report of PID 1: 1, 0 when there is none now, -1 when there will be none. */
int keeper_hear(struct keeper *keeper, struct init_message *ret_report, int *ret_fds,
                size_t *ret_fd_count);
/* supervise.c: until every process of the sandbox is gone. */
int keeper_supervise(struct keeper *keeper, struct hutch_error *err);
void keeper_kill(struct keeper *keeper, enum hutch_reason reason);
/* Every process of the sandbox, without a wait for their end. */
void keeper_kill_all(const struct keeper *keeper);
/* Kills and reaps PID 1, and with it the whole sandbox, whatever state it is in. */
void keeper_end(struct keeper *keeper);

/* secrets.c: the values of the spec's secrets, before anything is made. */
int keeper_read_secrets(struct keeper *keeper, struct hutch_error *err);
/* Is output looked at for values? */
bool keeper_redacts(const struct keeper *keeper);
/* Those that are files become part of the plan. */
int keeper_plan_secrets(struct keeper *keeper, struct hutch_error *err);
/* The sandbox trusts the authority of its own gateway. */
int keeper_plan_trust(struct keeper *keeper, struct hutch_error *err);
/* They are inside; no longer needed here unless output is looked at for them. */
void keeper_forget_secrets(struct keeper *keeper);
/* Appends to a blob what blob_texts() would, of the environment with its secrets. */
uint32_t environment_to_blob(struct hutch_buf *blob, const struct spawn_order *order,
                             struct hutch_error *err);
/* Room for all of an order that has secrets, so that no value is left behind where a blob was. */
void spawn_order_reserve(const struct spawn_order *order, struct hutch_buf *blob);

/* streams.c */
int stream_read(struct keeper *keeper, struct stream *stream, struct hutch_error *err);
bool streams_open(const struct keeper *keeper);
/* Has anything been lost on its way? */
int streams_check(const struct keeper *keeper, struct hutch_error *err);
void feed_pump(struct feed *feed);
bool feed_wants_input(const struct feed *feed);

/* disk.c */
void disk_look(struct keeper *keeper);

/* artifacts.c: what /artifacts holds goes to the host directory. */
int artifacts_open(const struct hutch_spec *spec, struct hutch_error *err);
int artifacts_collect(int source, int target, uint64_t max_bytes, uint64_t max_entries,
                      struct hutch_error *err);

/* outcome.c */
void keeper_read_usage(struct keeper *keeper);
/* What was read, with the time of who was waited for. */
struct hutch_usage keeper_usage(const struct keeper *keeper);
int keeper_result(struct keeper *keeper, struct hutch_result **ret_result, struct hutch_error *err);

#endif
