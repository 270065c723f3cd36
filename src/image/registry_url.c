/* SPDX-License-Identifier: Apache-2.0 */
#include "image/registry_url.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/own.h"

static void url_cleanup(CURLU **url)
{
    curl_url_cleanup(*url);
}

static void curl_freep(char **text)
{
    curl_free(*text);
}

#define AUTO_URL hutch_cleanup(url_cleanup) CURLU *
#define AUTO_PART hutch_cleanup(curl_freep) char *

const char *url_printable(const char *text, char ret_text[URL_PRINTABLE_BYTES])
{
    size_t i = 0;
    for (; i < URL_PRINTABLE_BYTES - 1 && text[i]; i++)
        ret_text[i] = isprint((unsigned char)text[i]) ? text[i] : '?';
    ret_text[i] = '\0';
    return ret_text;
}

static int refuse(const char *url, const char *why, struct hutch_error *err)
{
    char shown[URL_PRINTABLE_BYTES];
    return hutch_fail(err, HUTCH_E_PERMISSION, 0, "the address '%s' is refused: %s",
                      url_printable(url, shown), why);
}

int url_check(const char *url, bool allows_plain, struct url_origin *ret_origin,
              struct hutch_error *err)
{
    AUTO_URL parsed = curl_url();
    AUTO_PART scheme = NULL;
    AUTO_PART host = NULL;
    AUTO_PART port = NULL;
    AUTO_PART user = NULL;
    AUTO_PART password = NULL;
    struct url_origin origin = {0};
    if (!parsed)
        return hutch_fail_nomem(err);
    if (curl_url_set(parsed, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK ||
        curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
        return refuse(url, "it is not of the form https://HOST/PATH", err);
    if (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0)
        return refuse(url, "only HTTP and HTTPS are followed", err);
    if (curl_url_get(parsed, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        curl_url_get(parsed, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK)
        return refuse(url, "it is not of the form https://HOST/PATH", err);
    origin.is_plain = !strcmp(scheme, "http");
    if (origin.is_plain && !allows_plain)
        return refuse(url, "it leads from HTTPS to plain HTTP", err);
    if (curl_url_get(parsed, CURLUPART_USER, &user, 0) == CURLUE_OK ||
        curl_url_get(parsed, CURLUPART_PASSWORD, &password, 0) == CURLUE_OK)
        return refuse(url, "it carries a login", err);
    if (strlen(host) >= sizeof(origin.host))
        return refuse(url, "its host's name is too long", err);
    for (size_t i = 0; host[i]; i++)
        origin.host[i] = (char)tolower((unsigned char)host[i]);
    origin.port = (unsigned)strtoul(port, NULL, 10);
    *ret_origin = origin;
    return 0;
}

bool url_same_origin(const struct url_origin *a, const struct url_origin *b)
{
    return a->is_plain == b->is_plain && a->port == b->port && !strcmp(a->host, b->host);
}

bool url_host_is_local(const char *host)
{
    return !strcmp(host, "localhost") || !strcmp(host, "[::1]") || !strcmp(host, "127.0.0.1");
}

int url_add_query(char **url, const char *key, const char *value, struct hutch_error *err)
{
    AUTO_URL parsed = curl_url();
    AUTO_PART whole = NULL;
    hutch_autofree char *pair = NULL;
    if (asprintf(&pair, "%s=%s", key, value) < 0) {
        pair = NULL;
        return hutch_fail_nomem(err);
    }
    if (!parsed || curl_url_set(parsed, CURLUPART_URL, *url, 0) != CURLUE_OK ||
        curl_url_set(parsed, CURLUPART_QUERY, pair, CURLU_APPENDQUERY | CURLU_URLENCODE) !=
            CURLUE_OK ||
        curl_url_get(parsed, CURLUPART_URL, &whole, 0) != CURLUE_OK)
        return refuse(*url, "nothing can be added to it", err);
    char *copy = strdup(whole);
    if (!copy)
        return hutch_fail_nomem(err);
    free(*url);
    *url = copy;
    return 0;
}

int url_resolve(const char *base, const char *reference, char **ret_url, struct hutch_error *err)
{
    AUTO_URL parsed = curl_url();
    AUTO_PART whole = NULL;
    if (!parsed || curl_url_set(parsed, CURLUPART_URL, base, 0) != CURLUE_OK ||
        curl_url_set(parsed, CURLUPART_URL, reference, 0) != CURLUE_OK ||
        curl_url_get(parsed, CURLUPART_URL, &whole, 0) != CURLUE_OK)
        return refuse(reference, "it is no address", err);
    char *copy = strdup(whole);
    if (!copy)
        return hutch_fail_nomem(err);
    *ret_url = copy;
    return 0;
}
