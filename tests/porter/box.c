/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/container/order.h"
#include "backend/native/blob.h"
#include "porter/keep.h"
#include "util/own.h"

double now_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void make_pipe(int ends[2])
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
}

size_t read_all(int fd, char *data, size_t size)
{
    size_t length = 0;
    ssize_t got;
    while (length < size && (got = read(fd, data + length, size - length)) > 0)
        length += (size_t)got;
    return length;
}

/* ---- the porter ------------------------------------------------------------------------------ */

static void become_porter(int socket, int control)
{
    int high = fcntl(control, F_DUPFD_CLOEXEC, 10);
    if (dup2(socket, PORTER_SOCKET_FD) < 0 || dup2(high, PORTER_CONTROL_FD) < 0 ||
        close_range(PORTER_CONTROL_FD + 1, ~0u, 0) < 0)
        _exit(99);
    /* as execution would */
    (void)fcntl(PORTER_SOCKET_FD, F_SETFD, 0);
    (void)fcntl(PORTER_CONTROL_FD, F_SETFD, 0);
    _exit(porter_keep("unshare"));
}

static void take_ready(struct box *box)
{
    int fd = -1;
    struct init_message report = box_hear(box, &fd);
    if (report.type == PORTER_FAILED) {
        struct hutch_error err;
        assert_int_equal(pread(fd, &err, sizeof(err), 0), sizeof(err));
        fail_msg("%s", err.msg);
    }
    assert_int_equal(report.type, PORTER_READY);
    assert_int_equal(pread(fd, &box->ready, sizeof(box->ready), 0), sizeof(box->ready));
    (void)close(fd);
}

void box_start(struct box *box, bool one_shot)
{
    int sockets[2], controls[2];
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct porter_order order = {
        .backend = "unshare", .id = "0123456789abcdef0123456789abcdef", .one_shot = one_shot};
    *box = (struct box){.socket = -1};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, controls), 0);
    assert_fine(hutch_spec_new(&order.spec, &err), &err);
    box->porter = fork();
    assert_true(box->porter >= 0);
    if (box->porter == 0)
        become_porter(sockets[1], controls[1]);
    (void)close(sockets[1]);
    (void)close(controls[1]);
    box->socket = sockets[0];
    box->control = controls[0];
    assert_fine(container_order_send(box->socket, &order, &err), &err);
    container_order_done(&order);
    take_ready(box);
}

int box_wait(struct box *box)
{
    int status = 0;
    assert_int_equal(waitpid(box->porter, &status, 0), box->porter);
    (void)close(box->socket);
    (void)close(box->control);
    return status;
}

int box_end(struct box *box)
{
    int fd = -1;
    box_send(box, PORTER_END, 0, 0);
    while (box_hear(box, &fd).type != PORTER_ENDED)
        if (fd >= 0)
            (void)close(fd);
    (void)close(fd);
    return box_wait(box);
}

/* ---- orders ---------------------------------------------------------------------------------- */

static void send_message(struct box *box, struct init_message *message,
                         const struct hutch_buf *blob, const int *fds, size_t fd_count)
{
    struct iovec data[2] = {{message, sizeof(*message)}, {blob ? blob->data : NULL, 0}};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * 8)];
    } control = {0};
    struct msghdr header = {.msg_iov = data, .msg_iovlen = 2};
    data[1].iov_len = message->inline_length = blob ? (uint32_t)blob->length : 0;
    if (fd_count) {
        header.msg_control = control.space;
        header.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(rights), fds, sizeof(int) * fd_count);
    }
    assert_true(sendmsg(box->socket, &header, MSG_NOSIGNAL) > 0);
}

void box_send(struct box *box, uint32_t type, uint32_t session, int value)
{
    struct init_message message = {.type = type, .session = session, .value = value};
    send_message(box, &message, NULL, NULL, 0);
}

static size_t count_of(const char *const *texts)
{
    size_t count = 0;
    while (texts[count])
        count++;
    return count;
}

static void build(const struct box *box, const struct command *command, struct hutch_buf *blob)
{
    static const char *const usual[] = {"PATH=/usr/bin:/bin", "TERM=xterm", NULL};
    const char *const *env = command->env ? command->env : usual;
    struct init_spawn spawn = {.uid = box->ready.uid,
                               .gid = box->ready.gid,
                               .set_groups = 1,
                               .terminal = command->terminal,
                               .rows = command->rows,
                               .columns = command->columns,
                               .program = command->program > 0,
                               .keeps_files = command->program > 0,
                               .guarded = !command->one_shot,
                               .one_shot = command->one_shot};
    for (int i = 0; i < INIT_RLIMITS; i++) {
        struct rlimit now;
        assert_int_equal(getrlimit((__rlimit_resource_t)i, &now), 0);
        spawn.rlimits[i] = (struct init_rlimit){now.rlim_cur, now.rlim_max};
    }
    hutch_buf_append(blob, &spawn, sizeof(spawn));
    spawn.argv = blob_texts(blob, (char *const *)(uintptr_t)command->argv, count_of(command->argv));
    spawn.envp = blob_texts(blob, (char *const *)(uintptr_t)env, count_of(env));
    spawn.workdir = blob_text(blob, "/");
    spawn.search = blob_text(blob, "/usr/bin:/bin");
    spawn.size = (uint32_t)blob->length;
    assert_false(blob->failed);
    memcpy(blob->data, &spawn, sizeof(spawn));
}

uint32_t box_spawn(struct box *box, const struct command *command)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf blob = HUTCH_BUF(BLOB_CEILING);
    struct init_message message = {.type = INIT_SPAWN, .session = ++box->last_session};
    struct hutch_error err = HUTCH_ERROR_INIT;
    hutch_autofd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    hutch_autofd int memfd = -1;
    int fds[8];
    size_t count = 0;
    build(box, command, &blob);
    bool is_long = blob.length > INIT_INLINE_BYTES;
    if (is_long) {
        memfd = blob_to_memfd(&blob, &err);
        assert_true(memfd >= 0);
        fds[count++] = memfd;
    }
    for (size_t i = 0; i < 3 && !command->terminal; i++)
        fds[count++] = command->fds[i] >= 0 ? command->fds[i] : null;
    if (command->program > 0)
        fds[count++] = command->program;
    send_message(box, &message, is_long ? NULL : &blob, fds, count);
    return message.session;
}

/* ---- reports --------------------------------------------------------------------------------- */

struct init_message box_hear(struct box *box, int *ret_fd)
{
    struct init_message message;
    struct iovec data = {&message, sizeof(message)};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * 2)];
    } control;
    struct msghdr header = {.msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = control.space,
                            .msg_controllen = sizeof(control.space)};
    struct pollfd ready = {box->socket, POLLIN, 0};
    assert_int_equal(poll(&ready, 1, BOX_PATIENCE_MS), 1);
    assert_int_equal(recvmsg(box->socket, &header, MSG_CMSG_CLOEXEC), sizeof(message));
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    *ret_fd = -1;
    if (rights)
        memcpy(ret_fd, CMSG_DATA(rights), sizeof(int));
    return message;
}

struct init_message box_expect(struct box *box, uint32_t type, uint32_t session, int *ret_fd)
{
    int fd = -1;
    struct init_message message = box_hear(box, &fd);
    if (message.type == INIT_FAILED && type != INIT_FAILED)
        fail_msg("stage %u: %s", message.stage, strerror(message.os_errno));
    assert_int_equal(message.type, type);
    assert_int_equal(message.session, session);
    if (ret_fd)
        *ret_fd = fd;
    else
        assert_int_equal(fd, -1);
    return message;
}

int box_run(struct box *box, const char *script, char *output, size_t size)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    int ends[2];
    make_pipe(ends);
    const struct command command = {.argv = argv, .fds = {-1, ends[1], ends[1]}};
    uint32_t session = box_spawn(box, &command);
    (void)close(ends[1]);
    box_expect(box, INIT_SPAWNED, session, NULL);
    size_t length = read_all(ends[0], output, size - 1);
    output[length] = '\0';
    (void)close(ends[0]);
    int status = box_expect(box, INIT_EXITED, session, NULL).value;
    box_expect(box, INIT_GONE, session, NULL);
    return status;
}
