/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "egress/dns.h"
#include "init/plant.h"
#include "util/own.h"

/* ---- namespaces ---- */

static bool write_file(const char *path, const char *text)
{
    hutch_autofd int fd = open(path, O_WRONLY | O_CLOEXEC | O_CREAT | O_TRUNC, 0644);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Root of namespaces of our own, whoever we are. */
static bool become_root(void)
{
    char map[64];
    uid_t uid = getuid();
    gid_t gid = getgid();
    if (unshare((uid ? CLONE_NEWUSER : 0) | CLONE_NEWNS | CLONE_NEWNET) < 0)
        return false;
    if (uid) {
        (void)write_file("/proc/self/setgroups", "deny");
        (void)snprintf(map, sizeof(map), "0 %u 1", uid);
        if (!write_file("/proc/self/uid_map", map))
            return false;
        (void)snprintf(map, sizeof(map), "0 %u 1", gid);
        if (!write_file("/proc/self/gid_map", map))
            return false;
    }
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* An address of lo, with its prefix; the label keeps several apart. */
static bool add_address(const char *label, const char *text, const char *mask)
{
    struct ifreq request = {0};
    struct sockaddr_in *address = (struct sockaddr_in *)(void *)&request.ifr_addr;
    hutch_autofd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", label);
    address->sin_family = AF_INET;
    (void)inet_pton(AF_INET, text, &address->sin_addr);
    if (ioctl(fd, SIOCSIFADDR, &request) < 0)
        return false;
    (void)inet_pton(AF_INET, mask, &address->sin_addr);
    return ioctl(fd, SIOCSIFNETMASK, &request) == 0;
}

static bool raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    hutch_autofd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return ioctl(fd, SIOCSIFFLAGS, &request) == 0;
}

static int this_network(void)
{
    return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

static bool make_files(void)
{
    char directory[] = "/tmp/hutch-gateway-XXXXXX", path[64];
    if (!mkdtemp(directory) || mount("none", directory, "tmpfs", 0, NULL) < 0)
        return false;
    (void)snprintf(path, sizeof(path), "%s/resolv.conf", directory);
    bool is_good = write_file(path, "nameserver 127.0.0.1\n") &&
                   mount(path, "/etc/resolv.conf", NULL, MS_BIND, NULL) == 0;
    (void)snprintf(path, sizeof(path), "%s/hosts", directory);
    is_good = is_good &&
              write_file(path, "127.0.0.1 localhost\n" PUBLIC_ADDRESS " filed.example\n") &&
              mount(path, "/etc/hosts", NULL, MS_BIND, NULL) == 0;
    (void)umount2(directory, MNT_DETACH);
    (void)rmdir(directory);
    return is_good;
}

/* ---- processes ---- */

static pid_t start(void)
{
    pid_t pid = fork();
    if (pid == 0)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

static void end(pid_t pid)
{
    if (pid > 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
    }
}

static void *share(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

bool world_make(struct world *world)
{
    *world = (struct world){.control = HUTCH_NO_FD};
    if (!become_root())
        return false;
    world->inside = this_network();
    if (!raise_loopback() || !add_address("lo:1", PLANT_SERVER_4, "255.254.0.0") ||
        unshare(CLONE_NEWNET) < 0)
        return false;
    world->outside = this_network();
    if (!raise_loopback() || !add_address("lo:1", PUBLIC_ADDRESS, "255.255.255.255") ||
        !add_address("lo:2", "10.9.8.7", "255.255.255.255") || !make_files())
        return false;
    world->seen = share(sizeof(*world->seen));
    world->table_fd = memfd_create("table", MFD_CLOEXEC);
    if (ftruncate(world->table_fd, sizeof(*world->table)) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, world->plant) < 0)
        return false;
    world->table =
        mmap(NULL, sizeof(*world->table), PROT_READ | PROT_WRITE, MAP_SHARED, world->table_fd, 0);
    world->init = start();
    if (world->init == 0) {
        (void)close(world->plant[0]);
        init_run(world->inside, world->plant[1]);
    }
    world->servers = start();
    if (world->servers == 0) {
        (void)setpgid(0, 0);
        servers_run(world->seen);
    }
    for (int i = 0; i < 1000 && !__atomic_load_n(&world->seen->is_ready, __ATOMIC_ACQUIRE); i++)
        (void)usleep(10000);
    return true;
}

void world_end(struct world *world)
{
    gateway_stop(world);
    (void)kill(-world->servers, SIGKILL);
    end(world->servers);
    end(world->init);
}

void world_forget_seen(struct world *world)
{
    memset(world->seen, 0, sizeof(*world->seen));
}

/* ---- the keeper's part ---- */

void gateway_start(struct world *world)
{
    int pair[2];
    const char *program = getenv("HUTCH_TEST_GATEWAY");
    if (!program)
        fail_msg("HUTCH_TEST_GATEWAY names the program");
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    world->gateway = start();
    if (world->gateway == 0 && program) {
        int high[3] = {fcntl(pair[1], F_DUPFD, 20), fcntl(world->table_fd, F_DUPFD, 20),
                       fcntl(world->plant[0], F_DUPFD, 20)};
        for (int i = 0; i < 3; i++)
            (void)dup2(high[i], EGRESS_CONTROL_FD + i);
        (void)close_range(6, ~0U, 0);
        (void)execl(program, "hutch-gateway", (char *)NULL);
        _exit(127);
    }
    (void)close(pair[1]);
    world->control = pair[0];
}

void gateway_stop(struct world *world)
{
    if (world->gateway <= 0)
        return;
    int status = -1;
    hutch_fd_close(&world->control);
    for (int i = 0; i < 300 && waitpid(world->gateway, &status, WNOHANG) == 0; i++)
        (void)usleep(10000);
    assert_int_equal(status, 0);
    world->gateway = 0;
}

static uint32_t put(char *blob, struct egress_order *order, const void *data, size_t length)
{
    uint32_t at = (order->size + 7) & ~7U;
    memcpy(blob + at, data, length);
    order->size = at + (uint32_t)length;
    return at;
}

static void put_opened(char *blob, struct egress_order *order, const struct wanted *wanted)
{
    struct egress_range ranges[4] = {0};
    for (; order->opened_count < 4 && wanted->opened[order->opened_count]; order->opened_count++) {
        struct egress_range *range = &ranges[order->opened_count];
        char text[64];
        (void)snprintf(text, sizeof(text), "%s", wanted->opened[order->opened_count]);
        char *slash = strchr(text, '/');
        *slash = '\0';
        range->family = AF_INET;
        range->prefix_bits = (uint16_t)strtoul(slash + 1, NULL, 10);
        (void)inet_pton(AF_INET, text, range->address);
    }
    order->opened = put(blob, order, ranges, sizeof(ranges));
}

static size_t write_order(char *blob, const struct wanted *wanted)
{
    struct egress_order order = {.size = sizeof(order),
                                 .max_connections = wanted->max_connections,
                                 .max_bytes = wanted->max_bytes,
                                 .max_rate = wanted->max_rate};
    char rules[2048];
    size_t length = 0;
    for (; order.rule_count < 8 && wanted->rules[order.rule_count]; order.rule_count++)
        length += 1 + (size_t)snprintf(rules + length, sizeof(rules) - length, "%s",
                                       wanted->rules[order.rule_count]);
    order.rules = put(blob, &order, rules, length);
    put_opened(blob, &order, wanted);
    if (wanted->proxy)
        order.proxy = put(blob, &order, wanted->proxy, strlen(wanted->proxy) + 1);
    if (wanted->login)
        order.proxy_login = put(blob, &order, wanted->login, strlen(wanted->login) + 1);
    memcpy(blob, &order, sizeof(order));
    return order.size;
}

static void send_order(struct world *world, int fd)
{
    struct egress_message head = {.type = EGRESS_ORDER, .number = ++world->order_number};
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.head = {.cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS,
                          .cmsg_len = CMSG_LEN(sizeof(int))}};
    struct iovec piece = {&head, sizeof(head)};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE(sizeof(int))};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    assert_int_equal(sendmsg(world->control, &message, MSG_NOSIGNAL), sizeof(head));
}

enum egress_message_type gateway_order(struct world *world, const struct wanted *wanted,
                                       char ret_text[512])
{
    static char blob[8192];
    struct {
        struct egress_message head;
        char text[512];
    } answer = {0};
    size_t size = write_order(blob, wanted);
    hutch_autofd int fd = memfd_create("order", MFD_CLOEXEC);
    assert_int_equal(write(fd, blob, size), (ssize_t)size);
    send_order(world, fd);
    struct pollfd poll_control = {world->control, POLLIN, 0};
    assert_int_equal(poll(&poll_control, 1, 5000), 1);
    assert_true(recv(world->control, &answer, sizeof(answer) - 1, 0) >=
                (ssize_t)sizeof(answer.head));
    assert_int_equal(answer.head.number, world->order_number);
    if (ret_text)
        memcpy(ret_text, answer.text, 512);
    return (enum egress_message_type)answer.head.type;
}

void gateway_start_with(struct world *world, const struct wanted *wanted)
{
    gateway_start(world);
    assert_int_equal(gateway_order(world, wanted, NULL), EGRESS_READY);
}
