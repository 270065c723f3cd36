/* SPDX-License-Identifier: Apache-2.0 */
/* Theory of operation. A registry is a list of endpoints: mirrors, then the registry itself. Each
 * is a server with its login (registry_endpoint.c, registry_token.c) that is asked by exchanges
 * over HTTP (registry_http.c), which all share the connections of one libcurl multi handle
 * (registry_pump.c). Manifests are asked for one by one, of each endpoint until one has it; blobs
 * several at once (registry_blobs.c). One thread does it all: nothing here waits but in
 * http_pump(). */
#include "image/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/registry_parts.h"
#include "util/own.h"

struct endpoint *registry_itself(struct registry *registry)
{
    return &registry->endpoints[registry->endpoint_count - 1];
}

int registry_path(const struct registry *registry, const char *kind, const char *what,
                  char **ret_path, struct hutch_error *err)
{
    char *path = NULL;
    if (asprintf(&path, "/v2/%s/%s/%s", registry->reference.repository, kind, what) < 0)
        return hutch_fail_nomem(err);
    *ret_path = path;
    return 0;
}

static int add_endpoint(struct registry *registry, const char *name, const char *base,
                        const struct registry_settings *settings, struct hutch_error *err)
{
    struct endpoint *endpoint = &registry->endpoints[registry->endpoint_count++];
    return endpoint_init(endpoint, name, base, settings, err);
}

static int add_mirror(struct registry *registry, const struct registries *configuration,
                      const char *url, struct hutch_error *err)
{
    char name[URL_HOST_BYTES + 8];
    const char *host = strstr(url, "://") + 3;
    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(host, "/"), host);
    return add_endpoint(registry, name, url, registries_find(configuration, name), err);
}

static int add_endpoints(struct registry *registry, enum registry_access access,
                         const struct registries *configuration, struct hutch_error *err)
{
    const char *name = registry->reference.registry;
    const struct registry_settings *settings = registries_find(configuration, name);
    size_t mirrors = settings && access == REGISTRY_PULL ? settings->mirrors.count : 0;
    registry->endpoints = calloc(mirrors + 1, sizeof(*registry->endpoints));
    if (!registry->endpoints)
        return hutch_fail_nomem(err);
    for (size_t i = 0; i < mirrors; i++) {
        int r = add_mirror(registry, configuration, settings->mirrors.items[i], err);
        if (r < 0)
            return r;
    }
    return add_endpoint(registry, name, NULL, settings, err);
}

static int open_registry(struct registry *registry, enum registry_access access,
                         struct hutch_error *err)
{
    struct registries configuration;
    int r = http_new(&registry->http, err);
    if (r < 0)
        return r;
    r = registries_load(&configuration, err);
    if (r < 0)
        return r;
    r = add_endpoints(registry, access, &configuration, err);
    registries_done(&configuration);
    return r;
}

int registry_open(const struct image_reference *reference, enum registry_access access,
                  struct registry **ret_registry, struct hutch_error *err)
{
    struct registry *registry = calloc(1, sizeof(*registry));
    if (!registry)
        return hutch_fail_nomem(err);
    registry->reference = *reference;
    (void)snprintf(registry->scope, sizeof(registry->scope), "repository:%s:%s",
                   reference->repository, access == REGISTRY_PUSH ? "pull,push" : "pull");
    int r = open_registry(registry, access, err);
    if (r < 0)
        registry_free(registry);
    else
        *ret_registry = registry;
    return r;
}

void registry_free(struct registry *registry)
{
    if (!registry)
        return;
    for (size_t i = 0; i < registry->endpoint_count; i++)
        endpoint_done(&registry->endpoints[i]);
    free(registry->endpoints);
    http_free(registry->http);
    free(registry);
}

static int check_login(struct registry *registry, const char *user, const char *password,
                       struct hutch_error *err)
{
    struct endpoint *endpoint = registry_itself(registry);
    struct http_exchange exchange = HTTP_EXCHANGE_INIT;
    endpoint->credentials.user = strdup(user);
    endpoint->credentials.password = strdup(password);
    endpoint->credentials.origin = strdup("this login");
    endpoint->has_credentials = true;
    if (!endpoint->credentials.user || !endpoint->credentials.password)
        return hutch_fail_nomem(err);
    int r = endpoint_ask(endpoint, registry->http, NULL, &exchange, "/v2/", err);
    if (r == 0 && exchange.status != 200)
        r = endpoint_refused(endpoint, &exchange, "a login", err);
    http_done(registry->http, &exchange);
    return r;
}

int registry_check_login(const char *name, const char *user, const char *password,
                         struct hutch_error *err)
{
    struct image_reference reference = {0};
    struct registry *registry = NULL;
    if (strlen(name) >= sizeof(reference.registry))
        return hutch_fail(err, HUTCH_E_INVALID, 0, "the registry's name is too long");
    memcpy(reference.registry, name, strlen(name) + 1);
    int r = registry_open(&reference, REGISTRY_PUSH, &registry, err);
    if (r == 0 && registry)
        r = check_login(registry, user, password, err);
    registry_free(registry);
    return r;
}
