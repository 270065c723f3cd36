/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/host.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/own.h"

#define UNIX_SCHEME "unix://"

enum { TOKEN_MAX_BYTES = 4096 };

void remote_host_done(struct remote_host *host)
{
    if (host->token)
        explicit_bzero(host->token, strlen(host->token));
    free(host->name);
    free(host->url);
    free(host->socket);
    free(host->token);
    free(host->ca);
    free(host->cert);
    free(host->key);
    *host = (struct remote_host){0};
}

uid_t remote_host_owner(const struct remote_host *host)
{
    struct stat info;
    return host->socket && stat(host->socket, &info) == 0 ? info.st_uid : 0;
}

/* ---- the address ----------------------------------------------------------------------------- */

static bool is_loopback(const char *name)
{
    return !strcmp(name, "localhost") || !strcmp(name, "[::1]") || !strncmp(name, "127.", 4);
}

/* Nothing but a scheme, a host and a port: a password in an address would be seen in 'ps'. */
static int check_parts(CURLU *parts, struct hutch_error *err)
{
    static const struct {
        CURLUPart part;
        const char *complaint;
    } unwanted[] = {
        {CURLUPART_USER, "has a user in it; the token comes from HUTCH_TOKEN alone"},
        {CURLUPART_PASSWORD, "has a password in it; the token comes from HUTCH_TOKEN alone"},
        {CURLUPART_QUERY, "has a query in it; write http://HOST:PORT"},
        {CURLUPART_FRAGMENT, "has a fragment in it; write http://HOST:PORT"},
    };
    for (size_t i = 0; i < HUTCH_COUNT(unwanted); i++) {
        char *found = NULL;
        bool is_there = curl_url_get(parts, unwanted[i].part, &found, 0) == CURLUE_OK;
        curl_free(found);
        if (is_there)
            return hutch_fail(err, HUTCH_E_INVALID, 0, "the daemon's address %s",
                              unwanted[i].complaint);
    }
    char *path = NULL;
    bool has_path =
        curl_url_get(parts, CURLUPART_PATH, &path, 0) == CURLUE_OK && strcmp(path, "/") != 0;
    curl_free(path);
    if (has_path)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the daemon's address has a path in it; write http://HOST:PORT");
    return 0;
}

static int take_parts(struct remote_host *host, CURLU *parts, struct hutch_error *err)
{
    char *scheme = NULL, *name = NULL, *port = NULL;
    int failed = 0;
    if (curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        curl_url_get(parts, CURLUPART_HOST, &name, 0) != CURLUE_OK ||
        curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK) {
        failed = hutch_fail_nomem(err);
    } else {
        host->is_loopback = is_loopback(name);
        if (asprintf(&host->url, "%s://%s:%s", scheme, name, port) < 0) {
            host->url = NULL;
            failed = hutch_fail_nomem(err);
        }
    }
    curl_free(scheme);
    curl_free(name);
    curl_free(port);
    return failed;
}

static int read_url(struct remote_host *host, const char *text, struct hutch_error *err)
{
    CURLU *parts = curl_url();
    if (!parts)
        return hutch_fail_nomem(err);
    bool is_http = !strncmp(text, "http://", 7) || !strncmp(text, "https://", 8);
    int failed = 0;
    if (!is_http || curl_url_set(parts, CURLUPART_URL, text, 0) != CURLUE_OK)
        failed = hutch_fail(err, HUTCH_E_INVALID, 0,
                            "'%.100s' is no address of a daemon; write unix:///PATH, "
                            "http://HOST:PORT or https://HOST:PORT",
                            is_http && strchr(text, '@') ? "it" : text);
    if (!failed)
        failed = check_parts(parts, err);
    if (!failed)
        failed = take_parts(host, parts, err);
    curl_url_cleanup(parts);
    return failed;
}

static int read_address(struct remote_host *host, const char *text, struct hutch_error *err)
{
    bool is_unix = !strncmp(text, UNIX_SCHEME, strlen(UNIX_SCHEME));
    if (!is_unix) {
        int failed = read_url(host, text, err);
        if (failed)
            return failed;
    } else if (text[strlen(UNIX_SCHEME)] != '/' || strlen(text + strlen(UNIX_SCHEME)) > 107) {
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.200s' is no address of a daemon; write unix:///PATH, with an "
                          "absolute path of at most 107 bytes",
                          text);
    } else {
        host->socket = strdup(text + strlen(UNIX_SCHEME));
        host->url = strdup("http://localhost");
        host->is_loopback = true;
    }
    if (!host->url || (is_unix && !host->socket))
        return hutch_fail_nomem(err);
    host->name = strdup(is_unix ? text : host->url);
    return host->name ? 0 : hutch_fail_nomem(err);
}

/* ---- who asks -------------------------------------------------------------------------------- */

/* The file is ours, or root's, and nobody else can read it. */
static int open_token_file(const char *path, struct hutch_error *err)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) < 0)
        return hutch_fail_errno(err, errno, "read the token in '%.200s' (HUTCH_TOKEN_FILE)", path);
    if (S_ISREG(info.st_mode) && !(info.st_mode & 077) &&
        (info.st_uid == geteuid() || info.st_uid == 0))
        return fd;
    (void)close(fd);
    return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                      "the token's file '%.200s' can be read by others, or is another's; make it "
                      "yours alone: chmod 600",
                      path);
}

static int read_token_file(const char *path, char **ret_token, struct hutch_error *err)
{
    char text[TOKEN_MAX_BYTES + 1];
    hutch_autofd int fd = open_token_file(path, err);
    if (fd < 0)
        return fd;
    ssize_t length = read(fd, text, TOKEN_MAX_BYTES);
    if (length < 0)
        return hutch_fail_errno(err, errno, "read the token in '%.200s'", path);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]))
        length--;
    text[length] = '\0';
    *ret_token = strdup(text);
    explicit_bzero(text, sizeof(text));
    return *ret_token ? 0 : hutch_fail_nomem(err);
}

/* It becomes a line of a request's head: what could begin another is no token. */
static int check_token(const struct remote_host *host, struct hutch_error *err)
{
    if (!*host->token || strlen(host->token) > TOKEN_MAX_BYTES)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the token is empty or too long; it is what 'hutch token create' prints");
    for (const char *at = host->token; *at; at++)
        if (*at <= ' ' || *at > '~')
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "the token has signs in it that no token has; it is what 'hutch "
                              "token create' prints");
    if (!host->is_loopback && !strncmp(host->url, "http://", 7))
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "the token is not sent to '%.200s': everybody on the way could read it; "
                          "use https://",
                          host->name);
    return 0;
}

static int read_token(struct remote_host *host, struct hutch_error *err)
{
    const char *given = getenv("HUTCH_TOKEN");
    const char *path = getenv("HUTCH_TOKEN_FILE");
    if (given && *given) {
        host->token = strdup(given);
        if (!host->token)
            return hutch_fail_nomem(err);
    } else if (path && *path) {
        int failed = read_token_file(path, &host->token, err);
        if (failed)
            return failed;
    }
    return host->token ? check_token(host, err) : 0;
}

static int take_file(const char *variable, char **ret_path, struct hutch_error *err)
{
    const char *path = getenv(variable);
    if (!path || !*path)
        return 0;
    if (access(path, R_OK) < 0)
        return hutch_fail_errno(err, errno, "read '%.200s' (%s)", path, variable);
    *ret_path = strdup(path);
    return *ret_path ? 0 : hutch_fail_nomem(err);
}

int remote_host_read(struct remote_host *host, struct hutch_error *err)
{
    const char *text = getenv("HUTCH_HOST");
    *host = (struct remote_host){0};
    if (!text || !*text)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "no daemon to talk to; name one with '--host', or in HUTCH_HOST");
    if (read_address(host, text, err) < 0 || read_token(host, err) < 0 ||
        take_file("HUTCH_TLS_CA", &host->ca, err) < 0 ||
        take_file("HUTCH_TLS_CERT", &host->cert, err) < 0 ||
        take_file("HUTCH_TLS_KEY", &host->key, err) < 0) {
        remote_host_done(host);
        return -(int)err->code;
    }
    return 0;
}
