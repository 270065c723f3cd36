/* SPDX-License-Identifier: Apache-2.0 */
#include "http/parse.h"

#include <ctype.h>
#include <llhttp.h>
#include <string.h>

int refuse(struct refusal *refusal, int status, const char *why)
{
    *refusal = (struct refusal){status, why};
    return -1;
}

bool is_token(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && (!text[i] || !strchr("!#$%&'*+-.^_`|~", text[i])))
            return false;
    return length > 0;
}

const char *head_field(const struct head *head, const char *name)
{
    for (size_t i = 0; i < head->field_count; i++)
        if (!strcmp(head->fields[i].name, name))
            return head->fields[i].value;
    return NULL;
}

/* ---- is it whole? ---- */

/* A line has ended at `end`, which is its '\n'. 1 when it is the empty one behind the head. */
static int end_line(struct head_scan *scan, const char *data, size_t end,
                    const struct http_limits *limits, struct refusal *refusal)
{
    if (end == scan->line_start || data[end - 1] != '\r')
        return refuse(refusal, 400, "A line ends in LF alone; end it in CR LF.");
    if (end - scan->line_start == 1)
        return scan->lines ? 1 : refuse(refusal, 400, "The request begins with an empty line.");
    if (!scan->lines)
        scan->first_line = end + 1;
    scan->lines++;
    scan->line_start = end + 1;
    if (scan->lines > limits->head_fields + 1)
        return refuse(refusal, 431, "The request has too many header fields.");
    return 0;
}

/* Of a head that has no end yet: is it too long already? */
static int check_room(const struct head_scan *scan, size_t length, const struct http_limits *limits,
                      struct refusal *refusal)
{
    const size_t longest_method_and_version = 64;
    if (!scan->lines && length > limits->target_bytes + longest_method_and_version)
        return refuse(refusal, 414, "The target of the request is too long.");
    if (length >= limits->head_bytes)
        return refuse(refusal, 431, "The head of the request is too long.");
    return 0;
}

int head_scan(struct head_scan *scan, const char *data, size_t length,
              const struct http_limits *limits, size_t *ret_length, struct refusal *refusal)
{
    /* Not even a method: TLS to a port of plain text, or something else altogether. */
    if (length && !isalpha((unsigned char)data[0]))
        return refuse(refusal, 400, "The request does not begin with a method.");
    while (scan->seen < length) {
        const char *found = memchr(data + scan->seen, '\n', length - scan->seen);
        size_t end = found ? (size_t)(found - data) : length;
        int r = found ? end_line(scan, data, end, limits, refusal) : 0;
        scan->seen = found ? end + 1 : length;
        if (r > 0 && scan->seen > limits->head_bytes)
            return refuse(refusal, 431, "The head of the request is too long.");
        if (r > 0)
            *ret_length = scan->seen;
        if (r)
            return r;
    }
    return check_room(scan, length, limits, refusal);
}

/* ---- our reading ---- */

/* No control byte but the line ends, and no line that continues another. */
static int check_bytes(const char *text, size_t length, struct refusal *refusal)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\r' && i + 1 < length && text[i + 1] == '\n') {
            i++;
            if (i + 1 < length && (text[i + 1] == ' ' || text[i + 1] == '\t'))
                return refuse(refusal, 400, "A header field goes on in the next line.");
        } else if ((c < ' ' && c != '\t') || c == 0x7f) {
            return refuse(refusal, 400, "The head of the request has a control character in it.");
        }
    }
    return 0;
}

/* Cuts the version off; the line is "METHOD TARGET HTTP/1.x" with one space at each place. */
static int read_version(struct head *head, const char *version, struct refusal *refusal)
{
    if (strncmp(version, "HTTP/", 5) != 0 || !isdigit((unsigned char)version[5]) ||
        version[6] != '.' || !isdigit((unsigned char)version[7]) || version[8])
        return refuse(refusal, 400, "The request line does not end in a version of HTTP.");
    if (version[5] != '1' || version[7] > '1')
        return refuse(refusal, 505, "Only HTTP/1.0 and HTTP/1.1 are spoken here.");
    head->is_1_0 = version[7] == '0';
    return 0;
}

static int read_request_line(struct head *head, char *line, const struct http_limits *limits,
                             struct refusal *refusal)
{
    char *target = strchr(line, ' ');
    char *version = target ? strchr(target + 1, ' ') : NULL;
    if (!target || !version || version == target + 1)
        return refuse(refusal, 400, "The request line is not a method, a target and a version.");
    *target++ = '\0';
    *version++ = '\0';
    if (!is_token(line, strlen(line)))
        return refuse(refusal, 400, "The method of the request is not a word.");
    head->method = line;
    head->target = target;
    if (strlen(target) > limits->target_bytes)
        return refuse(refusal, 414, "The target of the request is too long.");
    return read_version(head, version, refusal);
}

static int read_field(struct head *head, char *line, struct refusal *refusal)
{
    char *colon = strchr(line, ':');
    if (!colon || !is_token(line, (size_t)(colon - line)))
        return refuse(refusal, 400, "A header field's name is not a word with ':' behind it.");
    *colon = '\0';
    for (char *c = line; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    char *value = colon + 1 + strspn(colon + 1, " \t");
    size_t length = strlen(value);
    while (length && (value[length - 1] == ' ' || value[length - 1] == '\t'))
        length--;
    value[length] = '\0';
    head->fields[head->field_count++] = (struct http_header){line, value};
    return 0;
}

static int read_lines(struct head *head, char *text, size_t length,
                      const struct http_limits *limits, struct refusal *refusal)
{
    char *end = text + length - 2; /* the empty line */
    head->field_count = 0;
    for (char *line = text; line < end;) {
        char *line_end = memchr(line, '\r', (size_t)(end - line));
        if (!line_end)
            return refuse(refusal, 400, "The head of the request is not made of lines.");
        *line_end = '\0';
        int r = line == text ? read_request_line(head, line, limits, refusal)
                             : read_field(head, line, refusal);
        if (r < 0)
            return r;
        line = line_end + 2;
    }
    return 0;
}

/* ---- llhttp's ---- */

static int pause_behind_head(llhttp_t *parser)
{
    (void)parser;
    return HPE_PAUSED; /* chunks and bodies are ours: chunked.c, body.c */
}

static int ask_llhttp(llhttp_t *parser, const char *text, size_t length, struct refusal *refusal)
{
    static const llhttp_settings_t settings = {.on_headers_complete = pause_behind_head};
    llhttp_init(parser, HTTP_REQUEST, &settings);
    llhttp_errno_t r = llhttp_execute(parser, text, length);
    if (r == HPE_PAUSED)
        return 0;
    if (r == HPE_INVALID_METHOD)
        return refuse(refusal, 501, "The method of the request is not known here.");
    return refuse(refusal, 400, "The request is not HTTP/1.1 as its standard has it.");
}

/* Where it ends must be the same to both. */
static int compare(const struct head *head, const llhttp_t *parser, struct refusal *refusal)
{
    bool is_chunked = head->length == HTTP_LENGTH_UNKNOWN;
    if (is_chunked != ((parser->flags & F_CHUNKED) != 0) ||
        (!is_chunked && parser->content_length != head->length) ||
        strcmp(llhttp_method_name((llhttp_method_t)parser->method), head->method) != 0)
        return refuse(refusal, 400, "The request can be read in two ways.");
    return 0;
}

int head_parse(struct head *head, char *text, size_t length, bool has_tls,
               const struct http_limits *limits, struct refusal *refusal)
{
    llhttp_t parser;
    refusal->status = 0;
    if (check_bytes(text, length, refusal) < 0)
        return -1;
    /* It reads before we cut the text, and is asked after: our refusals say more. */
    struct refusal its = {0};
    int r = ask_llhttp(&parser, text, length, &its);
    if (read_lines(head, text, length, limits, refusal) < 0 ||
        (its.status == 501 && refuse(refusal, its.status, its.why) < 0) ||
        head_read_framing(head, refusal) < 0 ||
        head_read_target(head, head_field(head, "host"), has_tls, refusal) < 0)
        return -1;
    return r < 0 ? refuse(refusal, its.status, its.why) : compare(head, &parser, refusal);
}
