/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hutch/host.h"
#include "util/own.h"

enum {
    ANSWER_CEILING = 64 << 20, /* of one that is read as JSON */
    PROBLEM_CEILING = 64 << 10,
    CONNECT_TIMEOUT_S = 20,
};

/* ---- the connection -------------------------------------------------------------------------- */

CURL *remote_easy(const struct remote_client *client)
{
    const struct remote_host *host = &client->host;
    CURL *easy = curl_easy_init();
    if (!easy)
        return NULL;
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "hutch/" HUTCH_VERSION);
    if (host->socket)
        (void)curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, host->socket);
    if (host->is_loopback)
        (void)curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* none of the environment's */
    if (host->ca)
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, host->ca);
    if (host->cert)
        (void)curl_easy_setopt(easy, CURLOPT_SSLCERT, host->cert);
    if (host->cert || host->key)
        (void)curl_easy_setopt(easy, CURLOPT_SSLKEY, host->key ? host->key : host->cert);
    return easy;
}

static int client_new(struct remote_client **ret_client, struct hutch_error *err)
{
    struct remote_client *client = calloc(1, sizeof(*client));
    if (!client || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(client);
        return hutch_fail_nomem(err);
    }
    if (remote_host_read(&client->host, err) < 0) {
        free(client);
        return -(int)err->code;
    }
    client->easy = remote_easy(client);
    client->multi = curl_multi_init();
    if (!client->easy || !client->multi) {
        curl_easy_cleanup(client->easy);
        remote_host_done(&client->host);
        free(client);
        return hutch_fail_nomem(err);
    }
    *ret_client = client;
    return 0;
}

/* The one connection of a process: the public functions know of no daemon. */
static struct remote_client **own_client(void)
{
    static struct remote_client *client = NULL;
    return &client;
}

int remote_client(struct remote_client **ret_client, struct hutch_error *err)
{
    struct remote_client **client = own_client();
    int failed = *client ? 0 : client_new(client, err);
    if (!failed)
        *ret_client = *client;
    return failed;
}

void remote_client_forget(void)
{
    *own_client() = NULL;
}

/* ---- one call -------------------------------------------------------------------------------- */

struct transfer {
    struct remote_client *client;
    struct remote_call *call;
    struct hutch_buf answer; /* JSON, or why not */
    struct hutch_error err;  /* of on_data, or of the file that is sent */
    bool has_begun;
    char detail[CURL_ERROR_SIZE];
};

static bool is_well(CURL *easy)
{
    long status = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status >= 200 && status < 300;
}

static size_t on_write(char *data, size_t size, size_t count, void *userdata)
{
    struct transfer *transfer = userdata;
    size_t length = size * count;
    if (transfer->call->on_data && is_well(transfer->client->easy)) {
        transfer->has_begun = true;
        return transfer->call->on_data(transfer->call->userdata, data, length, &transfer->err) == 0
                   ? length
                   : CURL_WRITEFUNC_ERROR;
    }
    transfer->answer.ceiling = is_well(transfer->client->easy) ? ANSWER_CEILING : PROBLEM_CEILING;
    hutch_buf_append(&transfer->answer, data, length);
    return transfer->answer.failed ? CURL_WRITEFUNC_ERROR : length;
}

static size_t on_read(char *buffer, size_t size, size_t count, void *userdata)
{
    struct transfer *transfer = userdata;
    ssize_t got;
    do
        got = read(transfer->call->upload_fd, buffer, size * count);
    while (got < 0 && errno == EINTR);
    if (got >= 0)
        return (size_t)got;
    (void)hutch_fail_errno(&transfer->err, errno, "read what is to be sent");
    return CURL_READFUNC_ABORT;
}

static bool add_header(struct curl_slist **headers, const char *name, const char *value)
{
    char *line = NULL;
    if (!value)
        return true;
    if (asprintf(&line, "%s: %s", name, value) < 0)
        return false;
    struct curl_slist *longer = curl_slist_append(*headers, line);
    explicit_bzero(line, strlen(line));
    free(line);
    if (longer)
        *headers = longer;
    return longer != NULL;
}

static bool add_headers(const struct transfer *transfer, struct curl_slist **headers)
{
    const struct remote_call *call = transfer->call;
    const char *token = transfer->client->host.token;
    char *bearer = NULL;
    if (token && asprintf(&bearer, "Bearer %s", token) < 0)
        return false;
    bool added = add_header(headers, "Accept", call->accept ? call->accept : "application/json") &&
                 add_header(headers, "Authorization", bearer) &&
                 add_header(headers, "Content-Type",
                            call->body      ? "application/json"
                            : call->uploads ? call->content_type
                                            : NULL);
    /* a daemon that says no need not be sent everything first */
    if (added && call->uploads)
        added = add_header(headers, "Transfer-Encoding", "chunked") &&
                add_header(headers, "Expect", "100-continue");
    if (bearer)
        explicit_bzero(bearer, strlen(bearer));
    free(bearer);
    return added;
}

static void set_body(CURL *easy, struct transfer *transfer, const char *text)
{
    const struct remote_call *call = transfer->call;
    if (call->uploads) {
        (void)curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
        (void)curl_easy_setopt(easy, CURLOPT_READDATA, transfer);
        (void)curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 256L << 10);
    } else if (text) {
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(text));
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, text);
    } else if (call->method && !strcmp(call->method, "POST")) {
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
    }
    if (call->method)
        (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
}

/* What one call has set is gone before the next; the connection stays. */
static int renew(struct remote_client *client, struct hutch_error *err)
{
    CURL *fresh = remote_easy(client);
    if (!fresh)
        return hutch_fail_nomem(err);
    curl_easy_cleanup(client->easy);
    client->easy = fresh;
    return 0;
}

/* Until it is over, or somebody wants no more of it. */
static CURLcode drive(struct transfer *transfer)
{
    CURLM *multi = transfer->client->multi;
    struct curl_waitfd cancel = {.fd = transfer->call->cancel_fd, .events = CURL_WAIT_POLLIN};
    CURLcode code = CURLE_OK;
    int running = 1;
    if (curl_multi_add_handle(multi, transfer->client->easy) != CURLM_OK)
        return CURLE_OUT_OF_MEMORY;
    while (running) {
        if (curl_multi_perform(multi, &running) != CURLM_OK)
            break;
        if (!running)
            break;
        cancel.revents = 0;
        (void)curl_multi_poll(multi, &cancel, cancel.fd >= 0 ? 1 : 0, 1000, NULL);
        if (cancel.revents) {
            transfer->call->was_cancelled = true;
            break;
        }
    }
    int left = 0;
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));)
        if (message->msg == CURLMSG_DONE)
            code = message->data.result;
    (void)curl_multi_remove_handle(multi, transfer->client->easy);
    return code;
}

static int judge(struct transfer *transfer, CURLcode code, json_t **ret_answer,
                 struct hutch_error *err)
{
    struct remote_client *client = transfer->client;
    long status = 0;
    (void)curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &status);
    bool is_refused = status >= 300 && transfer->answer.length;
    if (transfer->call->was_cancelled)
        return hutch_fail(err, HUTCH_E_CONFLICT, 0, "it was cancelled");
    if (transfer->err.code) {
        *err = transfer->err;
        return -(int)err->code;
    }
    if (transfer->answer.failed)
        return remote_fail_strange(err, "it is too large");
    if (code != CURLE_OK && !is_refused) {
        transfer->call->was_cut = transfer->has_begun;
        return remote_fail_curl(client, code, transfer->detail, err);
    }
    if (status < 200 || status >= 300)
        return remote_fail_status(client, status, transfer->answer.data, transfer->answer.length,
                                  err);
    if (transfer->call->on_data || !ret_answer)
        return 0;
    json_error_t where;
    json_t *answer =
        transfer->answer.length
            ? json_loadb(transfer->answer.data, transfer->answer.length, JSON_ALLOW_NUL, &where)
            : json_null();
    if (!answer)
        return remote_fail_strange(err, "it is no JSON");
    *ret_answer = answer;
    return 0;
}

static int perform(struct transfer *transfer, const char *text, json_t **ret_answer,
                   struct hutch_error *err)
{
    struct remote_client *client = transfer->client;
    struct curl_slist *headers = NULL;
    hutch_autofree char *url = NULL;
    if (!transfer->call->path || asprintf(&url, "%s%s", client->host.url, transfer->call->path) < 0)
        return hutch_fail_nomem(err);
    if (renew(client, err) < 0)
        return -(int)err->code;
    CURL *easy = client->easy;
    int failed = add_headers(transfer, &headers) ? 0 : hutch_fail_nomem(err);
    if (!failed) {
        (void)curl_easy_setopt(easy, CURLOPT_URL, url);
        (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
        (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_write);
        (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
        (void)curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 256L << 10);
        (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->detail);
        set_body(easy, transfer, text);
        failed = judge(transfer, drive(transfer), ret_answer, err);
    }
    curl_slist_free_all(headers);
    return failed;
}

int remote_do(struct remote_call *call, json_t **ret_answer, struct hutch_error *err)
{
    struct transfer transfer = {.call = call, .answer = HUTCH_BUF(ANSWER_CEILING)};
    hutch_autofree char *text = NULL;
    int failed = remote_client(&transfer.client, err);
    if (!failed && call->body && !(text = json_dumps(call->body, JSON_COMPACT)))
        failed = hutch_fail(err, HUTCH_E_INVALID, 0,
                            "what is to be sent has bytes that are no UTF-8; the daemon takes text "
                            "alone");
    if (!failed && transfer.client)
        failed = perform(&transfer, text, ret_answer, err);
    hutch_buf_done(&transfer.answer);
    json_decref(call->body);
    free(call->path);
    call->body = NULL;
    call->path = NULL;
    return failed;
}
