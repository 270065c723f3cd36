/* SPDX-License-Identifier: Apache-2.0 */
/* What a gateway tells, and the ranges that an operator opens. */
#include "unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "backend/native/gateway.h"
#include "core/cidr.h"
#include "egress/link.h"
#include "util/own.h"

static void put(int fd, const struct egress_table *table)
{
    assert_int_equal(pwrite(fd, table, sizeof(*table), 0), sizeof(*table));
}

static struct hutch_egress *look(int fd)
{
    struct hutch_egress *egress = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    assert_int_equal(egress_table_read(fd, &egress, &err), 0);
    return egress;
}

static void what_was_counted_is_told(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    hutch_autofd int fd = egress_table_new(&err);
    hutch_autofree struct egress_table *table = calloc(1, sizeof(*table));
    (void)state;
    table->host_count = 1;
    table->hosts[0] = (struct egress_host){"a.example", 443, 2, 10, 20};
    table->connections = 2;
    table->connections_open = 1;
    table->denial_count = EGRESS_DENIALS + 3; /* the first three are gone */
    for (uint64_t i = 3; i < table->denial_count; i++)
        table->denials[i % EGRESS_DENIALS] =
            (struct egress_denial){i, "b.example", 80, EGRESS_WHY_NAME, 1};
    put(fd, table);
    struct hutch_egress *egress = look(fd);
    assert_int_equal(egress->host_count, 1);
    assert_string_equal(egress->hosts[0].name, "a.example");
    assert_int_equal(egress->hosts[0].bytes_in, 20);
    assert_int_equal(egress->denial_count, EGRESS_DENIALS);
    assert_int_equal(egress->denials[0].number, 3);
    assert_int_equal(egress->denials[EGRESS_DENIALS - 1].time_us, EGRESS_DENIALS + 2);
    assert_string_equal(egress->denials[0].why, "name");
    hutch_egress_free(egress);
    egress_table_settle(fd);
    egress = look(fd);
    assert_int_equal(egress->connections_open, 0);
    assert_int_equal(egress->connections, 2);
    hutch_egress_free(egress);
}

/* A gateway that was taken over may write anything. */
static void what_cannot_be_is_left_out(void **state)
{
    static const char *const names[] = {"", "\033[2J", "a b", "a\"b", "<i>", "caf\xc3\xa9"};
    struct hutch_error err = HUTCH_ERROR_INIT;
    hutch_autofd int fd = egress_table_new(&err);
    hutch_autofree struct egress_table *table = calloc(1, sizeof(*table));
    (void)state;
    table->host_count = UINT32_MAX;
    table->denial_count = UINT64_MAX;
    memset(table->hosts, 'x', sizeof(table->hosts)); /* no name ends */
    for (size_t i = 0; i < HUTCH_COUNT(names); i++)
        (void)snprintf(table->hosts[i].name, EGRESS_NAME_BYTES, "%s", names[i]);
    for (size_t i = 0; i < EGRESS_DENIALS; i++)
        table->denials[i] =
            (struct egress_denial){1, "a.example", 1, (uint16_t)(i % 2 ? 0 : EGRESS_WHYS), 1};
    put(fd, table);
    struct hutch_egress *egress = look(fd);
    assert_int_equal(egress->host_count, 0);
    assert_int_equal(egress->denial_count, 0);
    hutch_egress_free(egress);
}

static void a_table_that_was_cut_is_an_error(void **state)
{
    char path[] = "/tmp/hutch-table-XXXXXX";
    struct hutch_egress *egress = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    hutch_autofd int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_true(egress_table_read(fd, &egress, &err) < 0);
    hutch_autofd int sealed = egress_table_new(&err);
    assert_int_equal(ftruncate(sealed, 0), -1);
}

static void ranges_are_what_they_say(void **state)
{
    static const char *const good[] = {"10.0.0.0/8", "192.168.1.7", "fd00::/8", "::1", "0.0.0.0/0"};
    static const char *const bad[] = {
        "",           "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/",   "10.0.0.0/+8", "10/8",
        "fd00::/129", "fd00::1/8",  "a.example",   "10.0.0.0/8 ", "10.0.0.0/08x"};
    struct hutch_cidr cidr;
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(good); i++)
        if (!hutch_cidr_parse(good[i], &cidr))
            fail_msg("'%s' is a range", good[i]);
    for (size_t i = 0; i < HUTCH_COUNT(bad); i++)
        if (hutch_cidr_parse(bad[i], &cidr))
            fail_msg("'%s' is no range", bad[i]);
    assert_true(hutch_cidr_parse("10.0.0.0/8", &cidr));
    assert_int_equal(cidr.family, AF_INET);
    assert_int_equal(cidr.prefix_bits, 8);
    assert_int_equal(cidr.address[0], 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_counted_is_told),
        cmocka_unit_test(what_cannot_be_is_left_out),
        cmocka_unit_test(a_table_that_was_cut_is_an_error),
        cmocka_unit_test(ranges_are_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
