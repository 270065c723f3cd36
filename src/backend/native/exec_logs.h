/* SPDX-License-Identifier: Apache-2.0 */
/* The logs of recorded commands that have ended. */
#ifndef HUTCH_NATIVE_EXEC_LOGS_H
#define HUTCH_NATIVE_EXEC_LOGS_H

#include "backend/native/warden.h"

/* Removes the oldest until all of them together are within the sandbox's limit. What cannot be
 * removed stays: a command is not refused because of an old log. */
void exec_logs_make_room(struct warden *warden);
/* One more has ended, with so many bytes. */
void exec_logs_ended(struct warden *warden, uint64_t bytes);

#endif
