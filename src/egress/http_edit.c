/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/http_edit.h"

#include <stdlib.h>
#include <string.h>

static char *put(char *at, struct http_span span)
{
    memcpy(at, span.at, span.length);
    return at + span.length;
}

static char *put_line(char *at, struct http_span line)
{
    return put(put(at, line), (struct http_span){"\r\n", 2});
}

/* Secrets that are for requests to this host and port, spoken this way. */
static bool is_bound(const struct order *order, const struct egress_secret *secret,
                     const char *name, uint16_t port, bool is_intercepted)
{
    const char *host = order_text(order, secret->hosts);
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (!secret->intercepts_tls != !is_intercepted)
        return false;
    for (uint32_t i = 0; i < secret->host_count; i++, host += strlen(host) + 1) {
        struct egress_rule rule;
        if (egress_rule_parse(host, &rule, &ignored) == 0 && !rule.is_wildcard &&
            egress_rule_allows(&rule, name, port))
            return true;
    }
    return false;
}

/* The sandbox's own header of this name would stand beside ours, and a server takes either. */
static void drop_header(struct http_head *head, const char *header)
{
    for (size_t i = 0; i < head->header_count; i++)
        if (http_span_is(&head->headers[i].name, header))
            head->headers[i].is_dropped = true;
}

/* How long the lines of all secrets are that this request gets; 0: it gets none. */
static size_t choose(const struct order *order, const char *name, uint16_t port,
                     bool is_intercepted, struct http_head *head, uint64_t *ret_chosen)
{
    size_t length = 0;
    *ret_chosen = 0;
    for (size_t i = 0; order && i < order->secret_count && i < EGRESS_SECRETS; i++) {
        const struct egress_secret *secret = &order->secrets[i];
        if (!is_bound(order, secret, name, port, is_intercepted))
            continue;
        const char *header = order_text(order, secret->header);
        drop_header(head, header);
        *ret_chosen |= UINT64_C(1) << i;
        length += strlen(header) + 2 + secret->value_length + 2;
    }
    return length;
}

static char *put_secret(char *at, const struct order *order, const struct egress_secret *secret)
{
    const char *header = order_text(order, secret->header);
    at = put(at, (struct http_span){header, strlen(header)});
    at = put(at, (struct http_span){": ", 2});
    return put_line(at, (struct http_span){order_text(order, secret->value), secret->value_length});
}

/* The head without what is dropped is never longer than it was. */
static bool write_head(const struct order *order, const struct http_head *head, uint64_t chosen,
                       size_t added, char **ret_text, size_t *ret_length)
{
    char *text = malloc(head->bytes + added);
    if (!text)
        return false;
    char *at = put_line(text, head->request_line);
    for (size_t i = 0; i < head->header_count; i++)
        if (!head->headers[i].is_dropped)
            at = put_line(at, head->headers[i].line);
    for (size_t i = 0; order && chosen && i < order->secret_count && i < EGRESS_SECRETS; i++)
        if (chosen >> i & 1)
            at = put_secret(at, order, &order->secrets[i]);
    at = put_line(at, (struct http_span){"", 0});
    *ret_text = text;
    *ret_length = (size_t)(at - text);
    return true;
}

/* A server that answers TRACE would tell the sandbox what it was sent. */
bool http_edit(const struct order *order, const char *name, uint16_t port, bool is_intercepted,
               struct http_head *head, char **ret_text, size_t *ret_length)
{
    uint64_t chosen = 0;
    size_t added = http_span_is(&head->method, "TRACE")
                       ? 0
                       : choose(order, name, port, is_intercepted, head, &chosen);
    *ret_text = NULL;
    return (!head->is_edited && !added) ||
           write_head(order, head, chosen, added, ret_text, ret_length);
}
