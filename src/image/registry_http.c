/* SPDX-License-Identifier: Apache-2.0 */
#include "image/registry_http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "image/registry_flow.h"
#include "image/registry_pump.h"
#include "util/own.h"

enum {
    MOST_REDIRECTS = 5,
    CONNECT_SECONDS = 30,
    RECEIVE_BUFFER = 512 << 10,
    SEND_BUFFER = 512 << 10,
};

static int add_header(struct http_exchange *exchange, const char *line, struct hutch_error *err)
{
    struct curl_slist *list = curl_slist_append(exchange->header_list, line);
    if (!list)
        return hutch_fail_nomem(err);
    exchange->header_list = list;
    return 0;
}

static int set_headers(struct http_exchange *exchange, bool is_home, struct hutch_error *err)
{
    hutch_autofree char *line = NULL;
    curl_slist_free_all(exchange->header_list);
    exchange->header_list = NULL;
    /* nobody waits for a "100 Continue" */
    int r = add_header(exchange, "Expect:", err);
    for (size_t i = 0; r == 0 && exchange->headers && exchange->headers[i]; i++)
        r = add_header(exchange, exchange->headers[i], err);
    if (r < 0 || !exchange->credential || !is_home)
        return r;
    line = malloc(strlen(exchange->credential) + sizeof("Authorization: "));
    if (!line)
        return hutch_fail_nomem(err);
    (void)stpcpy(stpcpy(line, "Authorization: "), exchange->credential);
    return add_header(exchange, line, err);
}

static void set_body(struct http_exchange *exchange)
{
    CURL *easy = exchange->easy;
    if (!strcmp(exchange->method, "HEAD")) {
        (void)curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    } else if (exchange->body_fd >= 0) {
        (void)curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)SEND_BUFFER);
        (void)curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)exchange->body_size);
        (void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, http_on_read);
        (void)curl_easy_setopt(easy, CURLOPT_READDATA, exchange);
        (void)curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, http_on_seek);
        (void)curl_easy_setopt(easy, CURLOPT_SEEKDATA, exchange);
    } else if (exchange->text) {
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, exchange->text);
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                               (curl_off_t)exchange->text_length);
    }
    if (strcmp(exchange->method, "HEAD") != 0)
        (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, exchange->method);
}

static void set_policy(struct http_exchange *exchange, const struct url_origin *to)
{
    const struct http_policy *policy = exchange->policy;
    CURL *easy = exchange->easy;
    long stall = (long)policy->stall_seconds;
    bool checks = !policy->unchecked_host || strcmp(policy->unchecked_host, to->host) != 0;
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, checks ? 1L : 0L);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, checks ? 2L : 0L);
    if (policy->ca)
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, policy->ca);
    (void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, stall);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT,
                           stall < CONNECT_SECONDS ? stall : (long)CONNECT_SECONDS);
}

static void set_options(struct http_exchange *exchange)
{
    CURL *easy = exchange->easy;
    (void)curl_easy_setopt(easy, CURLOPT_URL, exchange->url);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_UNRESTRICTED_AUTH, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, exchange->header_list);
    /* a proxy is told where to connect to, and nothing else */
    (void)curl_easy_setopt(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "hutch/" HUTCH_VERSION);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange->problem);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, http_on_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, http_on_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, exchange);
}

static void forget_answer(struct http_exchange *exchange)
{
    size_t ceiling = exchange->ceiling > HTTP_KEPT_OF_REFUSALS ? exchange->ceiling
                                                               : (size_t)HTTP_KEPT_OF_REFUSALS;
    hutch_buf_done(&exchange->answer);
    exchange->answer = (struct hutch_buf)HUTCH_BUF(ceiling);
    exchange->failure = (struct hutch_error)HUTCH_ERROR_INIT;
    exchange->is_done = false;
    exchange->result = CURLE_OK;
    exchange->status = 0;
    exchange->header_bytes = 0;
    exchange->ignored_bytes = 0;
    exchange->sent = 0;
    *exchange->problem = '\0';
}

static int send_to(struct http *http, struct http_exchange *exchange, const struct url_origin *to,
                   struct hutch_error *err)
{
    if (exchange->easy) {
        http_pump_remove(http, exchange->easy);
        curl_easy_reset(exchange->easy);
    } else {
        exchange->easy = curl_easy_init();
    }
    if (!exchange->easy)
        return hutch_fail_nomem(err);
    forget_answer(exchange);
    exchange->now = *to;
    int r = set_headers(exchange, url_same_origin(to, &exchange->home), err);
    if (r < 0)
        return r;
    set_options(exchange);
    set_policy(exchange, to);
    set_body(exchange);
    return http_pump_add(http, exchange->easy, err);
}

static int copy_text(char **slot, const char *text, struct hutch_error *err)
{
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy)
        return hutch_fail_nomem(err);
    free(*slot);
    *slot = copy;
    return 0;
}

int http_begin(struct http *http, struct http_exchange *exchange, const char *url,
               struct hutch_error *err)
{
    if (copy_text(&exchange->url, url, err) < 0 ||
        copy_text(&exchange->credential, exchange->authorization, err) < 0)
        return -HUTCH_E_NO_MEMORY;
    exchange->redirects = 0;
    int r = url_check(url, exchange->policy->allows_plain, &exchange->home, err);
    return r < 0 ? r : send_to(http, exchange, &exchange->home, err);
}

static bool is_redirect(const struct http_exchange *exchange)
{
    bool only_looks = !strcmp(exchange->method, "GET") || !strcmp(exchange->method, "HEAD");
    switch (exchange->status) {
    case 307:
    case 308:
        return true;
    case 301:
    case 302:
    case 303:
        return only_looks; /* with a body there is no telling what the other side means */
    default:
        return false;
    }
}

static int follow(struct http *http, struct http_exchange *exchange, struct hutch_error *err)
{
    struct url_origin to;
    char *target = NULL;
    (void)curl_easy_getinfo(exchange->easy, CURLINFO_REDIRECT_URL, &target);
    if (!target)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "it is sent elsewhere, but not where to");
    if (exchange->stays)
        return hutch_fail(err, HUTCH_E_PERMISSION, 0, "it is sent elsewhere with a secret");
    if (++exchange->redirects > MOST_REDIRECTS)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "it is sent elsewhere more than %d times",
                          MOST_REDIRECTS);
    int r = url_check(target, exchange->policy->allows_plain, &to, err);
    if (r < 0)
        return r;
    r = copy_text(&exchange->url, target, err);
    if (r < 0)
        return r;
    r = send_to(http, exchange, &to, err);
    return r < 0 ? r : 1;
}

int http_end(struct http *http, struct http_exchange *exchange, struct hutch_error *err)
{
    exchange->status = http_status(exchange);
    /* of a refusal it is enough to know the status */
    bool is_cut = exchange->result == CURLE_WRITE_ERROR && !exchange->failure.code &&
                  exchange->ignored_bytes > HTTP_IGNORED_CEILING;
    if (exchange->failure.code) {
        *err = exchange->failure;
        return -(int)err->code;
    }
    if (exchange->result != CURLE_OK && !is_cut)
        return http_fail(exchange, err);
    return is_redirect(exchange) ? follow(http, exchange, err) : 0;
}

int http_run(struct http *http, struct http_exchange *exchange, const char *url,
             struct hutch_error *err)
{
    int r = http_begin(http, exchange, url, err);
    while (r >= 0) {
        while (r >= 0 && !exchange->is_done)
            r = http_pump(http, 1000, err);
        if (r >= 0)
            r = http_end(http, exchange, err);
        if (r <= 0)
            break;
    }
    return r;
}

void http_done(struct http *http, struct http_exchange *exchange)
{
    if (exchange->easy) {
        http_pump_remove(http, exchange->easy);
        curl_easy_cleanup(exchange->easy);
        exchange->easy = NULL;
    }
    curl_slist_free_all(exchange->header_list);
    exchange->header_list = NULL;
    free(exchange->url);
    exchange->url = NULL;
    if (exchange->credential)
        explicit_bzero(exchange->credential, strlen(exchange->credential));
    free(exchange->credential);
    exchange->credential = NULL;
    hutch_buf_done(&exchange->answer);
}

bool http_is_home(const struct http_exchange *exchange)
{
    return url_same_origin(&exchange->now, &exchange->home);
}

const char *http_header(const struct http_exchange *exchange, const char *name, size_t index)
{
    struct curl_header *header = NULL;
    if (!exchange->easy ||
        curl_easy_header(exchange->easy, name, index, CURLH_HEADER, -1, &header) != CURLHE_OK)
        return NULL;
    return header->value;
}
