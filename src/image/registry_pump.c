/* SPDX-License-Identifier: Apache-2.0 */
#include "image/registry_pump.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "util/own.h"

enum { CONNECTIONS_PER_HOST = 8 };

struct http {
    CURLM *multi;
};

int http_new(struct http **ret_http, struct hutch_error *err)
{
    struct http *http = calloc(1, sizeof(*http));
    if (!http)
        return hutch_fail_nomem(err);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(http);
        return hutch_fail(err, HUTCH_E_SYSTEM, 0, "libcurl cannot be initialised");
    }
    http->multi = curl_multi_init();
    if (!http->multi) {
        http_free(http);
        return hutch_fail_nomem(err);
    }
    (void)curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_PER_HOST);
    *ret_http = http;
    return 0;
}

void http_free(struct http *http)
{
    if (!http)
        return;
    (void)curl_multi_cleanup(http->multi);
    curl_global_cleanup();
    free(http);
}

/* OpenSSL writes with write(): a connection that is gone would end the whole program. Blocked and
 * taken back in this thread alone, whatever the caller has made of the signal. */
struct pipe_guard {
    sigset_t before;
    bool was_pending;
};

static void guard_pipe(struct pipe_guard *guard)
{
    sigset_t pipe_only;
    sigset_t pending;
    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    (void)sigpending(&pending);
    guard->was_pending = sigismember(&pending, SIGPIPE) == 1;
    (void)pthread_sigmask(SIG_BLOCK, &pipe_only, &guard->before);
}

static void release_pipe(struct pipe_guard *guard)
{
    static const struct timespec at_once = {0, 0};
    sigset_t pipe_only;
    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    if (!guard->was_pending)
        (void)sigtimedwait(&pipe_only, NULL, &at_once);
    (void)pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}

/* Tells each exchange that has ended. */
static void collect(struct http *http)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(http->multi, &left))) {
        struct http_exchange *exchange = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&exchange);
        exchange->result = message->data.result;
        exchange->is_done = true;
    }
}

int http_pump(struct http *http, unsigned wait_ms, struct hutch_error *err)
{
    struct pipe_guard guard;
    int running = 0;
    guard_pipe(&guard);
    CURLMcode code = curl_multi_poll(http->multi, NULL, 0, (int)wait_ms, NULL);
    if (code == CURLM_OK)
        code = curl_multi_perform(http->multi, &running);
    release_pipe(&guard);
    if (code != CURLM_OK)
        return hutch_fail(err, HUTCH_E_SYSTEM, 0, "libcurl fails: %s", curl_multi_strerror(code));
    collect(http);
    return 0;
}

int http_pump_add(struct http *http, CURL *easy, struct hutch_error *err)
{
    CURLMcode code = curl_multi_add_handle(http->multi, easy);
    if (code != CURLM_OK)
        return hutch_fail(err, HUTCH_E_SYSTEM, 0, "libcurl fails: %s", curl_multi_strerror(code));
    return 0;
}

void http_pump_remove(struct http *http, CURL *easy)
{
    struct pipe_guard guard;
    guard_pipe(&guard);
    (void)curl_multi_remove_handle(http->multi, easy);
    release_pipe(&guard);
}

static const struct {
    CURLcode result;
    enum hutch_code code;
    bool is_passing;
    const char *remedy;
} failures[] = {
    {CURLE_COULDNT_RESOLVE_HOST, HUTCH_E_UNAVAILABLE, false,
     "is the name right, and is there a network?"},
    {CURLE_COULDNT_RESOLVE_PROXY, HUTCH_E_UNAVAILABLE, false, "look at https_proxy and http_proxy"},
    {CURLE_COULDNT_CONNECT, HUTCH_E_UNAVAILABLE, false, "nobody answers there"},
    {CURLE_PEER_FAILED_VERIFICATION, HUTCH_E_PERMISSION, false,
     "name its certificate authority as 'ca' in registries.yml"},
    {CURLE_SSL_CACERT_BADFILE, HUTCH_E_INVALID, false, "the 'ca' in registries.yml is no PEM file"},
    {CURLE_SSL_CONNECT_ERROR, HUTCH_E_UNAVAILABLE, false,
     "if it speaks plain HTTP, say 'insecure: true' for it in registries.yml"},
    {CURLE_OPERATION_TIMEDOUT, HUTCH_E_UNAVAILABLE, true, NULL},
    {CURLE_RECV_ERROR, HUTCH_E_UNAVAILABLE, true, NULL},
    {CURLE_SEND_ERROR, HUTCH_E_UNAVAILABLE, true, NULL},
    {CURLE_GOT_NOTHING, HUTCH_E_UNAVAILABLE, true, NULL},
    {CURLE_PARTIAL_FILE, HUTCH_E_UNAVAILABLE, true, NULL},
    {CURLE_OUT_OF_MEMORY, HUTCH_E_NO_MEMORY, false, NULL},
};

int http_fail(const struct http_exchange *exchange, struct hutch_error *err)
{
    char shown[URL_PRINTABLE_BYTES];
    const char *why = *exchange->problem ? exchange->problem : curl_easy_strerror(exchange->result);
    (void)url_printable(why, shown);
    for (size_t i = 0; i < HUTCH_COUNT(failures); i++)
        if (failures[i].result == exchange->result)
            return hutch_fail(err, failures[i].code, 0, "%s%s%s", shown,
                              failures[i].remedy ? "; " : "",
                              failures[i].remedy ? failures[i].remedy : "");
    return hutch_fail(err, HUTCH_E_UNAVAILABLE, 0, "%s", shown);
}

bool http_is_passing(const struct http_exchange *exchange)
{
    if (exchange->failure.code)
        return false;
    if (exchange->result == CURLE_OK)
        return exchange->status == 429 || exchange->status == 408 || exchange->status == 500 ||
               (exchange->status >= 502 && exchange->status <= 504);
    for (size_t i = 0; i < HUTCH_COUNT(failures); i++)
        if (failures[i].result == exchange->result)
            return failures[i].is_passing;
    return false;
}
