/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes that stay. Each is kept by a process of its own, so whoever made it may end; a handle
 * is a way to it, and freeing one touches nothing.
 *
 * Functions on one handle may not run at the same time in two threads; several handles of one
 * sandbox may. */
#ifndef HUTCH_SANDBOX_H
#define HUTCH_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hutch/egress.h"
#include "hutch/error.h"
#include "hutch/result.h"
#include "hutch/run.h"
#include "hutch/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hutch_sandbox;

/* Makes a sandbox and returns when it is ready. Its name is the spec's; without one it is given
 * one. The spec is completed: variables that are passed on get their values, paths become absolute,
 * and the writable layer is one for a longer life. A command is optional and runs in the
 * background. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_create(struct hutch_spec *spec,
                                                    struct hutch_sandbox **ret_sandbox,
                                                    struct hutch_error *err);
/* Makes a sandbox that was made ahead, and has run nothing since, the one that
 * hutch_sandbox_create() would make of the spec: its name, its labels and its tenant become the
 * spec's, and its age begins anew. In all else the two must be equal: otherwise, or where the name
 * is taken, it fails with HUTCH_E_CONFLICT (the latter with os_errno EEXIST) and the sandbox stays
 * what it was. The spec is completed as by hutch_sandbox_create(). */
#define HUTCH_POOL_LABEL "hutch.pool" /* of one that waits for it: then it takes less time */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_claim(struct hutch_sandbox *sandbox,
                                                   struct hutch_spec *spec,
                                                   struct hutch_error *err);
/* By name or id, whatever state it is in. */
HUTCH_API HUTCH_MUST_CHECK int
hutch_sandbox_open(const char *name, struct hutch_sandbox **ret_sandbox, struct hutch_error *err);
HUTCH_API void hutch_sandbox_free(struct hutch_sandbox *sandbox);

/* Borrowed from the handle. */
HUTCH_API const char *hutch_sandbox_name(const struct hutch_sandbox *sandbox);
/* Has it this label, "KEY" or "KEY=VALUE"? */
HUTCH_API bool hutch_sandbox_has_label(const struct hutch_sandbox *sandbox, const char *label);
/* The tenant whose it is; "" when it is nobody's. */
#define HUTCH_TENANT_BYTES 72
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_tenant(const struct hutch_sandbox *sandbox,
                                                    char ret_tenant[HUTCH_TENANT_BYTES],
                                                    struct hutch_error *err);
/* Was it made from an image? */
HUTCH_API bool hutch_sandbox_has_image(const struct hutch_sandbox *sandbox);

struct hutch_sandbox_info {
    char name[72];
    char id[33];
    const char *state;   /* "starting", "running", "paused", "stopped" or "dead"; "unresponsive"
                          * when its keeper did not answer this handle in time */
    char reason[32];     /* why it stopped; empty while it runs */
    bool on_disk;        /* its files outlive a stop */
    uint64_t created_us; /* since 1970 */
    uint64_t started_us;
    uint64_t ended_us; /* 0: it has not */
};

HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_info(const struct hutch_sandbox *sandbox,
                                                  struct hutch_sandbox_info *ret_info,
                                                  struct hutch_error *err);
/* The spec it was made from. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_spec(const struct hutch_sandbox *sandbox,
                                                  struct hutch_spec **ret_spec,
                                                  struct hutch_error *err);
/* Everything about it as one JSON object. Free it with free(). */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_to_json(struct hutch_sandbox *sandbox, char **ret_json,
                                                     struct hutch_error *err);

/* The sandbox is the caller's only until it returns. Anything but 0 ends the listing. */
typedef int (*hutch_sandbox_fn)(void *userdata, struct hutch_sandbox *sandbox);
/* Every sandbox there is, in the order of their names. One whose state is damaged is listed too. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_list(hutch_sandbox_fn on_sandbox, void *userdata,
                                                  struct hutch_error *err);

/* ---- commands ---- */

/* Start from HUTCH_EXEC_OPTIONS_INIT: fields may be added at the end. -1 means none. */
struct hutch_exec_options {
    size_t size;
    const char *user;       /* NULL: the sandbox's */
    const char *workdir;    /* NULL: the sandbox's */
    const char *const *env; /* NULL-terminated "KEY=VALUE", beside the sandbox's own */
    uint64_t timeout_ms;    /* 0: none */
    int stdin_fd;           /* the command's own; none: it reads end-of-file */
    int stdout_fd;          /* the command's own, unless output is captured */
    int stderr_fd;
    int cancel_fd;   /* when it becomes readable the command is ended with reason "cancelled" */
    int terminal_fd; /* give the command a terminal of this one's size */
    int resize_fd;   /* readable when that size has changed */
    int signal_fd;   /* a signalfd: what it brings is sent to the command's process group */
    bool capture;    /* keep output in the result, up to the sandbox's limits.output */
    uint16_t unused; /* here the first version ended */
    uint16_t rows;   /* hutch_sandbox_spawn(): a terminal of this size, which lives as long as the
                        command; 0: none */
    uint16_t columns;
    bool keeps_stdin; /* hutch_sandbox_spawn(): what it reads is written by hutch_sandbox_input() */
};

#define HUTCH_EXEC_OPTIONS_INIT                                                                   \
    {                                                                                             \
        sizeof(struct hutch_exec_options), NULL, NULL, NULL, 0, -1, -1, -1, -1, -1, -1, -1, true, \
            0, 0, 0, false                                                                        \
    }

/* Runs a command in the sandbox and waits for its end. It ends when the caller does. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_exec(struct hutch_sandbox *sandbox, size_t argc,
                                                  const char *const *argv,
                                                  const struct hutch_exec_options *options,
                                                  struct hutch_result **ret_result,
                                                  struct hutch_error *err);
/* Starts a command that goes on by itself; its output is recorded under the id. stdin_fd has to be
 * a pipe; the other descriptors are not for it. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_spawn(struct hutch_sandbox *sandbox, size_t argc,
                                                   const char *const *argv,
                                                   const struct hutch_exec_options *options,
                                                   char ret_id[33], struct hutch_error *err);
/* Sends a signal to the process group of a command; SIGKILL goes to everything it has started. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_signal(struct hutch_sandbox *sandbox, const char *id,
                                                    int number, struct hutch_error *err);

/* Writes to a recorded command that has a terminal or was started with keeps_stdin. Waits while it
 * does not read, until cancel_fd (-1: none) becomes readable. Ignore SIGPIPE. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_input(struct hutch_sandbox *sandbox, const char *id,
                                                   const void *data, size_t length, int cancel_fd,
                                                   struct hutch_error *err);
/* It reads its end when it has read all of it; by a terminal, as when ^D is typed. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_end_input(struct hutch_sandbox *sandbox,
                                                       const char *id, struct hutch_error *err);
/* The size of its terminal. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_resize(struct hutch_sandbox *sandbox, const char *id,
                                                    uint16_t rows, uint16_t columns,
                                                    struct hutch_error *err);

/* A recorded command, also one that has ended. */
struct hutch_session {
    const char *id;
    const char *state; /* "starting", "running" or "ended" */
    bool has_terminal;
    bool reads_input;        /* it can be written to as long as it runs */
    uint64_t started_us;     /* since 1970; 0: not known */
    const char *const *argv; /* NULL-terminated; empty where it is not told: an audit that keeps no
                              * command lines, a keeper of an older version */
    const struct hutch_result *result; /* of one that has ended. Its output is in the log */
};
typedef int (*hutch_session_fn)(void *userdata, const struct hutch_session *session);
/* Those whose logs there still are, the oldest first; or the one with this id. Works in every state
 * of the sandbox. Anything but 0 ends the listing. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_sessions(struct hutch_sandbox *sandbox, const char *id,
                                                      hutch_session_fn on_session, void *userdata,
                                                      struct hutch_error *err);

struct hutch_process {
    const char *session; /* id of the command it belongs to; NULL: of none that is known */
    const char *phase;   /* of a command: "running" or "ended" */
    bool recorded;
    uint64_t age_us;
    const char *const *argv; /* NULL-terminated */
};
typedef int (*hutch_process_fn)(void *userdata, const struct hutch_process *process);
/* The commands that the sandbox runs. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_ps(struct hutch_sandbox *sandbox,
                                                hutch_process_fn on_process, void *userdata,
                                                struct hutch_error *err);

/* Words to put before any command line, NULL-terminated; free them with hutch_words_free(). */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_command_prefix(const struct hutch_sandbox *sandbox,
                                                            char ***ret_words,
                                                            struct hutch_error *err);
HUTCH_API void hutch_words_free(char **words);

/* ---- output ---- */

struct hutch_log_options {
    size_t size;
    const char *exec_id; /* NULL: of the sandbox's own command */
    uint64_t offset;     /* bytes of both streams to pass over */
    uint64_t tail;       /* the last so many lines; UINT64_MAX: all */
    uint64_t since_us;   /* since 1970; 0: from the beginning */
    unsigned streams;    /* 1: standard output, 2: standard error, 3: both */
    bool follow;         /* until the command has ended */
    int cancel_fd;       /* when it becomes readable, following ends */
    uint64_t quiet_ms;   /* while following: an empty piece after so long without one; 0: none */
};

#define HUTCH_LOG_OPTIONS_INIT                                                    \
    {                                                                             \
        sizeof(struct hutch_log_options), NULL, 0, UINT64_MAX, 0, 3, false, -1, 0 \
    }

struct hutch_log_piece {
    enum hutch_stream stream;
    uint64_t offset;     /* of its first byte; offset + length is where to go on */
    uint64_t time_us;    /* since 1970 */
    uint64_t lost_bytes; /* between the piece before and this one */
    const char *data;
    size_t length;
};
typedef int (*hutch_log_fn)(void *userdata, const struct hutch_log_piece *piece);

/* What a recorded command has said. Works in every state of the sandbox. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_logs(struct hutch_sandbox *sandbox,
                                                  const struct hutch_log_options *options,
                                                  hutch_log_fn on_piece, void *userdata,
                                                  struct hutch_error *err);
/* How a recorded command ended; waits for it. The result's output is empty: it is in the log. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_wait(struct hutch_sandbox *sandbox, const char *id,
                                                  struct hutch_result **ret_result,
                                                  struct hutch_error *err);

/* The same, until cancel_fd becomes readable: then there is no result (NULL), and no failure. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_wait_or_cancel(struct hutch_sandbox *sandbox,
                                                            const char *id, int cancel_fd,
                                                            struct hutch_result **ret_result,
                                                            struct hutch_error *err);

/* ---- files ---- */

/* Something was left out: os_errno says why it cannot be read, 0 that it is of a kind that is not
 * copied (a socket, a device). */
typedef void (*hutch_skipped_fn)(void *userdata, const char *path, int os_errno);

/* As 'cp -a' would: a target that is a directory takes the source in. The caller's files are the
 * sandbox's user's inside, and the other way round. Links stay links; special bits are dropped. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_copy_in(struct hutch_sandbox *sandbox,
                                                     const char *source, const char *target,
                                                     hutch_skipped_fn on_skipped, void *userdata,
                                                     struct hutch_error *err);
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_copy_out(struct hutch_sandbox *sandbox,
                                                      const char *source, const char *target,
                                                      hutch_skipped_fn on_skipped, void *userdata,
                                                      struct hutch_error *err);
/* A tar archive, from a descriptor into a directory inside, and the other way. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_unpack(struct hutch_sandbox *sandbox, int archive,
                                                    const char *target, hutch_skipped_fn on_skipped,
                                                    void *userdata, struct hutch_error *err);
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_pack(struct hutch_sandbox *sandbox, const char *source,
                                                  int archive, hutch_skipped_fn on_skipped,
                                                  void *userdata, struct hutch_error *err);

/* A second sandbox with the same spec and the same files, which it shares until either writes: it
 * costs the same however large they are. The first one goes on. name NULL: one is made up. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_fork(struct hutch_sandbox *sandbox, const char *name,
                                                  struct hutch_sandbox **ret_sandbox,
                                                  struct hutch_error *err);
/* The same, kept stopped under the name: to be forked again and again. An image of what a sandbox
 * has written makes hutch_image_snapshot(). */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_snapshot(struct hutch_sandbox *sandbox,
                                                      const char *name, struct hutch_error *err);

/* kind: "added", "modified", "deleted", "type" or "metadata". Anything but 0 ends the listing. */
typedef int (*hutch_change_seen_fn)(void *userdata, const char *kind, const char *path);
/* What differs from the root it began with; the workspace is not looked at. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_changes(struct hutch_sandbox *sandbox,
                                                     hutch_change_seen_fn on_change, void *userdata,
                                                     struct hutch_error *err);
/* What differs in a workspace of mode overlay, as a patch for 'patch -p1' or 'git apply'. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_diff(struct hutch_sandbox *sandbox, int fd,
                                                  struct hutch_error *err);

struct hutch_applied {
    uint64_t added;
    uint64_t modified;
    uint64_t deleted;
    uint64_t conflicts;
};
/* A path that was left alone, and why: half a sentence. */
typedef void (*hutch_conflict_fn)(void *userdata, const char *path, const char *why);
/* Writes what differs into the real directory, file by file and each of them whole or not at all. A
 * path that was changed there since the sandbox was made is left alone. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_apply(struct hutch_sandbox *sandbox, bool dry_run,
                                                   hutch_conflict_fn on_conflict, void *userdata,
                                                   struct hutch_applied *ret_applied,
                                                   struct hutch_error *err);

/* ---- life ---- */

/* Tells every command to end (SIGTERM), ends them after the grace. Its files are kept. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_stop(struct hutch_sandbox *sandbox, uint64_t grace_ms,
                                                  struct hutch_error *err);
/* The same without a warning. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_kill(struct hutch_sandbox *sandbox,
                                                  struct hutch_error *err);
/* A stopped one again, with its files and its spec. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_start(struct hutch_sandbox *sandbox,
                                                   struct hutch_error *err);
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_pause(struct hutch_sandbox *sandbox,
                                                   struct hutch_error *err);
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_resume(struct hutch_sandbox *sandbox,
                                                    struct hutch_error *err);
/* Removes it and everything it holds; one that runs only with force. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_remove(struct hutch_sandbox *sandbox, bool force,
                                                    struct hutch_error *err);
/* Changes limits of a living one, or the hosts it may reach, as hutch_spec_set() would; all of them
 * or none. The first host of a list takes the place of those before. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_update(struct hutch_sandbox *sandbox, size_t count,
                                                    const char *const *fields,
                                                    const char *const *texts,
                                                    struct hutch_error *err);

/* What has gone out of it and what has not, since it was made; also of one that is stopped. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_egress(struct hutch_sandbox *sandbox,
                                                    struct hutch_egress **ret_egress,
                                                    struct hutch_error *err);

/* A figure or a limit that is not known, or not enforced, on this host. */
#define HUTCH_STATS_UNKNOWN UINT64_MAX

struct hutch_stats {
    uint64_t time_us; /* when, by the host's monotonic clock */
    uint64_t cpu_us;
    uint64_t cpus_limit_milli;
    uint64_t memory_bytes;
    uint64_t memory_peak_bytes;
    uint64_t memory_limit_bytes;
    uint64_t pids;
    uint64_t pids_peak;
    uint64_t pids_limit;
    uint64_t disk_bytes;
    uint64_t disk_limit_bytes;
    uint64_t oom_kills;
    uint64_t running;  /* commands */
    char command[128]; /* the beginning of one of them, as it was given: any bytes */
};
/* A keeper that does not answer within two seconds is a failure with os_errno ETIMEDOUT. */
HUTCH_API HUTCH_MUST_CHECK int hutch_sandbox_stats(struct hutch_sandbox *sandbox,
                                                   struct hutch_stats *ret_stats,
                                                   struct hutch_error *err);

/* Of many at the same time, within one time limit: ret_status[i] is 0 or a negative code. Without
 * ret_stats they are only asked to answer. */
HUTCH_API HUTCH_MUST_CHECK int
hutch_sandbox_stats_many(size_t count, struct hutch_sandbox *const *sandboxes, uint64_t timeout_ms,
                         struct hutch_stats *ret_stats, int *ret_status, struct hutch_error *err);

/* ---- keepers ---- */

/* The name under which a program is started to be a keeper: such a program's main() calls
 * hutch_keeper_main() at once and returns what it returns. The hutch command is one. */
#define HUTCH_KEEPER_NAME "hutch-keeper"
HUTCH_API int hutch_keeper_main(void);

#ifdef __cplusplus
}
#endif
#endif
