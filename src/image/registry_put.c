/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/registry_parts.h"
#include "util/own.h"

enum { MOST_TRIES = 4 };

bool registry_has_blob(struct registry *registry, const char *digest)
{
    struct endpoint *endpoint = registry_itself(registry);
    struct http_exchange exchange = HTTP_EXCHANGE_INIT;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    hutch_autofree char *path = NULL;
    exchange.method = "HEAD";
    int r = registry_path(registry, "blobs", digest, &path, &ignored);
    if (r == 0)
        r = endpoint_ask(endpoint, registry->http, registry->scope, &exchange, path, &ignored);
    bool has = r == 0 && exchange.status == 200;
    http_done(registry->http, &exchange);
    return has;
}

/* Where to send it: Location, which may be relative to what was asked. */
static int begin_upload(struct registry *registry, char **ret_url, struct hutch_error *err)
{
    struct endpoint *endpoint = registry_itself(registry);
    struct http_exchange exchange = HTTP_EXCHANGE_INIT;
    hutch_autofree char *path = NULL;
    int r = registry_path(registry, "blobs/uploads", "", &path, err);
    if (r < 0)
        return r;
    exchange.method = "POST";
    exchange.text = "";
    r = endpoint_ask(endpoint, registry->http, registry->scope, &exchange, path, err);
    if (r == 0 && exchange.status != 202) {
        r = endpoint_refused(endpoint, &exchange, "an upload", err);
    } else if (r == 0) {
        const char *location = http_header(&exchange, "Location", 0);
        r = location ? url_resolve(exchange.url, location, ret_url, err)
                     : hutch_fail(err, HUTCH_E_INVALID, 0,
                                  "'%s' takes an upload, but does not say where", endpoint->name);
    }
    http_done(registry->http, &exchange);
    return r;
}

struct upload {
    void (*progress)(void *context, uint64_t done);
    void *context;
};

static void on_sent(struct http_exchange *exchange, uint64_t sent)
{
    const struct upload *upload = exchange->context;
    if (upload->progress)
        upload->progress(upload->context, sent);
}

static int send_blob(struct registry *registry, const struct descriptor *blob, int fd,
                     struct upload *upload, bool *ret_is_passing, struct hutch_error *err)
{
    static const char *const headers[] = {"Content-Type: application/octet-stream", NULL};
    struct endpoint *endpoint = registry_itself(registry);
    struct http_exchange exchange = HTTP_EXCHANGE_INIT;
    hutch_autofree char *url = NULL;
    int r = begin_upload(registry, &url, err);
    if (r == 0)
        r = url_add_query(&url, "digest", blob->digest, err);
    if (r < 0)
        return r;
    exchange.method = "PUT";
    exchange.headers = headers;
    exchange.body_fd = fd;
    exchange.body_size = blob->size;
    exchange.on_sent = on_sent;
    exchange.context = upload;
    exchange.is_once = true; /* the next try needs another address */
    r = endpoint_ask_url(endpoint, registry->http, registry->scope, &exchange, url, err);
    if (r == 0 && exchange.status != 201)
        r = endpoint_refused(endpoint, &exchange, "an upload", err);
    *ret_is_passing = http_is_passing(&exchange);
    http_done(registry->http, &exchange);
    return r;
}

int registry_put_blob(struct registry *registry, const struct descriptor *blob, int fd,
                      void (*progress)(void *context, uint64_t done), void *context,
                      struct hutch_error *err)
{
    struct upload upload = {progress, context};
    int r = -1;
    bool is_passing = true;
    for (unsigned tries = 0; r < 0 && is_passing && tries < MOST_TRIES; tries++) {
        is_passing = false;
        r = send_blob(registry, blob, fd, &upload, &is_passing, err);
    }
    return r < 0 ? hutch_wrap(err, "send blob %.19s to '%s': ", blob->digest,
                              registry_itself(registry)->name)
                 : 0;
}

int registry_put_manifest(struct registry *registry, const char *tag_or_digest,
                          const char *media_type, const char *text, size_t length,
                          struct hutch_error *err)
{
    struct endpoint *endpoint = registry_itself(registry);
    struct http_exchange exchange = HTTP_EXCHANGE_INIT;
    hutch_autofree char *path = NULL;
    char type[160];
    const char *headers[] = {type, NULL};
    (void)snprintf(type, sizeof(type), "Content-Type: %.128s", media_type);
    int r = registry_path(registry, "manifests", tag_or_digest, &path, err);
    if (r < 0)
        return r;
    exchange.method = "PUT";
    exchange.headers = headers;
    exchange.text = text;
    exchange.text_length = length;
    r = endpoint_ask(endpoint, registry->http, registry->scope, &exchange, path, err);
    if (r == 0 && exchange.status != 201)
        r = endpoint_refused(endpoint, &exchange, "a manifest", err);
    http_done(registry->http, &exchange);
    return r;
}
