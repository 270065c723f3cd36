/* SPDX-License-Identifier: Apache-2.0 */
/* By which way a request came. A page of somebody else's site can have a browser ask us, under a
 * name of its own that it makes lead here: so the Host field must be a name of ours, and the Origin
 * field, which a browser sends and a page cannot change, must be ours too or one that the operator
 * has named. By the unix socket no browser comes. */
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/authority_parts.h"
#include "server/util.h"

#define NAME_BYTES 256

int authority_add_host(struct authority *authority, const char *name, struct hutch_error *err)
{
    char **more = reallocarray(authority->hosts, authority->host_count + 1, sizeof(*more));
    if (more)
        authority->hosts = more;
    char *own = more ? strdup(name) : NULL;
    if (!own)
        return server_fail_nomem(err);
    authority->hosts[authority->host_count++] = own;
    if (!strcmp(name, "0.0.0.0") || !strcmp(name, "::"))
        authority->has_wildcard = true;
    return 0;
}

/* "name", "name:80", "[::1]:80": without the port and the brackets. False when it is none. */
static bool host_of(const char *field, char name[NAME_BYTES])
{
    bool has_brackets = *field == '[';
    size_t length = strcspn(field + has_brackets, has_brackets ? "]" : ":");
    const char *rest = field + has_brackets + length;
    if (has_brackets && *rest++ != ']')
        return false;
    uint64_t port = 0;
    if (*rest && (*rest != ':' || !server_number(rest + 1, UINT16_MAX, &port)))
        return false;
    if (!length || length >= NAME_BYTES)
        return false;
    (void)snprintf(name, NAME_BYTES, "%.*s", (int)length, field + has_brackets);
    if (name[length - 1] == '.') /* the same name, said in full */
        name[length - 1] = '\0';
    return *name != '\0';
}

/* An address cannot be made to lead here by somebody else. */
static bool is_address(const char *name)
{
    unsigned char place[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, place) == 1 || inet_pton(AF_INET6, name, place) == 1;
}

static bool is_of_certificate(const struct server *server, const char *name)
{
    X509 *certificate = server->tls ? SSL_CTX_get0_certificate(server->tls) : NULL;
    if (!certificate)
        return false;
    return is_address(name) ? X509_check_ip_asc(certificate, name, 0) == 1
                            : X509_check_host(certificate, name, 0, 0, NULL) == 1;
}

static bool is_ours(const struct authority *authority, const char *name)
{
    if (!strcasecmp(name, "localhost") || !strcmp(name, "127.0.0.1") || !strcmp(name, "::1"))
        return true;
    for (size_t i = 0; i < authority->host_count; i++)
        if (!strcasecmp(authority->hosts[i], name))
            return true;
    return (authority->has_wildcard && is_address(name)) ||
           is_of_certificate(authority->server, name);
}

static bool is_named(const char *const *origins, const char *origin)
{
    for (; origins && *origins; origins++)
        if (!strcasecmp(*origins, origin))
            return true;
    return false;
}

static bool is_same_origin(const char *origin, const char *host, bool has_tls)
{
    const char *scheme = has_tls ? "https://" : "http://";
    size_t length = strlen(scheme);
    return !strncasecmp(origin, scheme, length) && !strcasecmp(origin + length, host);
}

static void allow_origin(struct api_call *call, const char *origin)
{
    api_add_header(call, "Access-Control-Allow-Origin", origin);
    api_add_header(call, "Access-Control-Expose-Headers",
                   "X-Request-Id, Retry-After, Location, WWW-Authenticate");
    api_add_header(call, "Vary", "Origin");
}

/* A browser asks first. What it asks for is no request of anybody's: it has no token. */
static bool answer_preflight(struct api_call *call)
{
    if (strcmp(http_method(call->exchange), "OPTIONS") != 0 ||
        !http_field(call->exchange, "access-control-request-method"))
        return true;
    api_add_header(call, "Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE");
    api_add_header(call, "Access-Control-Allow-Headers",
                   "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Range, "
                   "X-Request-Id");
    api_add_header(call, "Access-Control-Max-Age", "600");
    api_reply(call, 204, NULL);
    return false;
}

bool authority_check_way(struct authority *authority, struct api_call *call)
{
    const struct http_peer *peer = http_peer(call->exchange);
    const char *host = http_field(call->exchange, "host");
    const char *origin = http_field(call->exchange, "origin");
    char name[NAME_BYTES];
    if (peer->is_unix)
        return true;
    if (!host || !host_of(host, name) || !is_ours(authority, name)) {
        api_problem(call, 421, "misdirected",
                    "'%.80s' is no name of this daemon; start it with --host-name if it is to be",
                    host ? host : "");
        return false;
    }
    if (!origin || is_same_origin(origin, host, peer->has_tls))
        return true;
    if (!is_named(authority->server->options->cors_origins, origin)) {
        api_problem(call, 403, "permission",
                    "pages of '%.120s' may not ask this daemon; --cors-origin lets them", origin);
        return false;
    }
    allow_origin(call, origin);
    return answer_preflight(call);
}
