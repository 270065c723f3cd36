/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/docker/endpoint.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/own.h"

struct scheme {
    const char *prefix;
    bool is_socket;
    bool has_tls; /* whatever the variables say */
};

static const struct scheme schemes[] = {
    {"unix://", true, false},
    {"tcp://", false, false},
    {"http://", false, false},
    {"https://", false, true},
};

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static int set_socket(struct docker_endpoint *endpoint, const char *path, struct hutch_error *err)
{
    if (*path != '/')
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.200s' (%s) names no absolute path; write 'unix:///var/run/"
                          "docker.sock'",
                          endpoint->host, endpoint->from);
    if (strlen(path) >= sizeof(endpoint->socket))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.100s...' (%s) is too long for a path",
                          endpoint->host, endpoint->from);
    (void)snprintf(endpoint->socket, sizeof(endpoint->socket), "%s", path);
    (void)snprintf(endpoint->url, sizeof(endpoint->url), "http://localhost");
    return 0;
}

/* Only what a host, an address in brackets and a port are written with: it becomes part of a URL.
 */
static bool is_host_text(const char *text)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr(".-_:[]", *text))
            return false;
    return true;
}

static bool has_port(const char *host)
{
    const char *bracket = strrchr(host, ']');
    return strchr(bracket ? bracket : host, ':') != NULL;
}

static int set_network(struct docker_endpoint *endpoint, const char *text, struct hutch_error *err)
{
    char host[ENDPOINT_HOST_BYTES];
    size_t length = strlen(text);
    if (length && text[length - 1] == '/')
        length--;
    if (!length || length >= sizeof(host) - 8)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.200s' (%s) names no host", endpoint->host,
                          endpoint->from);
    (void)snprintf(host, sizeof(host), "%.*s", (int)length, text);
    if (!is_host_text(host))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.200s' (%s) is not of the form tcp://HOST:PORT", endpoint->host,
                          endpoint->from);
    (void)snprintf(endpoint->url, sizeof(endpoint->url), "%s://%s%s",
                   endpoint->has_tls ? "https" : "http", host,
                   has_port(host)      ? ""
                   : endpoint->has_tls ? ":2376"
                                       : ":2375");
    return 0;
}

int docker_endpoint_parse(struct docker_endpoint *endpoint, const char *host, bool has_tls,
                          struct hutch_error *err)
{
    (void)snprintf(endpoint->host, sizeof(endpoint->host), "%s", host);
    for (size_t i = 0; i < HUTCH_COUNT(schemes); i++) {
        size_t length = strlen(schemes[i].prefix);
        if (strncmp(host, schemes[i].prefix, length) != 0)
            continue;
        endpoint->has_tls = !schemes[i].is_socket && (has_tls || schemes[i].has_tls);
        return schemes[i].is_socket ? set_socket(endpoint, host + length, err)
                                    : set_network(endpoint, host + length, err);
    }
    if (!strncmp(host, "ssh://", 6))
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "'%.120s' (%s) is an engine behind ssh, which hutch does not start; run "
                          "'ssh -NL /tmp/docker.sock:/var/run/docker.sock HOST' and set "
                          "DOCKER_HOST=unix:///tmp/docker.sock",
                          host, endpoint->from);
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "'%.120s' (%s) is no engine's address; write unix:///PATH or tcp://HOST:PORT",
                      host, endpoint->from);
}

static int set_file(char slot[PATH_MAX], const char *directory, const char *name, bool is_needed,
                    struct hutch_error *err)
{
    if (snprintf(slot, PATH_MAX, "%s/%s", directory, name) >= PATH_MAX)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.100s...' is too long for a path", directory);
    if (access(slot, R_OK) == 0)
        return 0;
    int cause = errno;
    if (cause != ENOENT || is_needed)
        return hutch_fail(err, HUTCH_E_NOT_FOUND, cause,
                          "cannot read '%.300s', which the engine's TLS needs: %s", slot,
                          strerror(cause));
    slot[0] = '\0';
    return 0;
}

int docker_endpoint_certificates(struct docker_endpoint *endpoint, const char *directory,
                                 bool is_chosen, struct hutch_error *err)
{
    if (set_file(endpoint->ca, directory, "ca.pem", is_chosen, err) < 0 ||
        set_file(endpoint->certificate, directory, "cert.pem", false, err) < 0)
        return -(int)err->code;
    return endpoint->certificate[0] ? set_file(endpoint->key, directory, "key.pem", true, err) : 0;
}

/* By variables: they are stronger than any context. */
static int from_variables(struct docker_endpoint *endpoint, const char *host,
                          struct hutch_error *err)
{
    char directory[PATH_MAX];
    const char *given = variable("DOCKER_CERT_PATH");
    (void)snprintf(endpoint->from, sizeof(endpoint->from), "DOCKER_HOST");
    if (docker_endpoint_parse(endpoint, host, variable("DOCKER_TLS_VERIFY") != NULL, err) < 0)
        return -(int)err->code;
    if (!endpoint->has_tls)
        return 0;
    if (given)
        return docker_endpoint_certificates(endpoint, given, true, err);
    return docker_config_directory(directory)
               ? docker_endpoint_certificates(endpoint, directory, false, err)
               : 0;
}

/* The system's engine, or where that may not be used and there is one, the user's own. */
static int from_habit(struct docker_endpoint *endpoint, struct hutch_error *err)
{
    char own[PATH_MAX];
    const char *run = variable("XDG_RUNTIME_DIR");
    char host[PATH_MAX + 16] = "unix://" ENDPOINT_DEFAULT_SOCKET;
    (void)snprintf(endpoint->from, sizeof(endpoint->from), "the usual place");
    if (access(ENDPOINT_DEFAULT_SOCKET, R_OK | W_OK) < 0 && run &&
        snprintf(own, sizeof(own), "%s/docker.sock", run) < PATH_MAX && access(own, F_OK) == 0)
        (void)snprintf(host, sizeof(host), "unix://%s", own);
    return docker_endpoint_parse(endpoint, host, false, err);
}

int docker_endpoint_find(struct docker_endpoint *ret_endpoint, struct hutch_error *err)
{
    struct docker_endpoint endpoint = {0};
    const char *host = variable("DOCKER_HOST");
    const char *named = variable("DOCKER_CONTEXT");
    char chosen[256] = "";
    int status;
    if (host) {
        status = from_variables(&endpoint, host, err);
    } else {
        if (!named && docker_context_chosen(chosen, sizeof(chosen), err) < 0)
            return -(int)err->code;
        const char *context = named ? named : chosen;
        status = *context && strcmp(context, "default") != 0
                     ? docker_context_read(&endpoint, context, err)
                     : from_habit(&endpoint, err);
    }
    if (status == 0)
        *ret_endpoint = endpoint;
    return status;
}
