/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/json_in.h"
#include "image/registry_endpoint.h"
#include "util/own.h"

enum { MOST_FAILURES = 5 };

static void sleep_ms(int64_t milliseconds)
{
    struct timespec left = {milliseconds / 1000, (milliseconds % 1000) * 1000000};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

/* Once, with a login if it is asked for. */
static int ask_once(struct endpoint *endpoint, struct http *http, const char *scope,
                    struct http_exchange *exchange, const char *url, struct hutch_error *err)
{
    for (unsigned refusals = 0;; refusals++) {
        unsigned generation = endpoint->generation;
        exchange->authorization = endpoint->authorization;
        int r = http_run(http, exchange, url, err);
        exchange->authorization = NULL;
        if (r < 0 || exchange->status != 401 || !http_is_home(exchange) ||
            refusals == ENDPOINT_MOST_REFUSALS)
            return r;
        r = endpoint_authorize(endpoint, http, scope, exchange, generation, err);
        if (r < 0)
            return r;
    }
}

int endpoint_ask_url(struct endpoint *endpoint, struct http *http, const char *scope,
                     struct http_exchange *exchange, const char *url, struct hutch_error *err)
{
    exchange->policy = &endpoint->policy;
    for (unsigned failures = 0;; failures++) {
        int r = endpoint_prepare(endpoint, http, scope, err);
        if (r == 0)
            r = ask_once(endpoint, http, scope, exchange, url, err);
        if (exchange->is_once || !http_is_passing(exchange) || failures == MOST_FAILURES)
            return r;
        int64_t wait = endpoint_patience_ms(exchange, failures);
        if (wait < 0)
            return r;
        sleep_ms(wait);
    }
}

int endpoint_ask(struct endpoint *endpoint, struct http *http, const char *scope,
                 struct http_exchange *exchange, const char *path, struct hutch_error *err)
{
    hutch_autofree char *url = NULL;
    int r = endpoint_prepare(endpoint, http, scope, err); /* the scheme comes first */
    if (r < 0)
        return hutch_wrap(err, "ask '%s': ", endpoint->name);
    if (asprintf(&url, "%s%s", endpoint->base, path) < 0) {
        url = NULL;
        return hutch_fail_nomem(err);
    }
    r = endpoint_ask_url(endpoint, http, scope, exchange, url, err);
    return r < 0 ? hutch_wrap(err, "ask '%s': ", endpoint->name) : r;
}

static const struct {
    long status;
    enum hutch_code code;
    const char *meaning;
} statuses[] = {
    {401, HUTCH_E_PERMISSION, "it needs another login, or does not exist"},
    {403, HUTCH_E_PERMISSION, "it is forbidden"},
    {404, HUTCH_E_NOT_FOUND, "there is no such thing"},
    {429, HUTCH_E_UNAVAILABLE, "it was asked too often; try again later"},
};

/* The registry's own words, as far as they are of the form that they should have. */
static void find_words(const struct http_exchange *exchange, char words[URL_PRINTABLE_BYTES])
{
    struct hutch_value answer = {0};
    struct hutch_error ignored;
    *words = '\0';
    if (!exchange->answer.data ||
        hutch_json_parse(exchange->answer.data, exchange->answer.length, &answer, &ignored) < 0)
        return;
    const struct hutch_value *errors = hutch_value_get(&answer, "errors");
    if (errors && errors->type == HUTCH_VALUE_ARRAY && errors->list.count > 0) {
        const struct hutch_value *first = &errors->list.items[0];
        const char *text = hutch_value_text(hutch_value_get(first, "message"));
        if (!text || !*text)
            text = hutch_value_text(hutch_value_get(first, "code"));
        if (text)
            (void)url_printable(text, words);
    }
    hutch_value_done(&answer);
}

int endpoint_refused(const struct endpoint *endpoint, const struct http_exchange *exchange,
                     const char *what, struct hutch_error *err)
{
    char words[URL_PRINTABLE_BYTES];
    enum hutch_code code = HUTCH_E_UNAVAILABLE;
    const char *meaning = "that was not expected";
    for (size_t i = 0; i < HUTCH_COUNT(statuses); i++) {
        if (statuses[i].status == exchange->status) {
            code = statuses[i].code;
            meaning = statuses[i].meaning;
        }
    }
    find_words(exchange, words);
    bool logs_in = exchange->status == 401 && !endpoint->credentials.user &&
                   !endpoint->credentials.identity_token;
    return hutch_fail(err, code, 0, "'%s' answers %ld to %s: %s%s%.100s%s%s%s", endpoint->name,
                      exchange->status, what, meaning, *words ? " (it says: " : "", words,
                      *words ? ")" : "", logs_in ? "; hutch image login " : "",
                      logs_in ? endpoint->name : "");
}
