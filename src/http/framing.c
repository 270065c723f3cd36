/* SPDX-License-Identifier: Apache-2.0 */
/* Which header fields may stand together, and what they say about where the request ends. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "http/parse.h"
#include "util/own.h"

/* Two of these, and two readers may each believe another one. */
static const char *const only_once[] = {
    "authorization",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "expect",
    "host",
    "idempotency-key",
    "last-event-id",
    "origin",
    "proxy-authorization",
    "range",
    "sec-websocket-key",
    "sec-websocket-version",
    "transfer-encoding",
    "upgrade",
    "x-request-id",
};

/* Who stands between may be asked to take these away (Connection: host): never with us. */
static const char *const never_dropped[] = {
    "authorization", "content-length", "content-type", "cookie", "expect",
    "host",          "origin",         "range",        "te",     "transfer-encoding",
};

static int check_once(const struct head *head, struct refusal *refusal)
{
    unsigned seen = 0;
    _Static_assert(HUTCH_COUNT(only_once) <= 8 * sizeof(seen), "a bit each");
    for (size_t i = 0; i < head->field_count; i++)
        for (size_t k = 0; k < HUTCH_COUNT(only_once); k++) {
            if (strcmp(head->fields[i].name, only_once[k]) != 0)
                continue;
            if (seen & 1U << k)
                return refuse(refusal, 400,
                              "A header field that may come once only comes more than once.");
            seen |= 1U << k;
        }
    return 0;
}

bool list_has(const char *list, const char *value)
{
    size_t length = strlen(value);
    while (*list) {
        list += strspn(list, " \t,");
        size_t item = strcspn(list, ",");
        size_t trimmed = item;
        while (trimmed && (list[trimmed - 1] == ' ' || list[trimmed - 1] == '\t'))
            trimmed--;
        if (trimmed == length && !strncasecmp(list, value, length))
            return true;
        list += item;
    }
    return false;
}

/* "example.org", "10.0.0.1:80", "[::1]:8888" */
bool host_is_valid(const char *host)
{
    size_t length = 0;
    if (host[0] == '[') {
        length = 1 + strspn(host + 1, "0123456789abcdefABCDEF:.");
        if (length == 1 || host[length++] != ']')
            return false;
    } else {
        while (isalnum((unsigned char)host[length]) ||
               (host[length] && strchr("-._", host[length])))
            length++;
        if (!length)
            return false;
    }
    if (!host[length])
        return true;
    const char *port = host + length + 1;
    size_t digits = strspn(port, "0123456789");
    return host[length] == ':' && digits >= 1 && digits <= 5 && !port[digits];
}

static int check_host(const struct head *head, struct refusal *refusal)
{
    const char *host = head_field(head, "host");
    if (!host)
        return head->is_1_0 ? 0 : refuse(refusal, 400, "The request names no Host.");
    if (!host_is_valid(host))
        return refuse(refusal, 400, "The request's Host is not a name or an address.");
    return 0;
}

static int read_connection(struct head *head, bool *ret_upgrade, struct refusal *refusal)
{
    bool keep = false, close = false;
    *ret_upgrade = false;
    for (size_t i = 0; i < head->field_count; i++) {
        if (strcmp(head->fields[i].name, "connection") != 0)
            continue;
        const char *value = head->fields[i].value;
        keep |= list_has(value, "keep-alive");
        close |= list_has(value, "close");
        *ret_upgrade |= list_has(value, "upgrade");
        for (size_t k = 0; k < HUTCH_COUNT(never_dropped); k++)
            if (list_has(value, never_dropped[k]))
                return refuse(refusal, 400, "Connection names a field that is not the hop's.");
    }
    if (keep && close)
        return refuse(refusal, 400, "Connection says both close and keep-alive.");
    head->keep_alive = !close && (keep || !head->is_1_0);
    return 0;
}

/* Digits and nothing else: no sign, no list, no zero before them. */
static int read_length(struct head *head, const char *value, struct refusal *refusal)
{
    size_t digits = strspn(value, "0123456789");
    if (!digits || value[digits] || (digits > 1 && value[0] == '0'))
        return refuse(refusal, 400, "Content-Length is not a number.");
    if (digits > 18)
        return refuse(refusal, 413, "Content-Length is more than can be.");
    head->length = 0;
    for (; *value; value++)
        head->length = head->length * 10 + (uint64_t)(*value - '0');
    return 0;
}

static int read_encoding(struct head *head, const char *value, struct refusal *refusal)
{
    if (head->is_1_0)
        return refuse(refusal, 400, "HTTP/1.0 has no Transfer-Encoding.");
    if (!strcasecmp(value, "chunked")) {
        head->length = HTTP_LENGTH_UNKNOWN;
        return 0;
    }
    if (strcasestr(value, "chunked") || !is_token(value, strlen(value)))
        return refuse(refusal, 400, "Transfer-Encoding is something other than 'chunked' alone.");
    return refuse(refusal, 501, "The only Transfer-Encoding here is 'chunked'.");
}

static int read_body_framing(struct head *head, struct refusal *refusal)
{
    const char *length = head_field(head, "content-length");
    const char *encoding = head_field(head, "transfer-encoding");
    head->length = 0;
    if (length && encoding)
        return refuse(refusal, 400, "The request has both Content-Length and Transfer-Encoding.");
    if (length)
        return read_length(head, length, refusal);
    return encoding ? read_encoding(head, encoding, refusal) : 0;
}

static int read_expect(struct head *head, struct refusal *refusal)
{
    const char *value = head_field(head, "expect");
    head->wants_continue = false;
    if (!value)
        return 0;
    if (strcasecmp(value, "100-continue") != 0)
        return refuse(refusal, 417, "The only Expect here is '100-continue'.");
    head->wants_continue = !head->is_1_0 && head->length > 0;
    return 0;
}

static int read_upgrade(struct head *head, bool is_asked, struct refusal *refusal)
{
    const char *value = head_field(head, "upgrade");
    head->wants_websocket = false;
    if (!value || !list_has(value, "websocket"))
        return 0; /* other protocols are offers, which need not be taken */
    if (!is_asked)
        return refuse(refusal, 400, "Upgrade comes without 'Connection: upgrade'.");
    if (head->is_1_0 || strcmp(head->method, "GET") != 0 || head->length)
        return refuse(refusal, 400, "A WebSocket begins with a GET of HTTP/1.1 without a body.");
    head->wants_websocket = true;
    return 0;
}

static int check_coding(const struct head *head, struct refusal *refusal)
{
    const char *value = head_field(head, "content-encoding");
    if (value && strcasecmp(value, "identity") != 0)
        return refuse(refusal, 415, "Bodies are taken without a Content-Encoding.");
    return 0;
}

int head_read_framing(struct head *head, struct refusal *refusal)
{
    bool is_asked;
    if (check_once(head, refusal) < 0 || check_host(head, refusal) < 0 ||
        read_connection(head, &is_asked, refusal) < 0 || read_body_framing(head, refusal) < 0 ||
        read_expect(head, refusal) < 0 || read_upgrade(head, is_asked, refusal) < 0)
        return -1;
    return check_coding(head, refusal);
}
