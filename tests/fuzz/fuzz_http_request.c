/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a client says, in whatever pieces: the same requests come to the handler, each with a
 * head that can be read in one way only, and nothing comes behind one that was refused. */
#include "fuzz_http.h"

static void check_head(struct http_exchange *exchange)
{
    const char *path = http_path(exchange), *host = http_field(exchange, "host");
    const struct head *head = &exchange->head;
    size_t hosts = 0, lengths = 0;
    REQUIRE(path[0] == '/' || !strcmp(path, "*"), "%s", path);
    REQUIRE(head->is_1_0 || (host && host_is_valid(host)), "%s", host ? host : "no host");
    for (size_t i = 0; i < head->field_count; i++) {
        REQUIRE(is_token(head->fields[i].name, strlen(head->fields[i].name)), "a name");
        REQUIRE(!strpbrk(head->fields[i].value, "\r\n"), "a line in a value");
        hosts += !strcmp(head->fields[i].name, "host");
        lengths += !strcmp(head->fields[i].name, "content-length") ||
                   !strcmp(head->fields[i].name, "transfer-encoding");
    }
    REQUIRE(hosts <= 1 && lengths <= 1, "%zu %zu", hosts, lengths);
    REQUIRE(lengths || !http_has_body(exchange), "a body of no length");
}

static void on_body(struct http_exchange *exchange, const char *data, size_t length)
{
    struct run *run = http_userdata(exchange);
    if (!data)
        return;
    see(run, data, length);
    http_answer(exchange, 200, NULL, "ok", 2);
}

static void on_request(void *userdata, struct http_exchange *exchange)
{
    struct run *run = userdata;
    check_head(exchange);
    run->count++;
    see(run, http_method(exchange), strlen(http_method(exchange)));
    see(run, exchange->head.target, strlen(exchange->head.target));
    http_set_userdata(exchange, run);
    http_read_body(exchange, 4096, on_body);
}

/* Every answer is one to a request, but for a last one that refuses; what says that it is the last
 * is. */
static void check_answers(const struct run *run)
{
    hutch_autofree char *text = fuzz_text((const uint8_t *)run->out, run->out_length);
    size_t answers = 0;
    for (const char *at = text; (at = strstr(at, "HTTP/1.1 ")); at += 9)
        answers += at[9] >= '2' && at[9] <= '5';
    const char *last = strstr(text, "\r\nConnection: close\r\n");
    if (run->out_length < sizeof(run->out)) {
        REQUIRE(answers <= run->count + 1, "%zu answers to %zu requests", answers, run->count);
        REQUIRE(!last || !strstr(last, "\nHTTP/1.1 "), "an answer behind the last one");
    }
}

static void run_once(struct run *run, const uint8_t *data, size_t size, size_t piece)
{
    run_start(run, on_request);
    run_send(run, data, size, piece);
    run_end(run);
    check_answers(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct run whole, pieces;
    if (size > 8192)
        return 0;
    run_once(&whole, data, size, size ? size : 1);
    run_once(&pieces, data, size, 1 + size % 5);
    REQUIRE(whole.count == pieces.count, "%zu requests, in pieces %zu", whole.count, pieces.count);
    REQUIRE(whole.seen == pieces.seen, "pieces are read otherwise");
    return 0;
}
