/* SPDX-License-Identifier: Apache-2.0 */
/* The token service that a registry names: asked with a password by GET, with an identity token by
 * POST as OAuth2 has it, or without anything for what everybody may read. */
#include "image/registry_token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_in.h"
#include "image/base64.h"
#include "util/own.h"

enum {
    ANSWER_CEILING = 64 << 10,
    LONGEST_TOKEN = 32 << 10,
    DEFAULT_SECONDS = 60, /* what the specification says of an answer without "expires_in" */
    MARGIN_SECONDS = 10,
};

int endpoint_basic(const struct endpoint *endpoint, char **ret_authorization,
                   struct hutch_error *err)
{
    hutch_autofree char *both = NULL;
    hutch_autofree char *encoded = NULL;
    if (asprintf(&both, "%s:%s", endpoint->credentials.user, endpoint->credentials.password) < 0) {
        both = NULL;
        return hutch_fail_nomem(err);
    }
    int r = base64_encode(both, &encoded, err);
    explicit_bzero(both, strlen(both));
    if (r < 0)
        return r;
    char *header = NULL;
    if (asprintf(&header, "Basic %s", encoded) < 0)
        return hutch_fail_nomem(err);
    *ret_authorization = header;
    return 0;
}

/* It becomes part of a header. */
static bool is_token(const char *text)
{
    size_t length = 0;
    for (; text[length]; length++)
        if (text[length] <= ' ' || text[length] > '~')
            return false;
    return length > 0 && length <= LONGEST_TOKEN;
}

static int keep_token(struct endpoint *endpoint, const struct hutch_value *answer,
                      struct hutch_error *err)
{
    const char *token = hutch_value_text(hutch_value_get(answer, "token"));
    const struct hutch_value *expires = hutch_value_get(answer, "expires_in");
    int64_t seconds = DEFAULT_SECONDS;
    char *header = NULL;
    if (!token)
        token = hutch_value_text(hutch_value_get(answer, "access_token"));
    if (!token || !is_token(token))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "its answer holds no token");
    if (expires && expires->type == HUTCH_VALUE_INTEGER && expires->integer > 0 &&
        expires->integer < 1000000)
        seconds = expires->integer;
    seconds -= seconds / 2 > MARGIN_SECONDS ? MARGIN_SECONDS : seconds / 2;
    if (asprintf(&header, "Bearer %s", token) < 0)
        return hutch_fail_nomem(err);
    free(endpoint->authorization);
    endpoint->authorization = header;
    endpoint->expires_ms = endpoint_now_ms() + seconds * 1000;
    endpoint->generation++;
    return 0;
}

static int read_token(struct endpoint *endpoint, const struct http_exchange *exchange,
                      struct hutch_error *err)
{
    struct hutch_value answer = {0};
    if (exchange->status == 401 || exchange->status == 403)
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "it refuses the login of '%.100s' from %.150s; log in again: hutch image "
                          "login %s",
                          endpoint->credentials.user ? endpoint->credentials.user : "nobody",
                          endpoint->credentials.origin ? endpoint->credentials.origin : "nowhere",
                          endpoint->name);
    if (exchange->status != 200 || !exchange->answer.data)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0, "it answers with status %ld",
                          exchange->status);
    int r = hutch_json_parse(exchange->answer.data, exchange->answer.length, &answer, err);
    if (r == 0)
        r = keep_token(endpoint, &answer, err);
    hutch_value_done(&answer);
    return r;
}

static int ask_with_password(struct endpoint *endpoint, struct http *http, const char *scope,
                             struct http_exchange *exchange, struct hutch_error *err)
{
    hutch_autofree char *basic = NULL;
    hutch_autofree char *url = strdup(endpoint->challenge.realm);
    int r = url ? 0 : hutch_fail_nomem(err);
    if (r == 0 && *endpoint->challenge.service)
        r = url_add_query(&url, "service", endpoint->challenge.service, err);
    if (r == 0 && scope)
        r = url_add_query(&url, "scope", scope, err);
    if (r == 0 && endpoint->credentials.user) {
        r = url_add_query(&url, "account", endpoint->credentials.user, err);
        if (r == 0)
            r = endpoint_basic(endpoint, &basic, err);
    }
    exchange->authorization = basic;
    if (r == 0)
        r = http_run(http, exchange, url, err);
    exchange->authorization = NULL;
    return r;
}

static void add_field(struct hutch_buf *form, const char *name, const char *value)
{
    char *escaped = curl_easy_escape(NULL, value, 0);
    if (!escaped)
        form->failed = true;
    else
        hutch_buf_printf(form, "%s%s=%s", form->length ? "&" : "", name, escaped);
    curl_free(escaped);
}

static int ask_with_identity(struct endpoint *endpoint, struct http *http, const char *scope,
                             struct http_exchange *exchange, struct hutch_error *err)
{
    static const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded", NULL};
    struct hutch_buf form = HUTCH_BUF(ANSWER_CEILING);
    hutch_autofree char *text = NULL;
    add_field(&form, "grant_type", "refresh_token");
    add_field(&form, "client_id", "hutch");
    add_field(&form, "service", endpoint->challenge.service);
    if (scope)
        add_field(&form, "scope", scope);
    add_field(&form, "refresh_token", endpoint->credentials.identity_token);
    int r = hutch_buf_take(&form, &text, &exchange->text_length, err);
    hutch_buf_done(&form);
    if (r < 0)
        return r;
    exchange->method = "POST";
    exchange->headers = headers;
    exchange->text = text;
    /* the body itself is the secret: it is sent to nobody but the service */
    exchange->stays = true;
    r = http_run(http, exchange, endpoint->challenge.realm, err);
    explicit_bzero(text, strlen(text));
    return r;
}

int endpoint_get_token(struct endpoint *endpoint, struct http *http, const char *scope,
                       struct hutch_error *err)
{
    char shown[URL_PRINTABLE_BYTES];
    struct http_exchange exchange = HTTP_EXCHANGE_INIT;
    exchange.policy = &endpoint->policy;
    exchange.ceiling = ANSWER_CEILING;
    int r = endpoint->credentials.identity_token
                ? ask_with_identity(endpoint, http, scope, &exchange, err)
                : ask_with_password(endpoint, http, scope, &exchange, err);
    if (r == 0)
        r = read_token(endpoint, &exchange, err);
    http_done(http, &exchange);
    if (r < 0)
        return hutch_wrap(err, "the token service '%.120s' of '%s': ",
                          url_printable(endpoint->challenge.realm, shown), endpoint->name);
    return 0;
}
