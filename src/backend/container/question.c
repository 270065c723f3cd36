/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "backend/container/link.h"
#include "util/own.h"

/* The keeper does nothing else meanwhile. To look must be quick; to change something may take an
 * engine a moment. */
#define LOOK_MS 2000
#define CHANGE_MS 10000

static int fail_gone(struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0, "the container's engine has let go of it");
}

int link_ask(struct container_link *link, const struct porter_question *question,
             struct porter_answer *ret_answer, struct hutch_error *err)
{
    struct pollfd answer = {link->control, POLLIN, 0};
    if (link->control < 0)
        return fail_gone(err);
    ssize_t done = send(link->control, question, sizeof(*question), MSG_NOSIGNAL | MSG_DONTWAIT);
    int ready = 0;
    if (done == (ssize_t)sizeof(*question))
        do
            ready = poll(&answer, 1, question->kind == PORTER_STATS ? LOOK_MS : CHANGE_MS);
        while (ready < 0 && errno == EINTR);
    if (ready == 1)
        done = recv(link->control, ret_answer, sizeof(*ret_answer), MSG_DONTWAIT);
    if (ready == 1 && done == (ssize_t)sizeof(*ret_answer)) {
        if (!ret_answer->error.code)
            return 0;
        *err = ret_answer->error;
        return -(int)err->code;
    }
    hutch_fd_close(&link->control); /* a late answer would be taken for the next one's */
    return ready == 0 ? hutch_fail(err, HUTCH_E_UNAVAILABLE, ETIMEDOUT,
                                   "the container's engine does not answer")
                      : fail_gone(err);
}
