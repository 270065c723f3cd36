/* SPDX-License-Identifier: Apache-2.0 */
#include "image/registry_endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/json_in.h"
#include "image/registry_token.h"
#include "util/own.h"

enum {
    MOST_FAILURES = 5,
    FIRST_WAIT_MS = 200,
    LONGEST_WAIT_MS = 10000,
    LONGEST_ASKED_WAIT_SECONDS = 60,
    PROBE_SECONDS = 5,
};

/* Docker Hub's name and its address are different. */
static const char *host_of(const char *name)
{
    return !strcmp(name, "docker.io") ? "registry-1.docker.io" : name;
}

static int set_base(struct endpoint *endpoint, const char *name, const char *base,
                    struct hutch_error *err)
{
    struct url_origin origin;
    if (asprintf(&endpoint->base, "%s%s", base ? "" : "https://", base ? base : host_of(name)) <
        0) {
        endpoint->base = NULL;
        return hutch_fail_nomem(err);
    }
    size_t length = strlen(endpoint->base);
    if (base && endpoint->base[length - 1] == '/')
        endpoint->base[--length] = '\0';
    int r = url_check(endpoint->base, true, &origin, err);
    if (r < 0)
        return r;
    const char *host = strstr(endpoint->base, "://") + 3;
    if (strpbrk(host, "/?#"))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.200s' is no registry: write HOST or "
                          "HOST:PORT, without a path",
                          endpoint->base);
    (void)snprintf(endpoint->host, sizeof(endpoint->host), "%s", origin.host);
    endpoint->policy.allows_plain = origin.is_plain;
    return 0;
}

int endpoint_init(struct endpoint *endpoint, const char *name, const char *base,
                  const struct registry_settings *settings, struct hutch_error *err)
{
    *endpoint = (struct endpoint){.name = strdup(name)};
    endpoint->policy.stall_seconds = REGISTRY_STALL_SECONDS;
    if (!endpoint->name)
        return hutch_fail_nomem(err);
    int r = set_base(endpoint, name, base, err);
    if (r < 0)
        return r;
    bool is_plain = endpoint->policy.allows_plain;
    if (settings) {
        endpoint->policy.stall_seconds = settings->stall_seconds;
        if (settings->ca && !(endpoint->ca = strdup(settings->ca)))
            return hutch_fail_nomem(err);
        endpoint->policy.ca = endpoint->ca;
    }
    if (settings && settings->is_insecure) {
        endpoint->policy.unchecked_host = endpoint->host;
        endpoint->policy.allows_plain = true;
        endpoint->tries_plain = !is_plain;
    } else if (!base && url_host_is_local(endpoint->host)) {
        endpoint->tries_plain = !endpoint->ca;
    }
    return 0;
}

void endpoint_done(struct endpoint *endpoint)
{
    free(endpoint->name);
    free(endpoint->base);
    free(endpoint->ca);
    if (endpoint->authorization)
        explicit_bzero(endpoint->authorization, strlen(endpoint->authorization));
    free(endpoint->authorization);
    credentials_done(&endpoint->credentials);
    *endpoint = (struct endpoint){0};
}

int64_t endpoint_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t endpoint_patience_ms(const struct http_exchange *exchange, unsigned failures)
{
    const char *asked =
        exchange->result == CURLE_OK ? http_header(exchange, "Retry-After", 0) : NULL;
    char *end = NULL;
    if (asked && *asked >= '0' && *asked <= '9') {
        unsigned long seconds = strtoul(asked, &end, 10);
        if (seconds > LONGEST_ASKED_WAIT_SECONDS)
            return -1;
        if (*end == '\0')
            return (int64_t)seconds * 1000;
    }
    int64_t wait = (int64_t)FIRST_WAIT_MS << (failures < 8 ? failures : 8);
    return wait < LONGEST_WAIT_MS ? wait : LONGEST_WAIT_MS;
}

/* Whatever it answers over TLS, it speaks TLS: neither a certificate that is not right nor anything
 * that comes after it leads to plain HTTP. */
static bool speaks_no_tls(const struct http_exchange *exchange)
{
    curl_off_t shaken_us = 0;
    (void)curl_easy_getinfo(exchange->easy, CURLINFO_APPCONNECT_TIME_T, &shaken_us);
    if (shaken_us > 0)
        return false;
    switch ((int)exchange->result) {
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_COULDNT_CONNECT:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_OPERATION_TIMEDOUT:
        return true;
    default:
        return false;
    }
}

static int find_scheme(struct endpoint *endpoint, struct http *http, struct hutch_error *err)
{
    struct http_policy policy = endpoint->policy;
    struct http_exchange exchange = HTTP_EXCHANGE_INIT;
    hutch_autofree char *url = NULL;
    if (asprintf(&url, "%s/v2/", endpoint->base) < 0) {
        url = NULL;
        return hutch_fail_nomem(err);
    }
    if (policy.stall_seconds > PROBE_SECONDS)
        policy.stall_seconds = PROBE_SECONDS;
    /* the question is only whether it speaks TLS: nothing secret is sent, whoever it is is checked
     * by the requests that follow, and reading all authorities takes 20 ms */
    policy.unchecked_host = endpoint->host;
    exchange.policy = &policy;
    exchange.stays = true;
    int r = http_run(http, &exchange, url, err);
    bool is_plain = r < 0 && speaks_no_tls(&exchange);
    bool is_tls = r == 0 || exchange.status != 0;
    http_done(http, &exchange);
    if (!is_plain && !is_tls)
        return r;
    if (is_plain) {
        /* "https" loses its s */
        memmove(endpoint->base + 4, endpoint->base + 5, strlen(endpoint->base + 5) + 1);
        endpoint->policy.allows_plain = true;
    }
    endpoint->tries_plain = false;
    return 0;
}

int endpoint_prepare(struct endpoint *endpoint, struct http *http, const char *scope,
                     struct hutch_error *err)
{
    int r = endpoint->tries_plain ? find_scheme(endpoint, http, err) : 0;
    if (r == 0 && endpoint->challenge.kind == CHALLENGE_BEARER && endpoint->authorization &&
        endpoint_now_ms() >= endpoint->expires_ms)
        r = endpoint_get_token(endpoint, http, scope, err);
    return r;
}

static int find_credentials(struct endpoint *endpoint, struct hutch_error *err)
{
    if (endpoint->has_credentials)
        return 0;
    int r = credentials_find(endpoint->name, &endpoint->credentials, err);
    if (r == 0)
        endpoint->has_credentials = true;
    return r;
}

static int read_challenges(struct endpoint *endpoint, const struct http_exchange *refused,
                           struct hutch_error *err)
{
    const char *header;
    struct challenge challenge = {0};
    for (size_t i = 0; (header = http_header(refused, "WWW-Authenticate", i)); i++) {
        int r = challenge_parse(header, &challenge, err);
        if (r < 0)
            return hutch_wrap(err, "'%s': ", endpoint->name);
    }
    if (challenge.kind == CHALLENGE_NONE)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "'%s' asks for a login, but neither for a token nor for a password",
                          endpoint->name);
    endpoint->challenge = challenge;
    return 0;
}

static int use_password(struct endpoint *endpoint, struct hutch_error *err)
{
    char *basic = NULL;
    if (!endpoint->credentials.user)
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "'%s' asks for a login; give it one: hutch image login %s",
                          endpoint->name, endpoint->name);
    if (endpoint->authorization)
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "'%s' refuses the login of '%.100s' from %.200s; log in again: hutch "
                          "image login %s",
                          endpoint->name, endpoint->credentials.user,
                          endpoint->credentials.origin ? endpoint->credentials.origin : "nowhere",
                          endpoint->name);
    int r = endpoint_basic(endpoint, &basic, err);
    if (r < 0)
        return r;
    endpoint->authorization = basic;
    endpoint->generation++;
    return 0;
}

int endpoint_authorize(struct endpoint *endpoint, struct http *http, const char *scope,
                       const struct http_exchange *refused, unsigned generation,
                       struct hutch_error *err)
{
    if (generation != endpoint->generation)
        return 0; /* another one was faster: what there is now has not been tried */
    int r = read_challenges(endpoint, refused, err);
    if (r == 0)
        r = find_credentials(endpoint, err);
    if (r < 0)
        return r;
    if (endpoint->challenge.kind == CHALLENGE_BASIC)
        return use_password(endpoint, err);
    return endpoint_get_token(endpoint, http, scope, err);
}
