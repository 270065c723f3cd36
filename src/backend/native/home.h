/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox that stays has a home: a directory of its own below hutch's lib directory.
 *
 *     sandboxes/NAME/lock    locked by its keeper as long as that lives, or by whoever acts on it
 *     sandboxes/NAME/id      its id, which names its files in the pool; never changes
 *     sandboxes/NAME/spec    what was asked for, as JSON
 *     sandboxes/NAME/state   what it is now, lines "key value", replaced as a whole
 *     sandboxes/NAME/socket  where its keeper listens
 *     sandboxes/NAME/log/    what its command says; exec/ID/ what a recorded command says
 *
 * A home is made whole under a name that no sandbox can have (".new-ID") and then renamed; it goes
 * the same way (".gone-ID"). So whoever sees a name sees all of it, a name is taken by one rename
 * that does not replace, and what is left of a crash is known by its name and its free lock. */
#ifndef HUTCH_NATIVE_HOME_H
#define HUTCH_NATIVE_HOME_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"
#include "util/strlist.h"

struct hutch_spec;

#define HOME_NAME_BYTES 72 /* of a name, or of a temporary one */

struct home {
    char name[HOME_NAME_BYTES];
    int dir;
    int lock;
};

#define HOME_INIT           \
    {                       \
        {0}, -EBADF, -EBADF \
    }

enum home_state {
    HOME_STARTING,
    HOME_RUNNING,
    HOME_PAUSED,
    HOME_STOPPED, /* its files are kept */
    HOME_DEAD,    /* its files were in memory, or it was never ready */
    HOME_STATES
};

struct home_record {
    char id[33];
    enum home_state state;
    bool on_disk;        /* its files outlive its keeper */
    bool has_layer;      /* and are there already; not written down */
    uint64_t created_us; /* CLOCK_REALTIME */
    uint64_t started_us;
    uint64_t ended_us;
    char reason[32];  /* why it stopped */
    uint64_t missing; /* promises that could not be kept */
};

const char *home_state_name(enum home_state state);

/* A home of the name .new-ID with this spec, and its lock held. */
int home_make(struct home *ret_home, const char *id, const char *spec, struct hutch_error *err);
/* Gives it its name, or fails with HUTCH_E_CONFLICT. */
int home_publish(struct home *home, const char *name, struct hutch_error *err);
/* By name, or by id. One without a usable lock can be opened too: it is damaged and can only be
 * removed. */
int home_open(struct home *ret_home, const char *name, struct hutch_error *err);
/* One that is being made or removed; its lock may not be there any more, or never was: then whoever
 * made it has died. */
int home_open_leftover(struct home *ret_home, const char *name, struct hutch_error *err);
void home_close(struct home *home);

/* Does somebody hold its lock? */
bool home_is_held(const struct home *home);
/* HUTCH_E_CONFLICT when somebody else does, HUTCH_E_NOT_FOUND when it has been removed since it was
 * opened. */
int home_hold(struct home *home, struct hutch_error *err);

/* Has it still its name? */
bool home_is_there(const struct home *home);
/* Its id, also where its state is damaged. False when that is gone as well. */
bool home_read_id(const struct home *home, char ret_id[33]);

int home_write(const struct home *home, const struct home_record *record, struct hutch_error *err);
/* Over the one that is there: needs no room on a disk that is full. */
int home_write_over(const struct home *home, const struct home_record *record,
                    struct hutch_error *err);
/* As home_write() in two steps: what takes long first. Until the second nothing has changed. Of a
 * home that is new the former state stays beside the present one until it is forgotten. */
int home_prepare(const struct home *home, const struct home_record *record, bool is_new,
                 struct hutch_error *err);
int home_put(const struct home *home, bool is_new, struct hutch_error *err);
void home_forget_former(const struct home *home);
/* Of one that has been there for a moment: begins to write it to the disk. */
void home_write_out(const struct home *home);
/* What was written last, corrected by what is true: without a keeper nothing runs. */
int home_read(const struct home *home, struct home_record *ret_record, struct hutch_error *err);
int home_read_spec(const struct home *home, char **ret_text, size_t *ret_length,
                   struct hutch_error *err);

/* home_spec.c: the same, as what it means. */
int home_parse_spec(const struct home *home, struct hutch_spec **ret_spec, struct hutch_error *err);

int home_write_spec(const struct home *home, const char *json, struct hutch_error *err);

/* Both anew, the state first. A rename over another file waits until the new one has its place on
 * the disk; this leaves that to home_settle(), for when nobody waits any more. */
int home_exchange(const struct home *home, const struct home_record *record, const char *json,
                  struct hutch_error *err);
void home_settle(const struct home *home);
/* Makes the files for it ahead: finding an inode is what takes longest. */
void home_prepare_exchange(const struct home *home);

/* The socket, whatever the length of its path. Whoever connects is refused until it listens. */
int home_bind(const struct home *home, struct hutch_error *err);
int home_listen(const struct home *home, int fd, struct hutch_error *err);
/* Where too many others wait to be let in, this waits too or fails with EAGAIN. */
int home_connect(const struct home *home, bool waits, struct hutch_error *err);

/* Takes the name away and removes everything but what lies in the pool. Its lock must be held. */
int home_remove(struct home *home, const char *id, struct hutch_error *err);

/* home_images.c: the digests of the images that sandboxes are pinned to, whatever their state;
 * those that are being made too. */
int home_images(struct hutch_strlist *digests, struct hutch_error *err);

/* The names of all homes, those that are being made or removed left out or alone. */
int home_names(struct hutch_strlist *names, bool leftovers, struct hutch_error *err);

#endif
