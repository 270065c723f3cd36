/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/figures.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#define SAME_DENIAL_US 1000000

/* Rows looked at for the same denial: a flood of different ones costs no more than this each. */
#define RECENT_DENIALS 32

int figures_open(int fd, struct egress_table **ret_table, struct hutch_error *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return hutch_fail_errno(err, errno, "look at the gateway's table");
    if ((size_t)status.st_size < sizeof(struct egress_table))
        return hutch_fail(err, HUTCH_E_INTERNAL, 0, "the gateway's table is too small");
    void *memory =
        mmap(NULL, sizeof(struct egress_table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return hutch_fail_errno(err, errno, "map the gateway's table");
    struct egress_table *table = memory;
    if (table->host_count > EGRESS_HOSTS)
        table->host_count = 0;
    table->connections_open = 0;
    table->gateways++;
    *ret_table = table;
    return 0;
}

/* The keeper reads while we write, and nobody else writes. */
static void add(uint64_t *figure, uint64_t value)
{
    __atomic_store_n(figure, *figure + value, __ATOMIC_RELEASE);
}

struct egress_host *figures_host(struct egress_table *table, const char *name, uint16_t port)
{
    uint32_t count = table->host_count;
    for (uint32_t i = 0; i < count; i++)
        if (table->hosts[i].port == port && !strcmp(table->hosts[i].name, name))
            return &table->hosts[i];
    if (count == EGRESS_HOSTS)
        return &table->hosts[EGRESS_HOSTS - 1];
    struct egress_host *host = &table->hosts[count];
    bool is_last = count == EGRESS_HOSTS - 1;
    memset(host, 0, sizeof(*host));
    (void)strncpy(host->name, is_last ? "others" : name, sizeof(host->name) - 1);
    host->port = is_last ? 0 : port;
    __atomic_store_n(&table->host_count, count + 1, __ATOMIC_RELEASE);
    return host;
}

void figures_connection(struct egress_table *table, struct egress_host *host)
{
    add(&host->connections, 1);
    add(&table->connections, 1);
    add(&table->connections_open, 1);
}

void figures_connection_end(struct egress_table *table)
{
    add(&table->connections_open, (uint64_t)-1);
}

void figures_bytes(struct egress_table *table, struct egress_host *host, uint64_t out, uint64_t in)
{
    if (out) {
        add(&host->bytes_out, out);
        add(&table->bytes_out, out);
    }
    if (in) {
        add(&host->bytes_in, in);
        add(&table->bytes_in, in);
    }
}

uint64_t figures_total(const struct egress_table *table)
{
    return table->bytes_out + table->bytes_in;
}

/* ---- denials ---- */

static void write_name(char ret_name[EGRESS_NAME_BYTES], const char *name)
{
    size_t i = 0;
    for (; i < EGRESS_NAME_BYTES - 1 && name[i]; i++)
        ret_name[i] = (char)(name[i] > ' ' && name[i] <= '~' ? name[i] : '?');
    ret_name[i] = '\0';
}

static struct egress_denial *find_recent(struct egress_table *table, const char *name,
                                         uint16_t port, enum egress_why why, uint64_t now_us)
{
    uint64_t count = table->denial_count;
    for (uint64_t age = 1; age <= RECENT_DENIALS && age <= count; age++) {
        struct egress_denial *denial = &table->denials[(count - age) % EGRESS_DENIALS];
        if (denial->time_us + SAME_DENIAL_US < now_us)
            return NULL;
        if (denial->port == port && denial->why == why && !strcmp(denial->name, name))
            return denial;
    }
    return NULL;
}

void figures_deny(struct egress_table *table, const char *name, uint16_t port, enum egress_why why)
{
    struct timespec now;
    char written[EGRESS_NAME_BYTES];
    (void)clock_gettime(CLOCK_REALTIME, &now);
    uint64_t now_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    write_name(written, name);
    add(&table->denied, 1);
    struct egress_denial *denial = find_recent(table, written, port, why, now_us);
    if (denial) {
        if (denial->times < UINT32_MAX)
            __atomic_store_n(&denial->times, denial->times + 1, __ATOMIC_RELEASE);
        return;
    }
    denial = &table->denials[table->denial_count % EGRESS_DENIALS];
    *denial =
        (struct egress_denial){.time_us = now_us, .port = port, .why = (uint16_t)why, .times = 1};
    memcpy(denial->name, written, sizeof(written));
    add(&table->denial_count, 1);
}
