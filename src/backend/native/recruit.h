/* SPDX-License-Identifier: Apache-2.0 */
/* A keeper's process that waits to be told what to keep, and ends when nobody tells it. It is
 * started before its sandbox's home is made: a program's start takes as long as that. */
#ifndef HUTCH_NATIVE_RECRUIT_H
#define HUTCH_NATIVE_RECRUIT_H

#include <stdbool.h>
#include <sys/types.h>

#include "backend/native/home.h"
#include "util/own.h"

/* Its word, once all is on record that is to be made. A keeper that does not know it makes the
 * layer itself. */
#define HUTCH_KEEPER_WANTS_LAYER "bring_layer"

struct recruit {
    int socket;
    pid_t starter;  /* what leaves the keeper itself to fend for itself; 0: none */
    bool has_layer; /* it was made for the keeper, which may have failed since */
};

#define RECRUIT_INIT          \
    {                         \
        HUTCH_NO_FD, 0, false \
    }

int recruit_start(struct recruit *recruit, struct hutch_error *err);
/* Hands the home and its lock over and waits until the sandbox is ready. Of a new one `spec` is
 * what the home says, else NULL. */
int recruit_employ(struct recruit *recruit, const struct home *home,
                   const struct home_record *record, const struct hutch_spec *spec,
                   struct hutch_error *err);
/* Safe at any point. */
void recruit_dismiss(struct recruit *recruit);

#endif
