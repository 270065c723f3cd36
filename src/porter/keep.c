/* SPDX-License-Identifier: Apache-2.0 */
/* A container for a keeper: made, kept and taken away.
 *
 * The porter lives as long as the container. It ends it when the keeper says so or is gone, and
 * ends itself when the container has ended; in every path the engine's part releases what it has
 * made. */
#include "porter/keep.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/container/order.h"
#include "porter/counters.h"
#include "porter/engines.h"
#include "porter/outer.h"
#include "util/fs.h"
#include "util/own.h"

#define HELLO_PATIENCE_US 30000000
/* To end by itself takes a container no longer than the kernel takes to kill its processes. */
#define END_PATIENCE_US 300000
#define REST_PATIENCE_US 200000 /* for what an engine has not passed on yet */

struct keep {
    struct porter_order order;
    const struct container_ops *ops;
    struct container *container;
    struct outer outer;
    bool is_paused;
};

/* ---- what the keeper is told ----------------------------------------------------------------- */

struct part {
    const void *data;
    size_t length;
};

/* A report of our own: the parts one after the other in a memory file, and perhaps a directory. */
static void tell(enum porter_report type, const struct part *parts, size_t count, int directory)
{
    struct init_message message = {.type = type};
    struct iovec data = {&message, sizeof(message)};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(2 * sizeof(int))];
    } control = {0};
    hutch_autofd int memory = memfd_create("hutch-report", MFD_CLOEXEC);
    for (size_t i = 0; i < count && memory >= 0; i++)
        if (hutch_write_all(memory, parts[i].data, parts[i].length) < 0)
            hutch_fd_close(&memory);
    if (memory < 0)
        return; /* the keeper hears of our end, and that is all */
    int fds[2] = {memory, directory};
    size_t bytes = (directory >= 0 ? 2 : 1) * sizeof(int);
    struct msghdr header = {.msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = control.space,
                            .msg_controllen = CMSG_SPACE(bytes)};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(bytes);
    memcpy(CMSG_DATA(rights), fds, bytes);
    while (sendmsg(PORTER_SOCKET_FD, &header, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

static void tell_failure(const struct hutch_error *err)
{
    const struct part part = {err, sizeof(*err)};
    tell(PORTER_FAILED, &part, 1, HUTCH_NO_FD);
}

static int tell_ready(struct keep *keep, struct hutch_error *err)
{
    const struct frame_hello *hello = &keep->outer.hello;
    struct porter_ready ready = {
        .uid = hello->uid, .gid = hello->gid, .missing = keep->order.missing};
    hutch_autofree char *config = NULL;
    if (keep->ops->config(keep->container, &config, err) < 0)
        return -(int)err->code;
    (void)snprintf(ready.home, sizeof(ready.home), "%s", hello->home);
    ready.config_length = config ? (uint32_t)strlen(config) : 0;
    const struct part parts[] = {{&ready, sizeof(ready)}, {config, ready.config_length}};
    tell(PORTER_READY, parts, config ? 2 : 1, keep->ops->memory_layer(keep->container));
    return 0;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static int begin(struct keep *keep, const char *backend, struct hutch_error *err)
{
    struct porter_probe probe = {.error = HUTCH_ERROR_INIT};
    if (container_order_receive(PORTER_SOCKET_FD, &keep->order, err) < 0 ||
        engine_find(backend, &keep->ops, err) < 0)
        return -(int)err->code;
    const char *id = keep->order.is_there ? keep->order.id : NULL;
    if (keep->ops->probe(keep->order.spec, keep->order.runtime, id, &probe) < 0 ||
        probe.error.code) {
        *err = probe.error;
        return -(int)err->code;
    }
    if (hutch_promises_settle(keep->order.spec, probe.enforces, probe.why, &keep->order.missing,
                              err) < 0)
        return -(int)err->code;
    return keep->ops->start(&keep->order, &keep->container, err);
}

static bool is_over(const struct outer *outer)
{
    return outer->stream_ended || outer->is_broken || outer->keeper_gone || outer->end_asked;
}

/* Why there was no word from inside. */
static int fail_silent(struct keep *keep, struct hutch_error *err)
{
    char why[300] = "";
    keep->ops->explain(keep->container, why, sizeof(why));
    if (keep->outer.is_broken)
        return hutch_fail(err, HUTCH_E_INTERNAL, 0,
                          "what the container says at its start is not hutch-init's: %s",
                          *why ? why : "is it of another version?");
    if (keep->outer.stream_ended)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0,
                          "the container ended before hutch-init ran in it%s%s", *why ? ": " : "",
                          why);
    return hutch_fail(err, HUTCH_E_UNAVAILABLE, ETIMEDOUT,
                      "the container was started, but hutch-init has not spoken within %d s%s%s",
                      HELLO_PATIENCE_US / 1000000, *why ? ": " : "", why);
}

static int check_identity(const struct keep *keep, struct hutch_error *err)
{
    const struct frame_hello *hello = &keep->outer.hello;
    if (keep->order.has_ids && hello->uid != keep->order.uid)
        return hutch_fail(err, HUTCH_E_INTERNAL, 0,
                          "the engine has started the container as user %u instead of %u",
                          hello->uid, keep->order.uid);
    if (hello->uid == 0 && !keep->ops->maps_ids(keep->container))
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "root inside would be root of the engine's machine, for this engine maps "
                          "no ids; give another user with '-u', such as '-u 1000'");
    return 0;
}

static int await_hello(struct keep *keep, struct hutch_error *err)
{
    struct outer *outer = &keep->outer;
    uint64_t until = report_clock_us() + HELLO_PATIENCE_US;
    while (!outer->has_hello && !is_over(outer) && report_clock_us() < until)
        if (outer_turn(outer, until, err) < 0)
            return -(int)err->code;
    if (outer->keeper_gone || outer->end_asked)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0, "the keeper wants the container no more");
    return outer->has_hello && !outer->is_broken ? check_identity(keep, err)
                                                 : fail_silent(keep, err);
}

/* ---- questions ------------------------------------------------------------------------------- */

static int do_asked(struct keep *keep, const struct porter_question *question,
                    struct porter_answer *answer, struct hutch_error *err)
{
    int status = 0;
    switch (question->kind) {
    case PORTER_PAUSE:
    case PORTER_RESUME:
        status = keep->ops->pause(keep->container, question->kind == PORTER_PAUSE, err);
        if (status == 0)
            keep->is_paused = question->kind == PORTER_PAUSE;
        return status;
    case PORTER_UPDATE:
        return keep->ops->update(keep->container, &question->limits, err);
    case PORTER_STATS:
        if (keep->ops->counts_inside && !keep->is_paused && counters_ask(&keep->outer, answer))
            return 0;
        return keep->ops->stats(keep->container, answer, err);
    default:
        return hutch_fail(err, HUTCH_E_INTERNAL, 0, "a question that is none");
    }
}

static void answer_question(struct keep *keep)
{
    struct porter_question question;
    struct porter_answer answer = {.error = HUTCH_ERROR_INIT};
    struct hutch_error err = HUTCH_ERROR_INIT;
    ssize_t got = recv(PORTER_CONTROL_FD, &question, sizeof(question), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got != (ssize_t)sizeof(question)) {
        keep->outer.control = -1; /* nobody asks any more */
        return;
    }
    if (do_asked(keep, &question, &answer, &err) < 0)
        answer.error = err;
    (void)send(PORTER_CONTROL_FD, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- serving --------------------------------------------------------------------------------- */

static int serve(struct keep *keep, struct hutch_error *err)
{
    struct outer *outer = &keep->outer;
    while (!is_over(outer)) {
        if (outer_turn(outer, UINT64_MAX, err) < 0)
            return -(int)err->code;
        if (outer->has_question)
            answer_question(keep);
    }
    if (outer->is_broken)
        return hutch_fail(err, HUTCH_E_INTERNAL, 0,
                          "what came out of the container is not what hutch-init says; it was "
                          "ended");
    return 0;
}

static int run(struct keep *keep, const char *backend, struct hutch_error *err)
{
    if (begin(keep, backend, err) < 0)
        return -(int)err->code;
    outer_init(&keep->outer, keep->ops, keep->container, PORTER_SOCKET_FD, PORTER_CONTROL_FD);
    if (await_hello(keep, err) < 0 || tell_ready(keep, err) < 0)
        return -(int)err->code;
    return serve(keep, err);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Until the stream has ended, but not for long. */
static void hear_rest(struct keep *keep, uint64_t patience_us)
{
    struct outer *outer = &keep->outer;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    uint64_t until = report_clock_us() + patience_us;
    while (!outer->stream_ended && !outer->is_broken && report_clock_us() < until)
        if (outer_turn(outer, until, &ignored) < 0)
            return;
}

/* hutch-init is told first: it passes on what is in its pipes, and is quicker than an engine. It is
 * not relied on. */
static void end_container(struct keep *keep, struct porter_end *ret_end)
{
    struct outer *outer = &keep->outer;
    outer->is_deaf = true;
    if (outer->has_hello && !outer->stream_ended && !outer->is_broken && !keep->is_paused) {
        frame_put(&outer->tunnel.out, FRAME_END, 0, NULL, 0);
        hear_rest(keep, END_PATIENCE_US);
    }
    if (outer->stream_ended)
        outer_finish(outer);
    (void)!keep->ops->end(keep->container, ret_end, &ret_end->error);
    if (keep->ops->counts_inside)
        counters_add(outer, !(keep->order.missing & HUTCH_PROMISE_BIT(DISK)), ret_end);
    hear_rest(keep, REST_PATIENCE_US);
    outer_finish(outer);
}

static int end(struct keep *keep, const struct hutch_error *failure)
{
    struct porter_end end = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    hutch_autofd int artifacts = HUTCH_NO_FD;
    bool keeps =
        keep->outer.end_asked ? keep->outer.end_value == PORTER_END_KEEPS : !keep->order.one_shot;
    end_container(keep, &end);
    if (failure)
        tell_failure(failure);
    else if (keep->order.spec->artifacts && !end.error.code)
        (void)!keep->ops->artifacts(keep->container, &artifacts, end.place, &end.error);
    const struct part part = {&end, sizeof(end)};
    tell(PORTER_ENDED, &part, 1, artifacts);
    hutch_fd_close(&artifacts);
    /* one that was there before is not taken away because it could not be started */
    return keep->ops->release(keep->container, failure ? keep->order.is_there : keeps, &err);
}

int porter_keep(const char *backend)
{
    struct keep *keep = calloc(1, sizeof(*keep));
    struct hutch_error err = HUTCH_ERROR_INIT;
    int status = 0;
    if (!keep)
        return 1;
    (void)setsid(); /* what is typed at the keeper's terminal is not for us */
    (void)signal(SIGPIPE, SIG_IGN);
    bool failed = run(keep, backend, &err) < 0;
    if (keep->container)
        status = end(keep, failed ? &err : NULL);
    else
        tell_failure(&err);
    outer_done(&keep->outer);
    container_order_done(&keep->order);
    free(keep);
    return status < 0 ? 1 : 0;
}
