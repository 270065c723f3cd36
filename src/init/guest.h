/* SPDX-License-Identifier: Apache-2.0 */
/* hutch-init as the first process of a container that some engine has made. */
#ifndef HUTCH_INIT_GUEST_H
#define HUTCH_INIT_GUEST_H

#include "porter/report.h"
#include "porter/tunnel.h"

struct guest {
    int in; /* the container's standard input and output */
    int out;
    int socket;      /* to PID 1's loop, as a keeper's would be */
    bool is_stalled; /* a message waits for room in the socket */
    bool has_heard;  /* anything from outside */
    uint64_t heard_us;
    bool core_dumps_are_piped;
    uint32_t
        open_inputs; /* channels on which the outside has not said that nothing comes any more */
    struct tunnel tunnel;
    struct reports reports;
};

/* Instead of a keeper's socket: starts the tunnel's inner end. 0, or -1 with errno. */
int guest_begin(void);
/* The loop has ended: what is left is sent, then this process ends. */
_Noreturn void guest_finish(void);

/* guest_order.c: a message of the outside, with descriptors made from its channels, goes to PID 1.
 * -1: it cannot be understood. */
int guest_pass_order(struct guest *guest, struct frame_parts *parts);

/* guest_counters.c: what the kernel has counted goes out; at the end also what is full. */
void guest_send_counters(struct guest *guest, bool is_end);

/* guest_end.c: what is still on its way to commands that have ended. */
void guest_hear_last_words(struct guest *guest);

/* guest_disk.c: FRAME_*_IS_FULL. */
uint32_t guest_look_for_room(void);

#endif
