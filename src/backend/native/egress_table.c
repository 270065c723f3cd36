/* SPDX-License-Identifier: Apache-2.0 */
/* What a gateway has put down (src/egress/link.h). It is outside of the sandbox, but what it reads
 * comes from inside: nothing of it is believed without a look. It is read and never mapped, so
 * nobody's truncation can hurt. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/gateway.h"
#include "egress/link.h"
#include "util/own.h"

#define TABLE_NAME "egress"

static const char *const why_words[EGRESS_WHYS] = {
    [EGRESS_WHY_NAME] = "name",         [EGRESS_WHY_PORT] = "port",
    [EGRESS_WHY_ADDRESS] = "address",   [EGRESS_WHY_RESOLVE] = "resolve",
    [EGRESS_WHY_RANGE] = "range",       [EGRESS_WHY_CONNECT] = "connect",
    [EGRESS_WHY_SNI] = "sni",           [EGRESS_WHY_HOST] = "host",
    [EGRESS_WHY_PROTOCOL] = "protocol", [EGRESS_WHY_CONNECTIONS] = "connections",
    [EGRESS_WHY_BYTES] = "bytes",       [EGRESS_WHY_CERTIFICATE] = "certificate",
    [EGRESS_WHY_UDP] = "udp",
};

int egress_table_new(struct hutch_error *err)
{
    hutch_autofd int fd = memfd_create("hutch-egress", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, sizeof(struct egress_table)) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return hutch_fail_errno(err, errno, "make the table of the sandbox's network");
    return HUTCH_TAKE_FD(fd);
}

/* One of another size was made by another version, and begins anew. */
int egress_table_open(int home, struct hutch_error *err)
{
    struct stat info;
    hutch_autofd int fd = openat(home, TABLE_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &info) < 0)
        return hutch_fail_errno(err, errno, "open the table of the sandbox's network");
    if (info.st_size != sizeof(struct egress_table) &&
        (ftruncate(fd, 0) < 0 || ftruncate(fd, sizeof(struct egress_table)) < 0))
        return hutch_fail_errno(err, errno, "make the table of the sandbox's network");
    egress_table_settle(fd);
    return HUTCH_TAKE_FD(fd);
}

void egress_table_settle(int table)
{
    static const uint64_t none = 0;
    (void)!pwrite(table, &none, sizeof(none), offsetof(struct egress_table, connections_open));
}

/* Only what a name or an address can have: it goes to terminals and into documents. */
static bool is_believable(const char *name)
{
    size_t length = strnlen(name, EGRESS_NAME_BYTES);
    if (!length || length == EGRESS_NAME_BYTES)
        return false;
    for (size_t i = 0; i < length; i++)
        if (name[i] <= ' ' || name[i] > '~' || strchr("\"\\<>&", name[i]))
            return false;
    return true;
}

/* The result: what is told, then its rows, then the table with the texts they point to. */
struct report {
    struct hutch_egress egress;
    struct hutch_egress_host hosts[EGRESS_HOSTS];
    struct hutch_egress_denial denials[EGRESS_DENIALS];
    struct egress_table table;
};

static void take_hosts(struct report *report)
{
    size_t count = 0;
    for (uint32_t i = 0; i < report->table.host_count && i < EGRESS_HOSTS; i++) {
        const struct egress_host *row = &report->table.hosts[i];
        if (is_believable(row->name))
            report->hosts[count++] = (struct hutch_egress_host){
                row->name, row->port, row->connections, row->bytes_out, row->bytes_in};
    }
    report->egress.hosts = report->hosts;
    report->egress.host_count = count;
}

static void take_denials(struct report *report)
{
    uint64_t end = report->table.denial_count;
    uint64_t number = end > EGRESS_DENIALS ? end - EGRESS_DENIALS : 0;
    size_t count = 0;
    for (; number < end; number++) {
        const struct egress_denial *row = &report->table.denials[number % EGRESS_DENIALS];
        if (is_believable(row->name) && row->why > 0 && row->why < EGRESS_WHYS)
            report->denials[count++] = (struct hutch_egress_denial){
                number, row->time_us, row->name, row->port, why_words[row->why], row->times};
    }
    report->egress.denials = report->denials;
    report->egress.denial_count = count;
}

/* Counts first, rows afterwards, each by a call of its own: see link.h. Rows that are not in use
 * are not read. */
static int read_table(int fd, struct egress_table *table)
{
    const size_t head = offsetof(struct egress_table, hosts);
    if (pread(fd, table, head, 0) != (ssize_t)head)
        return -1;
    size_t hosts = table->host_count < EGRESS_HOSTS ? table->host_count : EGRESS_HOSTS;
    size_t denials = table->denial_count < EGRESS_DENIALS ? table->denial_count : EGRESS_DENIALS;
    size_t host_bytes = hosts * sizeof(table->hosts[0]);
    size_t denial_bytes = denials * sizeof(table->denials[0]);
    return pread(fd, table->hosts, host_bytes, (off_t)head) == (ssize_t)host_bytes &&
                   pread(fd, table->denials, denial_bytes,
                         offsetof(struct egress_table, denials)) == (ssize_t)denial_bytes
               ? 0
               : -1;
}

int egress_table_read(int table, struct hutch_egress **ret_egress, struct hutch_error *err)
{
    struct report *report = calloc(1, sizeof(*report)); /* fresh pages need no clearing */
    if (!report)
        return hutch_fail_nomem(err);
    if (read_table(table, &report->table) < 0) {
        free(report);
        return hutch_fail(err, HUTCH_E_SYSTEM, errno,
                          "the table of the sandbox's network cannot be read");
    }
    const struct egress_table *counts = &report->table;
    report->egress = (struct hutch_egress){.connections = counts->connections,
                                           .connections_open = counts->connections_open,
                                           .bytes_out = counts->bytes_out,
                                           .bytes_in = counts->bytes_in,
                                           .denied = counts->denied,
                                           .gateways = counts->gateways};
    take_hosts(report);
    take_denials(report);
    *ret_egress = &report->egress;
    return 0;
}

int egress_table_look(int home, struct hutch_egress **ret_egress, struct hutch_error *err)
{
    hutch_autofd int fd = openat(home, TABLE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        *ret_egress = NULL;
        return 0;
    }
    if (fd < 0)
        return hutch_fail_errno(err, errno, "open the table of the sandbox's network");
    return egress_table_read(fd, ret_egress, err);
}
