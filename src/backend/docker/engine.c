/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/docker/engine.h"

#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/json_in.h"
#include "porter/order.h"
#include "util/own.h"

enum { CONNECT_SECONDS = 15, USUAL_SECONDS = 60, BUFFER_BYTES = 256 << 10 };

int docker_engine_open(struct docker_engine **ret_engine, const char *id, struct hutch_error *err)
{
    struct docker_engine *engine = calloc(1, sizeof(*engine));
    if (!engine)
        return hutch_fail_nomem(err);
    engine->keeper_fd = engine->busy_fd = HUTCH_NO_FD;
    int status = id ? docker_endpoint_recall(&engine->endpoint, id, err)
                    : docker_endpoint_find(&engine->endpoint, err);
    if (status < 0) {
        free(engine);
        return status;
    }
    engine->easy = curl_easy_init();
    if (!engine->easy) {
        free(engine);
        return hutch_fail_nomem(err);
    }
    *ret_engine = engine;
    return 0;
}

void docker_engine_free(struct docker_engine *engine)
{
    if (!engine)
        return;
    curl_easy_cleanup(engine->easy);
    free(engine);
}

void docker_engine_freep(struct docker_engine **engine)
{
    docker_engine_free(*engine);
}

bool docker_is_near(const struct docker_engine *engine)
{
    return engine->endpoint.socket[0] != '\0';
}

void docker_answer_done(struct docker_answer *answer)
{
    hutch_buf_done(&answer->text);
    hutch_value_done(&answer->json);
}

void docker_set_connection(const struct docker_engine *engine, CURL *easy, char *problem)
{
    const struct docker_endpoint *endpoint = &engine->endpoint;
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, problem);
    /* An engine is asked itself, whatever the variables for the web's proxies say. */
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
    if (endpoint->socket[0])
        (void)curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, endpoint->socket);
    if (!endpoint->has_tls)
        return;
    (void)curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    if (endpoint->ca[0]) {
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, endpoint->ca);
        (void)curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    if (endpoint->certificate[0]) {
        (void)curl_easy_setopt(easy, CURLOPT_SSLCERT, endpoint->certificate);
        (void)curl_easy_setopt(easy, CURLOPT_SSLKEY, endpoint->key);
    }
}

/* ---- what libcurl calls ---- */

struct exchange {
    const struct docker_request *request;
    struct docker_answer *answer;
    struct docker_engine *engine;
};

static size_t on_read(char *buffer, size_t size, size_t count, void *context)
{
    const struct exchange *exchange = context;
    ssize_t length = exchange->request->source(exchange->request->context, buffer, size * count);
    return length < 0 ? CURL_READFUNC_ABORT : (size_t)length;
}

static size_t on_body(char *data, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    size_t length = size * count;
    long status = 0;
    (void)curl_easy_getinfo(exchange->engine->easy, CURLINFO_RESPONSE_CODE, &status);
    if (exchange->request->sink && status >= 200 && status < 300)
        return exchange->request->sink(exchange->request->context, data, length) < 0 ? 0 : length;
    hutch_buf_append(&exchange->answer->text, data, length);
    return exchange->answer->text.failed ? 0 : length;
}

static void tell_busy(struct docker_engine *engine)
{
    const struct init_message message = {.type = PORTER_BUSY};
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (engine->busy_fd < 0 || now.tv_sec == engine->busy_s)
        return;
    engine->busy_s = now.tv_sec;
    (void)send(engine->busy_fd, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Called at least once a second. */
static int on_progress(void *context, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                       curl_off_t up)
{
    const struct exchange *exchange = context;
    struct pollfd keeper = {.fd = exchange->engine->keeper_fd, .events = POLLRDHUP};
    (void)down_total, (void)down, (void)up_total, (void)up;
    tell_busy(exchange->engine);
    return keeper.fd >= 0 && poll(&keeper, 1, 0) > 0;
}

/* ---- one exchange ---- */

static void set_request(struct exchange *exchange)
{
    const struct docker_request *request = exchange->request;
    CURL *easy = exchange->engine->easy;
    long patience = request->patience_s ? request->patience_s : (long)USUAL_SECONDS;
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "hutch/" HUTCH_VERSION);
    (void)curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)BUFFER_BYTES);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
    (void)curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    (void)curl_easy_setopt(easy, CURLOPT_XFERINFODATA, exchange);
    if (patience > 0 && (request->source || request->sink)) {
        (void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, patience);
    } else if (patience > 0) {
        (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT, patience);
    }
    if (request->source) {
        (void)curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)BUFFER_BYTES);
        (void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
        (void)curl_easy_setopt(easy, CURLOPT_READDATA, exchange);
    } else if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "DELETE") != 0) {
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->json ? request->json : "");
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE,
                               (long)(request->json ? strlen(request->json) : 0));
    }
    (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

static bool add_header(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (longer)
        *list = longer;
    return longer != NULL;
}

/* One whose value is not to stay in memory. */
static bool add_secret(struct curl_slist **list, const char *name, const char *value)
{
    struct hutch_buf line = HUTCH_BUF(128u << 10);
    hutch_buf_printf(&line, "%s: %s", name, value);
    bool fine = !line.failed && add_header(list, line.data);
    hutch_buf_wipe(&line);
    return fine;
}

static bool add_headers(struct curl_slist **list, const struct docker_request *request)
{
    /* nobody waits for a "100 Continue" */
    bool fine = add_header(list, "Expect:") &&
                add_header(list, request->source ? "Content-Type: application/x-tar"
                                                 : "Content-Type: application/json");
    if (fine && request->login)
        fine = add_secret(list, "X-Registry-Auth", request->login);
    if (fine && request->logins)
        fine = add_secret(list, "X-Registry-Config", request->logins);
    return fine;
}

static const char *answer_header(CURL *easy, const char *name)
{
    struct curl_header *header = NULL;
    return curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK ? header->value
                                                                                   : NULL;
}

/* What the engine is, from the first answer that it gives. */
static int learn_version(struct docker_engine *engine, const struct docker_answer *answer,
                         struct hutch_error *err)
{
    if (engine->version.is_known)
        return 0;
    char server[100] = "";
    const char *api = NULL;
    const char *value = answer_header(engine->easy, "Server");
    (void)snprintf(server, sizeof(server), "%s", value ? value : "");
    api = answer_header(engine->easy, "Api-Version");
    if (!api && answer->status == 400 && answer->text.data &&
        strstr(answer->text.data, "HTTP request to an HTTPS server"))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the engine at '%.120s' wants TLS; set DOCKER_TLS_VERIFY=1 and "
                          "DOCKER_CERT_PATH to the directory of ca.pem, cert.pem and key.pem",
                          engine->endpoint.host);
    if (docker_version_read(&engine->version, api, server, err) < 0)
        return hutch_wrap(err, "'%.120s' (%s): ", engine->endpoint.host, engine->endpoint.from);
    return 0;
}

static int parse_answer(struct docker_answer *answer, const struct docker_request *request,
                        struct hutch_error *err)
{
    const char *text = answer->text.data;
    if (request->sink && answer->status < 300)
        return 0;
    if (!text || (*text != '{' && *text != '['))
        return 0;
    if (hutch_json_parse(text, answer->text.length, &answer->json, err) < 0)
        /* a query may hold what is nobody's to read */
        return hutch_wrap(err, "the engine's answer to '%s %.*s': ", request->method,
                          (int)strcspn(request->path, "?"), request->path);
    return 0;
}

int docker_ask(struct docker_engine *engine, const struct docker_request *request,
               struct docker_answer *ret_answer, struct hutch_error *err)
{
    struct hutch_buf url = HUTCH_BUF(1u << 20);
    struct curl_slist *headers = NULL;
    struct exchange exchange = {request, ret_answer, engine};
    bool fine = add_headers(&headers, request);
    hutch_buf_printf(&url, "%s%s%s", engine->endpoint.url, engine->version.prefix, request->path);
    curl_easy_reset(engine->easy);
    engine->problem[0] = '\0';
    docker_set_connection(engine, engine->easy, engine->problem);
    set_request(&exchange);
    (void)curl_easy_setopt(engine->easy, CURLOPT_HTTPHEADER, headers);
    CURLcode code = CURLE_OUT_OF_MEMORY;
    if (fine && !url.failed && curl_easy_setopt(engine->easy, CURLOPT_URL, url.data) == CURLE_OK)
        code = curl_easy_perform(engine->easy);
    curl_slist_free_all(headers);
    hutch_buf_wipe(&url);
    if (code != CURLE_OK)
        return docker_fail_transport(engine, engine->easy, code, engine->problem, err);
    (void)curl_easy_getinfo(engine->easy, CURLINFO_RESPONSE_CODE, &ret_answer->status);
    int status = learn_version(engine, ret_answer, err);
    return status < 0 ? status : parse_answer(ret_answer, request, err);
}

int docker_check(const struct docker_answer *answer, struct hutch_error *err)
{
    if (answer->status < 400)
        return 0;
    return docker_fail_answer(answer->status, &answer->json, answer->text.data, err);
}

int docker_do(struct docker_engine *engine, const char *method, const char *path, const char *json,
              struct hutch_error *err)
{
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    const struct docker_request request = {.method = method, .path = path, .json = json};
    int status = docker_ask(engine, &request, &answer, err);
    if (status == 0)
        status = docker_check(&answer, err);
    docker_answer_done(&answer);
    return status;
}

int docker_get(struct docker_engine *engine, const char *path, struct docker_answer *ret_answer,
               struct hutch_error *err)
{
    const struct docker_request request = {.method = "GET", .path = path};
    int status = docker_ask(engine, &request, ret_answer, err);
    if (status == 0)
        status = docker_check(ret_answer, err);
    if (status == 0 && ret_answer->json.type == HUTCH_VALUE_NULL)
        return hutch_fail(err, HUTCH_E_SYSTEM, 0,
                          "the engine's answer to 'GET %.100s' makes no sense", path);
    return status;
}

void docker_add_escaped(struct hutch_buf *path, const char *text)
{
    for (; *text; text++) {
        if (isalnum((unsigned char)*text) || strchr("-_.~/:", *text))
            hutch_buf_append(path, text, 1);
        else
            hutch_buf_printf(path, "%%%02X", (unsigned)(unsigned char)*text);
    }
}
