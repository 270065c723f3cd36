/* SPDX-License-Identifier: Apache-2.0 */
/* Programs inside. */
#include "world.h"

#include <errno.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "egress/dns.h"
#include "egress/dns_wire.h"
#include "init/plant.h"
#include "util/own.h"

static int inside_socket(struct world *world, int family, int type)
{
    const struct timeval patience = {.tv_sec = 10};
    assert_int_equal(setns(world->inside, CLONE_NEWNET), 0);
    int fd = socket(family, type | SOCK_CLOEXEC, 0);
    assert_int_equal(setns(world->outside, CLONE_NEWNET), 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return fd;
}

int inside_ask(struct world *world, const char *name, uint16_t type, struct address *ret_address)
{
    uint8_t message[DNS_MAX_QUESTION], reply[DNS_MAX_REPLY];
    struct address server = {0};
    struct sockaddr_storage to;
    struct dns_answer answer;
    memset(ret_address, 0, sizeof(*ret_address));
    (void)address_parse(PLANT_SERVER_4, &server);
    socklen_t length = address_socket(&server, 53, &to);
    hutch_autofd int fd = inside_socket(world, AF_INET, SOCK_DGRAM);
    size_t asked = dns_ask(7, name, (enum dns_type)type, message);
    if (sendto(fd, message, asked, 0, (struct sockaddr *)&to, length) != (ssize_t)asked)
        return -1;
    ssize_t got = recv(fd, reply, sizeof(reply), 0);
    if (got < DNS_HEADER_BYTES ||
        !dns_answer_parse(reply, (size_t)got, 7, name, (enum dns_type)type, &answer))
        return -1;
    if (answer.count)
        *ret_address = answer.addresses[0];
    return (int)answer.code;
}

int inside_connect_address(struct world *world, const struct address *address, uint16_t port)
{
    struct sockaddr_storage to;
    socklen_t length = address_socket(address, port, &to);
    int fd = inside_socket(world, address->family, SOCK_STREAM);
    if (connect(fd, (struct sockaddr *)&to, length) == 0)
        return fd;
    int saved = errno;
    (void)close(fd);
    return -saved;
}

int inside_connect(struct world *world, const char *name, uint16_t port)
{
    struct address address;
    if (inside_ask(world, name, DNS_A, &address) != DNS_OK || !address.family)
        return -ENOENT;
    return inside_connect_address(world, &address, port);
}

ssize_t read_some(int fd, void *data, size_t length)
{
    size_t filled = 0;
    while (filled < length) {
        ssize_t got = read(fd, (char *)data + filled, length - filled);
        if (got < 0)
            return filled ? (ssize_t)filled : -errno;
        if (got == 0)
            break;
        filled += (size_t)got;
    }
    return (ssize_t)filled;
}

bool saw(struct world *world, const char *text)
{
    for (int i = 0; i < 200; i++) {
        if (memmem(world->seen->bytes, SEEN_BYTES, text, strlen(text)))
            return true;
        (void)usleep(10000);
    }
    return false;
}

bool was_denied(struct world *world, const char *name, uint16_t port, enum egress_why why)
{
    for (int tries = 0; tries < 200; tries++) {
        uint64_t count = __atomic_load_n(&world->table->denial_count, __ATOMIC_ACQUIRE);
        for (uint64_t i = 0; i < count && i < EGRESS_DENIALS; i++) {
            const struct egress_denial *denial = &world->table->denials[i];
            if (denial->port == port && denial->why == why && !strcmp(denial->name, name))
                return true;
        }
        (void)usleep(10000);
    }
    return false;
}

bool was_counted(const uint64_t *figure, uint64_t value)
{
    for (int tries = 0; tries < 200; tries++) {
        if (__atomic_load_n(figure, __ATOMIC_ACQUIRE) == value)
            return true;
        (void)usleep(10000);
    }
    return false;
}
