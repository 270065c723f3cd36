/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/hash.h"
#include "image/registry_parts.h"
#include "util/own.h"

static const char *const media_types[] = {MEDIA_OCI_INDEX, MEDIA_OCI_MANIFEST, MEDIA_DOCKER_LIST,
                                          MEDIA_DOCKER_MANIFEST};
static const char *const accepted[] = {"Accept: " MEDIA_OCI_INDEX ", " MEDIA_OCI_MANIFEST
                                       ", " MEDIA_DOCKER_LIST ", " MEDIA_DOCKER_MANIFEST,
                                       NULL};

/* The type without its parameters, if it is one that we asked for. */
static int check_media_type(const struct http_exchange *exchange, char ret_media_type[128],
                            struct hutch_error *err)
{
    char shown[URL_PRINTABLE_BYTES];
    const char *told = http_header(exchange, "Content-Type", 0);
    size_t length = told ? strcspn(told, "; \t") : 0;
    for (size_t i = 0; i < HUTCH_COUNT(media_types); i++) {
        if (strlen(media_types[i]) == length && !strncmp(media_types[i], told, length)) {
            memcpy(ret_media_type, media_types[i], length + 1);
            return 0;
        }
    }
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "what it sends is of type '%.100s', which is no manifest of an image",
                      told ? url_printable(told, shown) : "unknown");
}

static int check_digest(const struct http_exchange *exchange, const char *tag_or_digest,
                        char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    const char *told = http_header(exchange, "Docker-Content-Digest", 0);
    const char *expected = image_digest_is_valid(tag_or_digest)  ? tag_or_digest
                           : told && image_digest_is_valid(told) ? told
                                                                 : NULL;
    int r = hash_of(exchange->answer.data, exchange->answer.length, ret_digest, err);
    if (r == 0 && expected && strcmp(expected, ret_digest) != 0)
        r = hutch_fail(err, HUTCH_E_INVALID, 0,
                       "the manifest has the digest %s, but %s was promised", ret_digest, expected);
    return r;
}

struct manifest_answer {
    char *text;
    size_t length;
    char media_type[128];
    char digest[IMAGE_DIGEST_BYTES];
};

static int read_answer(struct http_exchange *exchange, const char *tag_or_digest,
                       struct manifest_answer *answer, struct hutch_error *err)
{
    int r = check_media_type(exchange, answer->media_type, err);
    if (r < 0)
        return r;
    if (exchange->answer.length == 0)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "the manifest is empty");
    r = check_digest(exchange, tag_or_digest, answer->digest, err);
    if (r < 0)
        return r;
    return hutch_buf_take(&exchange->answer, &answer->text, &answer->length, err);
}

static int ask_endpoint(struct registry *registry, struct endpoint *endpoint,
                        const char *tag_or_digest, struct manifest_answer *answer,
                        struct hutch_error *err)
{
    char what[IMAGE_REFERENCE_BYTES + 16];
    hutch_autofree char *path = NULL;
    struct http_exchange exchange = HTTP_EXCHANGE_INIT;
    exchange.headers = accepted;
    exchange.ceiling = MANIFEST_MAX_BYTES;
    (void)snprintf(what, sizeof(what), "image '%s%s%s'", registry->reference.repository,
                   strchr(tag_or_digest, ':') ? "@" : ":", tag_or_digest);
    int r = registry_path(registry, "manifests", tag_or_digest, &path, err);
    if (r < 0)
        return r;
    r = endpoint_ask(endpoint, registry->http, registry->scope, &exchange, path, err);
    if (r == 0 && exchange.status != 200) {
        r = endpoint_refused(endpoint, &exchange, what, err);
    } else if (r == 0) {
        r = read_answer(&exchange, tag_or_digest, answer, err);
        if (r < 0)
            (void)hutch_wrap(err, "%s of '%s': ", what, endpoint->name);
    }
    http_done(registry->http, &exchange);
    return r;
}

int registry_get_manifest(struct registry *registry, const char *tag_or_digest, char **ret_text,
                          size_t *ret_length, char ret_media_type[128],
                          char ret_digest[IMAGE_DIGEST_BYTES], struct hutch_error *err)
{
    struct manifest_answer answer = {0};
    int r = -1;
    /* a mirror that fails, however it does, is passed over: the last word has the registry itself
     */
    for (size_t i = registry->endpoint; r < 0 && i < registry->endpoint_count; i++) {
        r = ask_endpoint(registry, &registry->endpoints[i], tag_or_digest, &answer, err);
        if (r == 0)
            registry->endpoint = i;
    }
    if (r < 0)
        return r;
    *ret_text = answer.text;
    *ret_length = answer.length;
    memcpy(ret_media_type, answer.media_type, sizeof(answer.media_type));
    memcpy(ret_digest, answer.digest, sizeof(answer.digest));
    return 0;
}
