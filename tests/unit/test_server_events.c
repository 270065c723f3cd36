/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of the daemon, without a daemon: whatever is said, in whatever pieces, comes out of the
 * events byte for byte, and at every offset that they tell all before it has come. */
#include "unit.h"

#include <stdio.h>
#include <unistd.h>

#include "http/http.h"
#include "server/events_out.h"
#include "server/text.h"

#define MOST 4096

/* ---- what the writer asks of its call -------------------------------------------------------- */

struct api_call {
    int fd;
};

const char *api_query(const struct api_call *call, const char *name)
{
    (void)call, (void)name;
    return NULL;
}

const char *api_header(const struct api_call *call, const char *name)
{
    (void)call, (void)name;
    return "text/html, application/x-ndjson";
}

void api_add_header(struct api_call *call, const char *name, const char *value)
{
    (void)call, (void)name, (void)value;
}

int api_stream(struct api_call *call, int status, const char *type, uint64_t length, int *ret_fd)
{
    (void)status, (void)type, (void)length;
    *ret_fd = call->fd;
    return 0;
}

struct http_exchange *api_exchange(const struct api_call *call)
{
    (void)call;
    return NULL;
}

const char *http_request_id(const struct http_exchange *exchange)
{
    (void)exchange;
    return "id";
}

/* ---- what comes out -------------------------------------------------------------------------- */

struct said {
    char data[2][MOST * 2]; /* each stream's */
    size_t length[2];
    uint64_t offset;
};

static void take_line(struct said *said, const char *line)
{
    json_t *object = json_loads(line, 0, NULL);
    assert_non_null(object);
    const json_t *data = json_object_get(object, "data");
    size_t which = !strcmp(json_string_value(json_object_get(object, "stream")), "stderr");
    size_t length = json_string_length(data);
    char *bytes = NULL;
    if (json_object_get(object, "encoding"))
        assert_true(text_from_base64(json_string_value(data), length, &bytes, &length));
    memcpy(said->data[which] + said->length[which], bytes ? bytes : json_string_value(data),
           length);
    said->length[which] += length;
    uint64_t offset = (uint64_t)json_integer_value(json_object_get(object, "offset"));
    assert_true(offset > said->offset);
    said->offset = offset;
    assert_int_equal(said->length[0] + said->length[1], offset); /* all before it has come */
    free(bytes);
    json_decref(object);
}

static void take_all(struct said *said, FILE *file)
{
    char *line = NULL;
    size_t size = 0;
    rewind(file);
    while (getline(&line, &size, file) > 0)
        take_line(said, line);
    free(line);
}

/* The same sequence in every run (xorshift). */
static unsigned chance(void)
{
    static uint32_t state = 2463534242u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

/* Mostly text, with characters of every length, and some bytes that are none. */
static size_t make_bytes(char *target, size_t length)
{
    static const char *const parts[] = {
        "a",    "\n",       "\"\\",    "\xc3\xa9",         "\xe2\x82\xac",
        "\xff", "\xc3\x28", "\t\x01",  "\xf0\x9f\x98\x80", "\xed\xa0\x80",
        "\x7f", "plain",    "\xc3\xa9"};
    size_t used = 0;
    size_t kinds = chance() % 2 ? sizeof(parts) / sizeof(parts[0]) : 5;
    while (used + 8 < length) {
        const char *part = parts[(size_t)chance() % kinds];
        memcpy(target + used, part, strlen(part));
        used += strlen(part);
    }
    return used;
}

static void whatever_is_said_comes_out_as_it_was(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        static char source[2][MOST];
        static struct said said;
        FILE *file = tmpfile();
        struct api_call call = {fileno(file)};
        struct events_out out;
        size_t length[2], done[2] = {0, 0};
        said = (struct said){.offset = 0};
        assert_int_equal(events_form_of(&call), EVENTS_NDJSON);
        assert_int_equal(events_begin(&call, EVENTS_NDJSON, &out), 0);
        for (size_t i = 0; i < 2; i++)
            length[i] = make_bytes(source[i], 1 + (size_t)chance() % MOST);
        while (done[0] < length[0] || done[1] < length[1]) {
            size_t which = done[0] < length[0] && (done[1] == length[1] || chance() % 4) ? 0 : 1;
            size_t left = length[which] - done[which], part = 1 + (size_t)chance() % 9;
            part = part < left ? part : left;
            const struct hutch_log_piece piece = {.stream = which ? HUTCH_STDERR : HUTCH_STDOUT,
                                                  .offset = done[0] + done[1],
                                                  .data = source[which] + done[which],
                                                  .length = part};
            assert_int_equal(events_piece(&out, &piece), 0);
            done[which] += part;
            if (chance() % 30 == 0)
                assert_int_equal(events_quiet(&out), 0);
        }
        assert_int_equal(events_end(&out), 0);
        take_all(&said, file);
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(said.length[i], length[i]);
            assert_memory_equal(said.data[i], source[i], length[i]);
        }
        (void)fclose(file);
    }
}

static void what_is_text_is_told_apart(void **state)
{
    static const struct {
        const char *bytes;
        size_t whole;
    } rows[] = {
        {"", 0},
        {"plain", 5},
        {"\xc3\xa9", 2},
        {"a\xc3", 1},
        {"a\xe2\x82", 1},
        {"\xf0\x9f\x98", 0},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\xf4\x90", TEXT_NONE},
        {"\xed\xa0", TEXT_NONE},
        {"\xc0\xaf", TEXT_NONE},
        {"\x80", TEXT_NONE},
        {"\xc3\x28", TEXT_NONE},
        {"\xff", TEXT_NONE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(text_whole(rows[i].bytes, strlen(rows[i].bytes)), rows[i].whole);
    char *readable = text_readable("a\xff\xc3\xa9\xc3", 5);
    assert_string_equal(readable, "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd");
    free(readable);
}

static void base64_comes_back_and_nothing_else_is_taken_for_it(void **state)
{
    static const char *const bad[] = {
        "A", "AA=A", "====", "A===", "AAA", "AA\nA", "A A=", "\xff\xff\xff\xff"};
    char *back = NULL;
    size_t length = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        back = NULL;
        assert_false(text_from_base64(bad[i], strlen(bad[i]), &back, &length));
    }
    for (size_t size = 0; size < 40; size++) {
        char bytes[40], text[64];
        for (size_t i = 0; i < size; i++)
            bytes[i] = (char)(chance() & 0x7f);
        size_t encoded = text_base64(text, bytes, size);
        assert_true(text_from_base64(text, encoded, &back, &length));
        assert_int_equal(length, size);
        assert_memory_equal(back, bytes, size);
        free(back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_said_comes_out_as_it_was),
        cmocka_unit_test(what_is_text_is_told_apart),
        cmocka_unit_test(base64_comes_back_and_nothing_else_is_taken_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
