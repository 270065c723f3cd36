/* SPDX-License-Identifier: Apache-2.0 */
/* What went out of a sandbox and what was not let out, for the audit. The table of a sandbox that
 * stays counts all its lives together: what it had counted before is taken off. */
#include "backend/native/gateway.h"
#include "backend/native/ledger.h"

#define DENIALS_MAX 64 /* in one event; "denied" tells how many there were */

static uint64_t less(uint64_t value, uint64_t before)
{
    return value > before ? value - before : 0;
}

void ledger_egress_begin(struct ledger_egress *before, int table)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct hutch_egress *egress = NULL;
    *before = (struct ledger_egress){0};
    if (table < 0 || egress_table_read(table, &egress, &ignored) < 0)
        return;
    *before = (struct ledger_egress){egress->connections, egress->bytes_in, egress->bytes_out,
                                     egress->denied};
    hutch_egress_free(egress);
}

void ledger_put_egress(struct hutch_json_out *out, const struct hutch_egress *egress,
                       const struct ledger_egress *before)
{
    if (!egress)
        return;
    hutch_json_open(out, "egress", '{');
    hutch_json_uint(out, "connections", less(egress->connections, before->connections));
    hutch_json_uint(out, "bytes_in", less(egress->bytes_in, before->bytes_in));
    hutch_json_uint(out, "bytes_out", less(egress->bytes_out, before->bytes_out));
    hutch_json_uint(out, "denied", less(egress->denied, before->denied));
    hutch_json_close(out, '}');
}

struct denied {
    const char *id;
    const char *name;
    const struct hutch_egress *egress;
    size_t first;
};

static void put_denied(struct hutch_json_out *out, const void *userdata)
{
    const struct denied *denied = userdata;
    const struct hutch_egress *egress = denied->egress;
    hutch_json_string(out, "id", denied->id);
    if (denied->name)
        hutch_json_string(out, "name", denied->name);
    hutch_json_open(out, "attempts", '[');
    for (size_t i = denied->first; i < egress->denial_count; i++) {
        const struct hutch_egress_denial *denial = &egress->denials[i];
        hutch_json_open(out, NULL, '{');
        hutch_json_uint(out, "time_us", denial->time_us);
        hutch_json_string(out, "host", denial->name);
        hutch_json_uint(out, "port", denial->port);
        hutch_json_string(out, "why", denial->why);
        hutch_json_uint(out, "times", denial->times);
        hutch_json_close(out, '}');
    }
    hutch_json_close(out, ']');
}

void ledger_note_denied(struct audit *audit, const char *id, const char *name,
                        const struct hutch_egress *egress, uint64_t since_us)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct denied denied = {.id = id, .name = name, .egress = egress};
    const struct audit_event event = {.kind = "denied", .fields = put_denied, .userdata = &denied};
    if (!egress)
        return;
    while (denied.first < egress->denial_count &&
           (egress->denials[denied.first].time_us < since_us ||
            egress->denial_count - denied.first > DENIALS_MAX))
        denied.first++;
    if (denied.first < egress->denial_count)
        (void)!audit_append(audit, &event, &ignored);
}
