/* SPDX-License-Identifier: Apache-2.0 */
/* Input that is on its way is taken in, whoever it was for. An engine that holds some of it when
 * the container ends closes its streams with that unread, and the kernel then drops what has not
 * been heard yet of ours: podman's does. */
#include <poll.h>
#include <unistd.h>

#include "init/guest.h"

#define PATIENCE_US 200000

void guest_hear_last_words(struct guest *guest)
{
    struct frame_reader *in = &guest->tunnel.in;
    struct frame frame;
    uint64_t until = report_clock_us() + PATIENCE_US;
    while (guest->open_inputs) {
        int found = frame_next(in, &frame);
        if (found < 0 || (found && frame.type == FRAME_END))
            return;
        if (found) {
            guest->open_inputs -= frame.type == FRAME_CLOSE;
            continue;
        }
        size_t room;
        uint8_t *place = frame_reader_room(in, &room);
        uint64_t now = report_clock_us();
        struct pollfd ready = {.fd = guest->in, .events = POLLIN};
        if (!place || now >= until || poll(&ready, 1, (int)((until - now) / 1000) + 1) <= 0)
            return;
        ssize_t got = read(guest->in, place, room);
        if (got <= 0)
            return;
        frame_reader_filled(in, (size_t)got);
    }
}
