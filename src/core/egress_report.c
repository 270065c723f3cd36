/* SPDX-License-Identifier: Apache-2.0 */
#include "core/egress_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "util/own.h"

#define ROW_MAX_BYTES 768 /* a name of 253 bytes, none of which grows, and figures */

void hutch_egress_free(struct hutch_egress *egress)
{
    free(egress); /* its rows and texts lie behind it */
}

size_t hutch_egress_report_ceiling(const struct hutch_egress *egress)
{
    return egress ? (egress->host_count + egress->denial_count + 1) * ROW_MAX_BYTES : 0;
}

static void write_host(struct hutch_json_out *out, const struct hutch_egress_host *host)
{
    hutch_json_open(out, NULL, '{');
    hutch_json_string(out, "name", host->name);
    hutch_json_uint(out, "port", host->port);
    hutch_json_uint(out, "connections", host->connections);
    hutch_json_uint(out, "bytes_out", host->bytes_out);
    hutch_json_uint(out, "bytes_in", host->bytes_in);
    hutch_json_close(out, '}');
}

static void write_figures(struct hutch_json_out *out, const struct hutch_egress *egress)
{
    hutch_json_uint(out, "connections", egress->connections);
    hutch_json_uint(out, "connections_open", egress->connections_open);
    hutch_json_uint(out, "bytes_out", egress->bytes_out);
    hutch_json_uint(out, "bytes_in", egress->bytes_in);
    hutch_json_uint(out, "denied", egress->denied);
    hutch_json_uint(out, "gateways", egress->gateways);
    hutch_json_open(out, "hosts", '[');
    for (size_t i = 0; i < egress->host_count; i++)
        write_host(out, &egress->hosts[i]);
    hutch_json_close(out, ']');
}

void hutch_egress_report(struct hutch_json_out *out, const char *key,
                         const struct hutch_egress *egress)
{
    hutch_json_open(out, key, '{');
    write_figures(out, egress);
    hutch_json_close(out, '}');
}

static void write_time(struct hutch_json_out *out, uint64_t time_us)
{
    char text[64] = "";
    char seconds[32];
    struct tm fields;
    time_t whole = (time_t)(time_us / 1000000);
    if (gmtime_r(&whole, &fields) &&
        strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &fields))
        (void)snprintf(text, sizeof(text), "%s.%03uZ", seconds, (unsigned)(time_us / 1000 % 1000));
    hutch_json_string(out, "time", text);
}

void hutch_egress_report_denials(struct hutch_json_out *out, const char *key,
                                 const struct hutch_egress *egress)
{
    hutch_json_open(out, key, '[');
    for (size_t i = 0; egress && i < egress->denial_count; i++) {
        const struct hutch_egress_denial *denial = &egress->denials[i];
        hutch_json_open(out, NULL, '{');
        write_time(out, denial->time_us);
        hutch_json_string(out, "name", denial->name);
        hutch_json_uint(out, "port", denial->port);
        hutch_json_string(out, "why", denial->why);
        hutch_json_uint(out, "times", denial->times);
        hutch_json_close(out, '}');
    }
    hutch_json_close(out, ']');
}

int hutch_egress_to_json(const struct hutch_egress *egress, char **ret_json,
                         struct hutch_error *err)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf buf =
        HUTCH_BUF(hutch_egress_report_ceiling(egress));
    struct hutch_json_out out = {&buf, false};
    hutch_json_open(&out, NULL, '{');
    write_figures(&out, egress);
    hutch_egress_report_denials(&out, "denials", egress);
    hutch_json_close(&out, '}');
    return hutch_buf_take(&buf, ret_json, NULL, err);
}
