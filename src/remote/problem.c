/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong between here and the daemon, and what the daemon itself says went wrong: each
 * becomes the error that the same call would have given without a daemon between. */
#include <stdio.h>
#include <string.h>

#include "remote/client.h"
#include "util/own.h"

static const struct {
    CURLcode curl;
    enum hutch_code code;
    const char *text; /* "%s" is the daemon's address */
} causes[] = {
    {CURLE_COULDNT_CONNECT, HUTCH_E_UNAVAILABLE,
     "no daemon answers at '%.200s'; start one there with 'hutch serve', or name another with "
     "'--host'"},
    {CURLE_COULDNT_RESOLVE_HOST, HUTCH_E_NOT_FOUND,
     "the host of '%.200s' is not known; look at the name in '--host' or HUTCH_HOST"},
    {CURLE_PEER_FAILED_VERIFICATION, HUTCH_E_PERMISSION,
     "the certificate of '%.200s' is signed by nobody that this machine knows, or is another "
     "host's; name its authority with '--tls-ca FILE'"},
    {CURLE_SSL_CACERT_BADFILE, HUTCH_E_INVALID,
     "the authority for '%.200s' cannot be read; '--tls-ca' takes a file of PEM certificates"},
    {CURLE_SSL_CERTPROBLEM, HUTCH_E_INVALID,
     "the certificate for '%.200s' cannot be used; '--tls-cert' and '--tls-key' take PEM files "
     "that belong together"},
    {CURLE_SSL_CONNECT_ERROR, HUTCH_E_UNAVAILABLE,
     "what answers at '%.200s' does not speak TLS with us; use http:// when the daemon has none"},
    {CURLE_OPERATION_TIMEDOUT, HUTCH_E_UNAVAILABLE,
     "the daemon at '%.200s' does not answer in time; see whether its machine is overloaded"},
    {CURLE_UNSUPPORTED_PROTOCOL, HUTCH_E_UNAVAILABLE,
     "what answers at '%.200s' is no hutch daemon: it does not speak HTTP"},
    {CURLE_WEIRD_SERVER_REPLY, HUTCH_E_UNAVAILABLE,
     "what answers at '%.200s' is no hutch daemon: it does not speak HTTP"},
    {CURLE_OUT_OF_MEMORY, HUTCH_E_NO_MEMORY, "out of memory in the talk with '%.200s'"},
};

int remote_fail_curl(const struct remote_client *client, CURLcode code, const char *detail,
                     struct hutch_error *err)
{
    const char *name = client->host.name;
    for (size_t i = 0; i < HUTCH_COUNT(causes); i++)
        if (causes[i].curl == code) {
            char text[400];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            (void)snprintf(text, sizeof(text), causes[i].text, name);
#pragma GCC diagnostic pop
            return hutch_fail(err, causes[i].code, 0, "%s", text);
        }
    return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0,
                      "the connection to the daemon at '%.200s' was cut (%.120s); look at its log, "
                      "and try again%s",
                      name, detail && *detail ? detail : curl_easy_strerror(code),
                      strncmp(name, "http://", 7) ? "" : ", or with https:// where it has TLS");
}

/* ---- what the daemon says -------------------------------------------------------------------- */

enum hutch_code remote_code(const char *name, long status)
{
    static const struct {
        long status;
        enum hutch_code code;
    } by_status[] = {
        {400, HUTCH_E_INVALID},     {401, HUTCH_E_PERMISSION},  {403, HUTCH_E_PERMISSION},
        {404, HUTCH_E_NOT_FOUND},   {409, HUTCH_E_CONFLICT},    {413, HUTCH_E_INVALID},
        {422, HUTCH_E_CONFLICT},    {429, HUTCH_E_UNAVAILABLE}, {503, HUTCH_E_UNAVAILABLE},
        {504, HUTCH_E_UNAVAILABLE},
    };
    for (int i = 1; name && i < HUTCH_CODE_COUNT; i++)
        if (!strcmp(name, hutch_code_name((enum hutch_code)i)))
            return (enum hutch_code)i;
    for (size_t i = 0; i < HUTCH_COUNT(by_status); i++)
        if (by_status[i].status == status)
            return by_status[i].code;
    return status >= 400 && status < 500 ? HUTCH_E_INVALID : HUTCH_E_INTERNAL;
}

static int fail_no_problem(const struct remote_client *client, long status, struct hutch_error *err)
{
    if (status == 404 || status == 405)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "what answers at '%.200s' is no hutch daemon, or one of another version: "
                          "it does not know what was asked (status %ld)",
                          client->host.name, status);
    return hutch_fail(err, remote_code(NULL, status), 0,
                      "what answers at '%.200s' says no without a reason that hutch understands "
                      "(status %ld); it may be a proxy, or a daemon of another version",
                      client->host.name, status);
}

int remote_fail_problem(const json_t *problem, struct hutch_error *err)
{
    const char *detail = remote_text(problem, "detail");
    if (!detail)
        detail = remote_text(problem, "message");
    long status = (long)remote_number(problem, "status", 500);
    return hutch_fail(err, remote_code(remote_text(problem, "code"), status), 0, "%.470s",
                      detail ? detail : "the daemon failed without saying why");
}

int remote_fail_status(const struct remote_client *client, long status, const char *text,
                       size_t length, struct hutch_error *err)
{
    remote_autojson json_t *problem = json_loadb(text ? text : "", length, 0, NULL);
    if (status == 401)
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "the daemon at '%.200s' %s; set HUTCH_TOKEN to one that 'hutch token "
                          "create' has printed there",
                          client->host.name,
                          client->host.token ? "does not accept the token: it is wrong, has "
                                               "expired or was removed"
                                             : "wants a token");
    if (!problem || !remote_text(problem, "detail"))
        return fail_no_problem(client, status, err);
    return remote_fail_problem(problem, err);
}
