/* SPDX-License-Identifier: Apache-2.0 */
/* The life of gateways. The first one starts beside PID 1, which waits for its requests before the
 * first command; those that follow get the same way to PID 1, the same table and a fresh copy of
 * the order. */
#include "backend/native/gateway.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/blob.h"
#include "backend/native/clone.h"
#include "backend/native/keeper.h"
#include "backend/native/programs.h"
#include "egress/link.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/program.h"

#define NEVER UINT64_MAX
#define SHORT_LIFE_US 1000000
#define FIRST_PAUSE_US 20000
#define LONGEST_PAUSE_US 1000000
#define ATTEMPTS 5 /* before the first order has ever been carried out */
#define AUTHORITY_PATIENCE_MS 10000
#define END_PATIENCE_MS 300  /* it sends what it has, and exits */
#define DESCRIPTORS_ABOVE 10 /* of those that it gets, until they have their numbers */

void gateway_init(struct gateway *gateway)
{
    gateway->pidfd = gateway->control = gateway->table = HUTCH_NO_FD;
    gateway->plant = gateway->plant_inside = HUTCH_NO_FD;
}

/* ---- starting -------------------------------------------------------------------------------- */

static int make_pair(int *ret_one, int *ret_other, struct hutch_error *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return hutch_fail_errno(err, errno, "make a socket pair");
    *ret_one = ends[0];
    *ret_other = fcntl(ends[1], F_DUPFD_CLOEXEC, DESCRIPTORS_ABOVE);
    (void)close(ends[1]);
    return *ret_other < 0 ? hutch_fail_errno(err, errno, "duplicate a descriptor") : 0;
}

/* A blob in a sealed memory file: whoever maps it need not fear that it shrinks. */
static int seal_order(const struct keeper *keeper, struct hutch_error *err)
{
    hutch_cleanup(hutch_buf_wipe) struct hutch_buf blob = HUTCH_BUF(BLOB_CEILING);
    if (gateway_order_build(keeper, &blob, err) < 0)
        return -(int)err->code;
    hutch_autofd int fd = memfd_create("hutch-order", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || hutch_write_all(fd, blob.data, blob.length) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return hutch_fail_errno(err, errno, "write the gateway's order");
    return HUTCH_TAKE_FD(fd);
}

int gateway_order(struct keeper *keeper, struct hutch_error *err)
{
    struct gateway *gateway = &keeper->gateway;
    struct egress_message message = {.type = EGRESS_ORDER, .number = ++gateway->order};
    struct iovec data = {&message, sizeof(message)};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.space = {0}};
    struct msghdr header = {.msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = control.space,
                            .msg_controllen = sizeof(control.space)};
    if (gateway->control < 0) /* the next one begins with it */
        return 0;
    hutch_autofd int order = seal_order(keeper, err);
    if (order < 0)
        return -(int)err->code;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &order, sizeof(int));
    if (sendmsg(gateway->control, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 || errno == EPIPE ||
        errno == ECONNRESET) /* it is dying: see gateway_hear */
        return 0;
    return hutch_fail_errno(err, errno, "give the gateway its order");
}

/* Nobody inside has its ids, which are those of this sandbox's slot. */
static void choose_ids(const struct keeper *keeper, struct clone_servant *servant)
{
    servant->changes_ids = keeper->privileged;
    servant->uid = keeper->identity.first_host_id + STATE_IDS_PER_SLOT - 1;
    servant->gid = keeper->identity.first_host_gid + STATE_IDS_PER_SLOT - 1;
}

/* Most need no TLS of their own: a small program of its own. */
static int open_program(const struct gateway *gateway, bool privileged, struct hutch_error *err)
{
    char buffer[PATH_MAX];
    if (!gateway->intercepts)
        return program_open(&program_gateway, privileged, err);
    int program = open(hutch_program_complete(buffer), O_PATH | O_CLOEXEC);
    if (program < 0)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, errno,
                          "secrets in HTTPS need the program 'hutch-full' beside 'hutch' or in "
                          "libexec/hutch, and it is not there; build or install hutch again");
    return program;
}

static int start(struct keeper *keeper, struct hutch_error *err)
{
    struct gateway *gateway = &keeper->gateway;
    struct clone_servant servant = {.name = "hutch-gateway",
                                    .file_bytes = sizeof(struct egress_table)};
    hutch_autofd int theirs = HUTCH_NO_FD;
    hutch_autofd int program = open_program(gateway, keeper->privileged, err);
    if (program < 0)
        return -(int)err->code;
    hutch_autofd int executed = fcntl(program, F_DUPFD_CLOEXEC, DESCRIPTORS_ABOVE);
    hutch_autofd int table = fcntl(gateway->table, F_DUPFD_CLOEXEC, DESCRIPTORS_ABOVE);
    hutch_autofd int plant = fcntl(gateway->plant, F_DUPFD_CLOEXEC, DESCRIPTORS_ABOVE);
    if (executed < 0 || table < 0 || plant < 0)
        return hutch_fail_errno(err, errno, "duplicate a descriptor");
    if (make_pair(&gateway->control, &theirs, err) < 0 || gateway_order(keeper, err) < 0)
        return -(int)err->code;
    choose_ids(keeper, &servant);
    servant.program = executed;
    servant.fds[EGRESS_CONTROL_FD - CLONE_FIRST_FD] = theirs;
    servant.fds[EGRESS_TABLE_FD - CLONE_FIRST_FD] = table;
    servant.fds[EGRESS_PLANT_FD - CLONE_FIRST_FD] = plant;
    gateway->started_us = now_us();
    gateway->start_again_us = 0;
    pid_t pid = clone_servant(&servant, &gateway->pidfd);
    if (pid < 0)
        return hutch_fail_errno(err, errno, "start the gateway");
    gateway->pid = pid;
    return 0;
}

int gateway_open(struct keeper *keeper, struct hutch_error *err)
{
    struct gateway *gateway = &keeper->gateway;
    if (!gateway->is_wanted)
        return 0;
    if (gateway->table < 0)
        gateway->table = egress_table_new(err);
    if (gateway->table < 0 || make_pair(&gateway->plant, &gateway->plant_inside, err) < 0)
        return -(int)err->code;
    return start(keeper, err);
}

/* Control characters have no place in a sentence, whoever wrote it. */
static void fail_refused(const struct egress_message *message, char *text, size_t length,
                         struct hutch_error *err)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~')
            text[i] = '?';
    (void)hutch_fail(err, HUTCH_E_SYSTEM, message->os_errno, "egress: %.*s", (int)length, text);
}

/* Before the plan is made, for the certificate is a part of it. */
int gateway_await_authority(struct gateway *gateway, struct hutch_error *err)
{
    struct {
        struct egress_message message;
        char text[EGRESS_TEXT_BYTES];
    } word;
    struct pollfd said = {gateway->control, POLLIN, 0};
    int found;
    do
        found = poll(&said, 1, AUTHORITY_PATIENCE_MS);
    while (found < 0 && errno == EINTR);
    ssize_t got = found > 0 ? recv(gateway->control, &word, sizeof(word), MSG_DONTWAIT) : -1;
    size_t length = got < (ssize_t)sizeof(word.message) ? 0 : (size_t)got - sizeof(word.message);
    if (length && word.message.type == EGRESS_FAILED) {
        fail_refused(&word.message, word.text, length, err);
        return -(int)err->code;
    }
    if (!length || word.message.type != EGRESS_AUTHORITY)
        return hutch_fail(err, HUTCH_E_SYSTEM, 0,
                          "the gateway that is to intercept TLS does not begin");
    gateway->authority = strndup(word.text, length);
    return gateway->authority ? 0 : hutch_fail_nomem(err);
}

/* ---- what becomes of one --------------------------------------------------------------------- */

/* Sockets that were for the one that died. */
static void drop_replies(int plant)
{
    char space[CMSG_SPACE(sizeof(int) * 256)];
    char data[1] = {0};
    for (;;) {
        struct iovec iov = {data, sizeof(data)};
        struct msghdr header = {.msg_iov = &iov,
                                .msg_iovlen = 1,
                                .msg_control = space,
                                .msg_controllen = sizeof(space)};
        if (recvmsg(plant, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0)
            return;
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        size_t count = rights && rights->cmsg_type == SCM_RIGHTS
                           ? (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int)
                           : 0;
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(rights) + i * sizeof(int), sizeof(int));
            (void)close(fd);
        }
    }
}

/* Reaps it. Its wait status is for a message alone. */
static int bury(struct gateway *gateway)
{
    int status = 0;
    pid_t got;
    do
        got = waitpid(gateway->pid, &status, __WALL);
    while (got < 0 && errno == EINTR);
    gateway->pid = 0;
    hutch_fd_close(&gateway->pidfd);
    hutch_fd_close(&gateway->control);
    egress_table_settle(gateway->table);
    if (gateway->plant >= 0)
        drop_replies(gateway->plant);
    return status;
}

static int fail_useless(int status, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_SYSTEM, 0,
                      "the gateway for egress ends as soon as it is started (%s %d)",
                      WIFSIGNALED(status) ? "signal" : "exit status",
                      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* At once the first time, then after longer and longer pauses. */
static void plan_next(struct gateway *gateway)
{
    uint64_t now = now_us();
    uint64_t pause = 0;
    gateway->deaths = now - gateway->started_us < SHORT_LIFE_US ? gateway->deaths + 1 : 0;
    if (gateway->deaths > 1)
        pause = (uint64_t)FIRST_PAUSE_US << (gateway->deaths < 8 ? gateway->deaths - 2 : 6);
    gateway->start_again_us = now + (pause < LONGEST_PAUSE_US ? pause : LONGEST_PAUSE_US);
}

static enum gateway_word take_death(struct gateway *gateway, struct hutch_error *err)
{
    int status = bury(gateway);
    if (gateway->is_released)
        return GATEWAY_NOTHING;
    if (!gateway->has_served)
        program_forget(&program_gateway);
    plan_next(gateway);
    if (gateway->has_served || gateway->deaths < ATTEMPTS)
        return GATEWAY_NOTHING;
    (void)fail_useless(status, err);
    gateway->start_again_us = 0;
    return GATEWAY_USELESS;
}

static enum gateway_word take_word(struct gateway *gateway, uint32_t *ret_number,
                                   struct hutch_error *err)
{
    struct {
        struct egress_message message;
        char text[300];
    } word;
    ssize_t got = recv(gateway->control, &word, sizeof(word), MSG_DONTWAIT);
    if (got < (ssize_t)sizeof(word.message))
        return GATEWAY_NOTHING; /* its end is told by its pidfd */
    *ret_number = word.message.number;
    switch (word.message.type) {
    case EGRESS_READY:
        gateway->has_served = true;
        return GATEWAY_DONE;
    case EGRESS_FAILED:
        fail_refused(&word.message, word.text, (size_t)got - sizeof(word.message), err);
        return GATEWAY_REFUSED;
    default:
        return GATEWAY_NOTHING;
    }
}

void gateway_watch(const struct gateway *gateway, struct pollfd fds[GATEWAY_FDS])
{
    bool is_there = gateway->is_wanted;
    fds[0] = (struct pollfd){is_there ? gateway->pidfd : -1, POLLIN, 0};
    fds[1] = (struct pollfd){is_there ? gateway->control : -1, POLLIN, 0};
}

/* What it said comes before its end. */
enum gateway_word gateway_hear(struct keeper *keeper, const struct pollfd fds[GATEWAY_FDS],
                               uint32_t *ret_number, struct hutch_error *err)
{
    struct gateway *gateway = &keeper->gateway;
    enum gateway_word word = GATEWAY_NOTHING;
    *ret_number = 0;
    if (fds[1].revents & POLLIN)
        word = take_word(gateway, ret_number, err);
    if (word == GATEWAY_NOTHING && fds[0].revents)
        word = take_death(gateway, err);
    return word;
}

uint64_t gateway_look(struct keeper *keeper)
{
    struct gateway *gateway = &keeper->gateway;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (!gateway->start_again_us)
        return NEVER;
    if (now_us() < gateway->start_again_us)
        return gateway->start_again_us;
    if (start(keeper, &ignored) == 0)
        return NEVER;
    hutch_fd_close(&gateway->control);
    plan_next(gateway);
    return gateway->start_again_us;
}

/* ---- ending ---------------------------------------------------------------------------------- */

void gateway_release(struct gateway *gateway)
{
    hutch_fd_close(&gateway->control);
    gateway->start_again_us = 0;
    gateway->is_released = true;
}

void gateway_end(struct gateway *gateway)
{
    if (gateway->is_wanted)
        gateway_release(gateway);
    if (gateway->pid <= 0)
        return;
    struct pollfd end = {gateway->pidfd, POLLIN, 0};
    if (poll(&end, 1, END_PATIENCE_MS) <= 0)
        (void)syscall(SYS_pidfd_send_signal, gateway->pidfd, SIGKILL, NULL, 0);
    (void)bury(gateway);
}

void gateway_done(struct gateway *gateway)
{
    gateway_end(gateway);
    hutch_fd_close(&gateway->plant);
    hutch_fd_close(&gateway->plant_inside);
    hutch_fd_close(&gateway->table);
    free(gateway->authority);
    gateway->authority = NULL;
}
