/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of the docker command: contexts/meta/HASH/meta.json says where an engine is,
 * contexts/tls/HASH/docker/ has its certificates; HASH is the SHA-256 of the context's name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/docker/endpoint.h"
#include "core/json_in.h"
#include "image/hash.h"
#include "util/fs.h"
#include "util/own.h"

enum { FILE_CEILING = 1 << 20 };

bool docker_config_directory(char ret_path[PATH_MAX])
{
    const char *directory = getenv("DOCKER_CONFIG");
    const char *home = getenv("HOME");
    int length;
    if (directory && *directory)
        length = snprintf(ret_path, PATH_MAX, "%s", directory);
    else if (home && *home == '/')
        length = snprintf(ret_path, PATH_MAX, "%s/.docker", home);
    else
        return false;
    return length < PATH_MAX;
}

static int read_json(const char *path, struct hutch_value *ret_value, struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    size_t length = 0;
    if (hutch_read_file(path, FILE_CEILING, &text, &length, err) < 0)
        return -(int)err->code;
    if (hutch_json_parse(text, length, ret_value, err) < 0)
        return hutch_wrap(err, "'%.200s': ", path);
    return 0;
}

int docker_context_chosen(char *ret_name, size_t size, struct hutch_error *err)
{
    hutch_cleanup(hutch_value_done) struct hutch_value config = {0};
    char directory[PATH_MAX];
    char path[PATH_MAX + 16];
    ret_name[0] = '\0';
    if (!docker_config_directory(directory))
        return 0;
    (void)snprintf(path, sizeof(path), "%s/config.json", directory);
    if (access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
        return 0;
    if (read_json(path, &config, err) < 0)
        return -(int)err->code;
    const char *name = hutch_value_text(hutch_value_get(&config, "currentContext"));
    if (name && (size_t)snprintf(ret_name, size, "%s", name) >= size)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.200s': the name of its context is too long",
                          path);
    return 0;
}

static int read_meta(struct docker_endpoint *endpoint, const char *path, const char *name,
                     struct hutch_error *err)
{
    hutch_cleanup(hutch_value_done) struct hutch_value meta = {0};
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                          "docker has no context '%.80s'; 'docker context ls' shows those it has",
                          name);
    if (read_json(path, &meta, err) < 0)
        return -(int)err->code;
    const struct hutch_value *docker =
        hutch_value_get(hutch_value_get(&meta, "Endpoints"), "docker");
    const struct hutch_value *skips = hutch_value_get(docker, "SkipTLSVerify");
    const char *host = hutch_value_text(hutch_value_get(docker, "Host"));
    if (!host)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.200s' does not say where its engine is",
                          path);
    if (skips && skips->type == HUTCH_VALUE_BOOL && skips->boolean)
        return hutch_fail(err, HUTCH_E_PERMISSION, 0,
                          "docker's context '%.80s' asks not to check who the engine is, which "
                          "hutch always does; give the context a certificate authority",
                          name);
    return docker_endpoint_parse(endpoint, host, false, err);
}

/* A context has TLS when it has certificates. */
static int read_certificates(struct docker_endpoint *endpoint, const char *directory,
                             struct hutch_error *err)
{
    char again[sizeof(endpoint->host)];
    if (endpoint->socket[0] || access(directory, F_OK) < 0)
        return 0;
    (void)snprintf(again, sizeof(again), "%s", endpoint->host);
    if (docker_endpoint_parse(endpoint, again, true, err) < 0)
        return -(int)err->code;
    return docker_endpoint_certificates(endpoint, directory, false, err);
}

int docker_context_read(struct docker_endpoint *endpoint, const char *name, struct hutch_error *err)
{
    char directory[PATH_MAX];
    char digest[IMAGE_DIGEST_BYTES];
    char path[PATH_MAX + 128];
    (void)snprintf(endpoint->from, sizeof(endpoint->from), "docker's context '%.100s'", name);
    if (!docker_config_directory(directory))
        return hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                          "docker's context '%.80s' cannot be found; set HOME or DOCKER_CONFIG",
                          name);
    if (hash_of(name, strlen(name), digest, err) < 0)
        return -(int)err->code;
    const char *hex = strchr(digest, ':') + 1;
    (void)snprintf(path, sizeof(path), "%s/contexts/meta/%s/meta.json", directory, hex);
    if (read_meta(endpoint, path, name, err) < 0)
        return -(int)err->code;
    (void)snprintf(path, sizeof(path), "%s/contexts/tls/%s/docker", directory, hex);
    return read_certificates(endpoint, path, err);
}
