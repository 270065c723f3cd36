/* SPDX-License-Identifier: Apache-2.0 */
/* An order of the outside on its way to PID 1. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init/guest.h"
#include "init/init.h"

/* The descriptors that PID 1 gets: a long blob first, then those of the message. */
struct passage {
    int fds[FRAME_MAX_FDS + 1];
    uint32_t channels[FRAME_MAX_FDS + 1];
    uint32_t count;
};

static void passage_done(struct passage *passage)
{
    for (uint32_t i = 0; i < passage->count; i++)
        close(passage->fds[i]);
}

static int write_all(int fd, const uint8_t *data, size_t length)
{
    while (length) {
        ssize_t written = write(fd, data, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        data += written;
        length -= (size_t)written;
    }
    return 0;
}

/* Nobody reads it by its name, and it is not dumpable when it is executed: see native copies. */
static int make_file(const uint8_t *data, size_t length)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create("hutch-file", flags | 0x10U); /* MFD_EXEC */
    if (fd < 0 && errno == EINVAL) /* a kernel before 6.3 knows no such flag and needs none */
        fd = memfd_create("hutch-file", flags);
    if (fd < 0)
        return -1;
    if (write_all(fd, data, length) < 0 || fchmod(fd, 0111) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

/* A pipe: ours never blocks, the command's is an ordinary one. */
static int make_pipe(struct channel *channel, uint32_t kind)
{
    int ends[2];
    bool goes_in = kind == FRAME_FD_INPUT;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    int ours = ends[goes_in ? 1 : 0];
    (void)fcntl(ours, F_SETFL, O_NONBLOCK);
    *(goes_in ? &channel->target : &channel->source) = ours;
    return ends[goes_in ? 0 : 1];
}

static int make_channel(struct guest *guest, const struct passage *passage, uint32_t session,
                        const struct frame_fd *wanted)
{
    for (uint32_t i = 0; i < passage->count; i++)
        if (passage->channels[i] == wanted->channel)
            return fcntl(passage->fds[i], F_DUPFD_CLOEXEC, 0);
    struct channel *channel = tunnel_open(&guest->tunnel, wanted->channel, session, wanted->kind);
    guest->open_inputs += channel && wanted->kind == FRAME_FD_INPUT;
    return channel ? make_pipe(channel, wanted->kind) : -1;
}

/* No terminal yet: PID 1 makes it, and its master comes back with the report. */
static int reserve_terminal(struct guest *guest, uint32_t session, const struct frame_fd *wanted)
{
    struct channel *channel = tunnel_open(&guest->tunnel, wanted->channel, session, wanted->kind);
    if (channel)
        channel->is_reserved = true;
    return channel ? 0 : -1;
}

static int make_descriptors(struct guest *guest, const struct frame_parts *parts,
                            struct passage *passage)
{
    for (uint32_t i = 0; i < parts->fd_count; i++) {
        const struct frame_fd *wanted = &parts->fds[i];
        int fd = -1;
        switch (wanted->kind) {
        case FRAME_FD_INPUT:
        case FRAME_FD_OUTPUT:
            fd = make_channel(guest, passage, parts->message.session, wanted);
            break;
        case FRAME_FD_TERMINAL:
            if (reserve_terminal(guest, parts->message.session, wanted) < 0)
                return -1;
            continue;
        case FRAME_FD_NULL:
            fd = open("/dev/null", O_RDWR | O_CLOEXEC);
            break;
        case FRAME_FD_FILE:
            fd = make_file(parts->contents[i], wanted->length);
            break;
        default:
            errno = EPROTO;
            break;
        }
        if (fd < 0)
            return -1;
        passage->channels[passage->count] = wanted->channel;
        passage->fds[passage->count++] = fd;
    }
    return 0;
}

/* ---- sending --------------------------------------------------------------------------------- */

static int send_order(const struct guest *guest, struct init_message *message, const void *blob,
                      const struct passage *passage)
{
    struct iovec data[2] = {{message, sizeof(*message)},
                            {(void *)(uintptr_t)blob, message->inline_length}};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * (FRAME_MAX_FDS + 1))];
    } control;
    struct msghdr header = {.msg_iov = data, .msg_iovlen = 2};
    size_t bytes = passage->count * sizeof(int);
    if (passage->count) {
        memset(&control, 0, sizeof(control));
        header.msg_control = control.space;
        header.msg_controllen = CMSG_SPACE(bytes);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(rights), passage->fds, bytes);
    }
    return sendmsg(guest->socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

/* What the keeper assumes of its own machine and a container need not have: other limits, another
 * way of dumping, and no privilege at all. */
static void adapt(const struct guest *guest, struct init_spawn *spawn)
{
    spawn->keeps_files = spawn->set_groups = 0;
    for (int i = 0; i < INIT_RLIMITS; i++) {
        struct init_rlimit *wanted = &spawn->rlimits[i];
        struct init_rlimit now;
        if (syscall(SYS_prlimit64, 0, i, NULL, &now) < 0)
            continue;
        wanted->hard = wanted->hard < now.hard ? wanted->hard : now.hard;
        wanted->soft = wanted->soft < wanted->hard ? wanted->soft : wanted->hard;
    }
    struct init_rlimit *core = &spawn->rlimits[RLIMIT_CORE];
    spawn->pin_core_limit = guest->core_dumps_are_piped && core->hard > 0;
    core->soft = core->hard = spawn->pin_core_limit ? 1 : 0;
}

static int pass_spawn(struct guest *guest, struct frame_parts *parts)
{
    struct passage passage = {.count = 0};
    struct init_spawn spawn;
    bool is_long = parts->blob_length > INIT_INLINE_BYTES;
    memcpy(&spawn, parts->blob, sizeof(spawn));
    adapt(guest, &spawn);
    memcpy(parts->blob, &spawn, sizeof(spawn));
    int status = 0;
    if (is_long) {
        passage.fds[0] = make_file(parts->blob, parts->blob_length);
        status = passage.fds[0] < 0 ? -1 : 0;
        passage.count = status < 0 ? 0 : 1;
    }
    parts->message.inline_length = is_long ? 0 : parts->blob_length;
    if (status == 0)
        status = make_descriptors(guest, parts, &passage);
    if (status == 0)
        status = send_order(guest, &parts->message, parts->blob, &passage);
    int saved = errno;
    passage_done(&passage);
    errno = saved;
    return status;
}

/* There is nobody but us to say that a command cannot be started. */
static int report_failure(struct guest *guest, const struct frame_parts *parts)
{
    struct init_message failed = {.type = INIT_FAILED,
                                  .stage = INIT_STAGE_STDIO,
                                  .os_errno = errno,
                                  .session = parts->message.session};
    tunnel_forget_session(&guest->tunnel, failed.session);
    for (uint32_t i = 0; i < parts->fd_count; i++) /* frames for them may be on their way */
        if (parts->fds[i].channel > guest->tunnel.last_number)
            guest->tunnel.last_number = parts->fds[i].channel;
    return reports_add(&guest->reports, &failed, -1, 0);
}

int guest_pass_order(struct guest *guest, struct frame_parts *parts)
{
    struct passage nothing = {.count = 0};
    switch (parts->message.type) {
    case INIT_SPAWN:
        if (parts->blob_length < sizeof(struct init_spawn))
            return -1;
        if (pass_spawn(guest, parts) == 0)
            return 0;
        return errno == EPROTO ? -1 : report_failure(guest, parts);
    case INIT_SIGNAL:
    case INIT_KILL:
        if (parts->fd_count || parts->blob_length)
            return -1;
        parts->message.inline_length = 0;
        return send_order(guest, &parts->message, NULL, &nothing);
    default:
        return -1;
    }
}
