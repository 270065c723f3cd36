/* SPDX-License-Identifier: Apache-2.0 */
/* Why an engine does not answer, or not as was hoped: which engine, what is wrong, what helps. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "backend/docker/engine.h"
#include "util/own.h"

/* libcurl does not always tell what the kernel said about a socket, so it is asked again. */
static int socket_errno(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path) + 1);
    hutch_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return 0;
    return errno;
}

static int fail_socket(const struct docker_endpoint *endpoint, const char *problem,
                       struct hutch_error *err)
{
    int cause = socket_errno(endpoint->socket);
    if (cause == EACCES || cause == EPERM)
        return hutch_fail(
            err, HUTCH_E_PERMISSION, cause,
            "you have no permission to use the engine's socket '%.150s' (%s): become a member of "
            "its group with 'sudo usermod -aG docker \"$USER\"' and log in again "
            "(members are as mighty as root), or use an engine of your own by "
            "DOCKER_HOST",
            endpoint->socket, endpoint->from);
    return hutch_fail(err, HUTCH_E_UNAVAILABLE, cause,
                      "no engine answers at '%.150s' (%s): %s; start it with 'systemctl start "
                      "docker', or say by DOCKER_HOST where it is",
                      endpoint->socket, endpoint->from, cause ? strerror(cause) : problem);
}

static int fail_network(const struct docker_endpoint *endpoint, const char *problem,
                        struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0,
                      "no engine answers at '%.120s' (%s): %.160s; see that it listens there, or "
                      "say by DOCKER_HOST where it is",
                      endpoint->host, endpoint->from, problem);
}

static int fail_authority(const struct docker_endpoint *endpoint, const char *problem,
                          struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                      "the engine at '%.100s' (%s) has a certificate that does not hold against "
                      "%s%.120s%s: %.90s; put the certificate of the engine's authority there, as "
                      "ca.pem where DOCKER_CERT_PATH says",
                      endpoint->host, endpoint->from, endpoint->ca[0] ? "'" : "",
                      endpoint->ca[0] ? endpoint->ca : "the system's authorities",
                      endpoint->ca[0] ? "'" : "", problem);
}

static int fail_own_certificate(const struct docker_endpoint *endpoint, const char *problem,
                                struct hutch_error *err)
{
    if (!endpoint->certificate[0])
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "the engine at '%.100s' (%s) wants a certificate of yours, and there is "
                          "none: put cert.pem and key.pem where DOCKER_CERT_PATH says (%.100s)",
                          endpoint->host, endpoint->from, problem);
    return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                      "the engine at '%.100s' (%s) does not take your certificate '%.120s': "
                      "%.110s; put one there that its authority has signed, with its key",
                      endpoint->host, endpoint->from, endpoint->certificate, problem);
}

static int fail_patience(const struct docker_endpoint *endpoint, const char *problem,
                         struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_UNAVAILABLE, ETIMEDOUT,
                      "the engine at '%.150s' (%s) is there and does not answer in time: %.160s",
                      endpoint->host, endpoint->from, problem);
}

static int fail_cut(const struct docker_endpoint *endpoint, const char *problem,
                    struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_UNAVAILABLE, ECONNRESET,
                      "the engine at '%.150s' (%s) has broken off: %.200s", endpoint->host,
                      endpoint->from, problem);
}

/* Who does not take a certificate closes the connection, and with that what it said about it may be
 * lost on the way. */
static int fail_unheard(const struct docker_endpoint *endpoint, const char *problem,
                        struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_UNAVAILABLE, ECONNRESET,
                      "the engine at '%.80s' (%s) has broken off before its first answer: %.80s; "
                      "see that it runs, and that its authority has signed your certificate "
                      "'%.120s'",
                      endpoint->host, endpoint->from, problem, endpoint->certificate);
}

/* An engine with TLS 1.3 says no only after the handshake, to the first bytes that are read. */
static bool is_about_us(const char *problem)
{
    return strstr(problem, "alert") != NULL;
}

int docker_fail_transport(const struct docker_engine *engine, CURL *easy, CURLcode code,
                          const char *problem, struct hutch_error *err)
{
    const struct docker_endpoint *endpoint = &engine->endpoint;
    const char *text = problem[0] ? problem : curl_easy_strerror(code);
    (void)easy;
    if (endpoint->has_tls && is_about_us(text))
        return fail_own_certificate(endpoint, text, err);
    switch ((int)code) {
    case CURLE_OUT_OF_MEMORY:
        return hutch_fail_nomem(err);
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
        return endpoint->socket[0] ? fail_socket(endpoint, text, err)
                                   : fail_network(endpoint, text, err);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return fail_authority(endpoint, text, err);
    case CURLE_SSL_CERTPROBLEM:
        return fail_own_certificate(endpoint, text, err);
    case CURLE_SSL_CONNECT_ERROR:
        return hutch_fail(
            err, HUTCH_E_UNAVAILABLE, 0,
            "no TLS with the engine at '%.100s' (%s): %.160s; give the port at which it "
            "speaks TLS, or unset DOCKER_TLS_VERIFY when it has none",
            endpoint->host, endpoint->from, text);
    case CURLE_OPERATION_TIMEDOUT:
        return fail_patience(endpoint, text, err);
    case CURLE_ABORTED_BY_CALLBACK:
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0, "nobody waits for the engine any more");
    default:
        return endpoint->certificate[0] && !engine->version.is_known
                   ? fail_unheard(endpoint, text, err)
                   : fail_cut(endpoint, text, err);
    }
}

static enum hutch_code code_of(long status)
{
    switch (status) {
    case 400:
        return HUTCH_E_INVALID;
    case 401:
    case 403:
        return HUTCH_E_PERMISSION;
    case 404:
        return HUTCH_E_NOT_FOUND;
    case 409:
        return HUTCH_E_CONFLICT;
    default:
        return HUTCH_E_SYSTEM;
    }
}

/* Engines say with the status of their own failures that a user is not there in the container's
 * files; podman so, that a container cannot be killed, for it has just ended. */
static enum hutch_code code_meant(long status, const char *message)
{
    bool is_missing =
        strstr(message, "no matching entries in") || strstr(message, "unknown user error");
    if (is_missing)
        return HUTCH_E_NOT_FOUND;
    return strstr(message, "container state improper") ? HUTCH_E_CONFLICT : code_of(status);
}

int docker_fail_answer(long status, const struct hutch_value *json, const char *text,
                       struct hutch_error *err)
{
    char line[320];
    const char *message = hutch_value_text(hutch_value_get(json, "message"));
    (void)snprintf(line, sizeof(line), "%s", message ? message : text ? text : "");
    for (size_t length = strlen(line); length && strchr(" \r\n.", line[length - 1]);)
        line[--length] = '\0';
    for (char *at = line; *at; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
    if (!*line)
        return hutch_fail(err, code_of(status), 0, "the engine answers with status %ld", status);
    return hutch_fail(err, code_meant(status, line), 0, "the engine says: %s", line);
}
