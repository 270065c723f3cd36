/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper of a sandbox that stays: a process of its own that owns PID 1, the groups, the log and
 * the deadlines, and serves clients over the socket in the sandbox's home.
 *
 * Clients come and go; the sandbox does not notice. A command that a client started *attached* has
 * the client's own descriptors and ends with it: whoever is killed takes along what it was running.
 * A *recorded* command writes into a log that anybody may read from any offset, and goes on alone.
 *
 * One thread, one poll. Nothing in it waits for a client or for anything inside, but for who asked
 * for the sandbox and makes its files meanwhile (furnish.h). */
#ifndef HUTCH_NATIVE_WARDEN_H
#define HUTCH_NATIVE_WARDEN_H

#include <poll.h>

#include "backend/native/home.h"
#include "backend/native/keeper.h"
#include "backend/native/ledger.h"
#include "backend/native/wire.h"
#include "store/log.h"

#define WARDEN_NEVER UINT64_MAX
/* Whoever removes the whole home is done by then. */
#define WARDEN_HOME_PAUSE_US 200000
/* A start that takes longer is taken from the command's own time. */
#define SESSION_START_GRACE_US 500000

enum session_phase { SESSION_STARTING, SESSION_RUNNING, SESSION_ENDED };

/* Files of a command's groups, into which a process writes "0" to enter. */
struct entrances {
    int fds[CGROUP_MAX_GROUPS];
    size_t count;
};

/* One command in the sandbox. It stays as long as a process of it, an open pipe or a client needs
 * it. */
struct session {
    struct session *next;
    char id[17];
    uint32_t number;
    bool is_main; /* the sandbox's own command */
    enum session_phase phase;
    struct hutch_strlist command;
    char workdir[256]; /* for messages */
    struct cgroup cgroup;
    struct entrances entrances; /* of groups that were there before; else none are open */
    uint64_t cpu_us_before;     /* what its groups had counted when it came */
    bool had_spare;             /* they were there before it came */
    bool was_struck;            /* they were told to refuse and to kill */
    bool is_recorded;
    int pipes[2]; /* of a recorded one: our ends, or the terminal's master and none */
    int input;    /* of a recorded one that is given input: see session_record.c; negative: none */
    bool has_terminal;
    uint64_t settle_us; /* it has exited; what its terminal still holds is waited for until then */
    struct log_writer *log;
    struct redactor redactors[2]; /* of a recorded one, where values are not to get into its log */
    int directory;                /* of a recorded one: its log and how it ended */
    struct client *client; /* attached: whose it is; recorded: who hears that it has started */
    uint64_t asked_us;
    uint64_t started_us;
    uint64_t ended_us;
    uint64_t deadline_us;
    uint64_t timeout_ms;
    uint64_t oom_kills_before;
    uint64_t oom_kills;  /* since, where it failed */
    uint64_t disk_bytes; /* in the writable layer at its end, where it failed */
    bool is_dying;       /* its members are being killed */
    bool is_guarded;     /* without a cgroup PID 1 keeps its processes together: see init/guard.c */
    bool is_gone;        /* of a guarded one: nothing is left of it */
    uint64_t kill_again_us;
    bool was_killed;
    enum hutch_reason ended_by;
    bool held_pipes;
    int status;               /* wait status */
    enum hutch_reason reason; /* once it has ended */
    bool is_audited;          /* its beginning is noted: its end has to be */
};

/* Groups that wait for the next command; see session_groups.c. */
struct spare_groups {
    struct cgroup cgroup; /* without a group: none wait */
    struct entrances entrances;
    uint64_t cpu_us; /* that they have counted */
    uint64_t since_us;
};

struct client {
    struct client *next;
    int socket;         /* negative: gone */
    bool waits_for_end; /* of the sandbox */
    uint32_t awaited;   /* the number of a command whose end it waits for; 0: of none */
    bool holds;         /* the sandbox is paused until it goes */
    uint32_t order;     /* the gateway's that it waits for; 0: none */
};

/* Of recorded commands; see exec_logs.h. */
struct ended_log_sum {
    bool is_counted; /* what was there before this keeper is in it */
    size_t count;
    uint64_t bytes;
};

struct warden {
    struct home home;
    struct home_record record;
    struct hutch_spec *spec;
    struct image_use image; /* open from its start to the keeper's end */
    struct keeper *keeper;
    const char *verb;   /* how it began: "create" or "start" */
    struct audit audit; /* where its life is noted */
    struct ledger_egress egress_before;
    int listener;
    int bound;          /* its socket before it listens */
    ino_t socket_inode; /* of the socket that the listener made */
    int signals;
    int watched;              /* the home: see warden_home.c */
    uint64_t look_at_home_us; /* something has changed there; 0: nothing */
    bool is_young;            /* its state has never been on its way to the disk */
    int creator;              /* who waits for the sandbox to be ready; negative: nobody any more */
    bool awaits_command;      /* all is built, only its own command has not begun */
    struct client *clients;
    struct session *sessions;
    struct spare_groups spare;
    bool makes_ahead; /* the groups of the last command could not be kept */
    struct ended_log_sum ended_logs;
    uint32_t last_number;
    bool is_claimed; /* it was made ahead and is somebody's now: see claim.c */
    uint64_t idle_since_us;
    uint64_t kill_at_us; /* stopping: when patience ends */
    bool is_stopping;
    bool is_terminated; /* by a signal: then it does not rest */
    bool is_resting;    /* stopped, with its files in memory: it can only be started or removed */
    int layer;          /* those files */
    struct lease lease; /* whose ids they have */
    bool is_removing;   /* nothing is to be left of it */
    bool is_ending;     /* leave the loop */
    bool cpu_is_lifted; /* while something dies */
    char frozen[512];   /* v1: the freezer group, when there is one */
    const char *reason;
    struct hutch_error failure; /* why it could not be set up */
    struct hutch_error lost_artifacts;
    struct pollfd *fds;
    size_t fd_capacity;
};

/* warden.c */
int warden_main(void);
/* Ends it: everything is told to, and after the grace made to. */
void warden_stop(struct warden *warden, const char *reason, uint64_t grace_ms);

uint64_t warden_clock_us(void); /* since 1970 */
uint64_t warden_look_at_life(struct warden *warden);
int warden_gather(struct warden *warden, size_t *ret_count);
void warden_wait_until(struct warden *warden, size_t count, uint64_t next);
void warden_free_clients(struct warden *warden, bool all);

/* warden_end.c. Files in memory are kept by keeping their mount, and the ids they have. */
bool warden_can_rest(const struct warden *warden);
/* Returns when it is to be started again (true) or to end. */
bool warden_rest(struct warden *warden);
void warden_take_down(struct warden *warden, bool was_new);
/* Its own command, for whose start somebody waits, cannot begin. */
void warden_fail_command(struct warden *warden, const struct hutch_error *failure);

/* warden_home.c */
int warden_watch(struct warden *warden, struct hutch_error *err);
void warden_take_signals(struct warden *warden);
int warden_bind(struct warden *warden, struct hutch_error *err);
int warden_listen(struct warden *warden, struct hutch_error *err);
uint64_t warden_look_at_home(struct warden *warden); /* when to look again */

/* session_start.c */
int session_start(struct warden *warden, struct wire_message *request, struct client *client,
                  struct hutch_error *err);
int session_start_copy(struct warden *warden, struct wire_message *request, struct client *client,
                       struct hutch_error *err);
int session_start_main(struct warden *warden, struct hutch_error *err);

/* session_groups.c. Its entrances are open then, also on failure; once it is in, they are closed
 * unless they are used again and again. */
int session_enter_groups(struct warden *warden, struct session *session, struct hutch_error *err);
void session_is_in_groups(struct warden *warden, struct session *session);
/* True when nothing of the command is in them any more. */
bool session_leave_groups(struct warden *warden, struct session *session);
uint64_t spare_groups_look(struct warden *warden, uint64_t now); /* when to look again */
void spare_groups_drop(struct warden *warden);

/* session_record.c. What a recorded command was started as, beside its log. */
void session_record_start(const struct warden *warden, const struct session *session);
/* Where it reads from: the request's pipe, one of which we keep the other end, or nothing. */
int session_make_input(struct session *session, struct wire_message *request, int *ret_fd,
                       struct hutch_error *err);
int ask_input(struct warden *warden, struct client *client, struct wire_message *request,
              struct hutch_error *err);

/* session.c */
struct session *session_new(struct warden *warden, struct hutch_error *err);
/* Its time runs from then on. */
void session_set_deadline(struct session *session, uint64_t from_us);
void session_add(struct warden *warden, struct session *session);
void session_free(struct session *session);
struct session *session_find(const struct warden *warden, uint32_t number);
struct session *session_by_id(const struct warden *warden, const char *id, struct hutch_error *err);
void session_started(struct warden *warden, struct session *session, uint64_t time_us,
                     int terminal);
void session_failed(struct warden *warden, struct session *session,
                    const struct init_message *report);
void session_exited(struct warden *warden, struct session *session, int status);
void session_kill(struct session *session, enum hutch_reason reason);
/* What one says goes into its log. */
void session_read(struct warden *warden, struct session *session, size_t which);
/* Deadlines, members that will not die, groups that have become empty. When to look again. */
uint64_t sessions_look(struct warden *warden);
void sessions_free(struct warden *warden);
void session_describe_end(struct warden *warden, struct session *session,
                          struct wire_message *message);

/* requests.c: what clients may ask. */
void client_serve(struct warden *warden, struct client *client);
void client_drop(struct warden *warden, struct client *client);
/* What was paused for it alone goes on. */
void client_let_go(struct warden *warden, struct client *client);
void client_answer(struct client *client, const struct wire_message *message);
void client_answer_ok(struct client *client);

/* update.c: what can change while it lives. */
int ask_update(struct warden *warden, struct client *client, struct wire_message *request,
               struct hutch_error *err);
/* The gateway has carried an order out, or says why not. */
void clients_hear_of_order(struct warden *warden, uint32_t number,
                           const struct hutch_error *failure);

/* claim.c */
void claim_prepare(const struct warden *warden);
int ask_claim(struct warden *warden, struct client *client, struct wire_message *request,
              struct hutch_error *err);

/* freezer.c */
int freezer_freeze(struct warden *warden, struct hutch_error *err);
int freezer_thaw(struct warden *warden, struct hutch_error *err);

#endif
