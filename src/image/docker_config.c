/* SPDX-License-Identifier: Apache-2.0 */
#include "image/docker_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/json_in.h"
#include "util/own.h"

/* Docker Hub is called by the address of its first interface. */
static const char hub_server[] = "https://index.docker.io/v1/";
static const char *const hub_names[] = {"docker.io", "index.docker.io", "registry-1.docker.io"};

static bool is_hub(const char *host, size_t length)
{
    for (size_t i = 0; i < HUTCH_COUNT(hub_names); i++)
        if (strlen(hub_names[i]) == length && !strncasecmp(hub_names[i], host, length))
            return true;
    return false;
}

void docker_server_name(const char *registry, char ret_server[DOCKER_SERVER_BYTES])
{
    bool to_hub = is_hub(registry, strlen(registry));
    (void)snprintf(ret_server, DOCKER_SERVER_BYTES, "%s", to_hub ? hub_server : registry);
}

static bool names_registry(const char *key, const char *registry)
{
    const char *host = key;
    if (!strncmp(host, "https://", 8))
        host += 8;
    else if (!strncmp(host, "http://", 7))
        host += 7;
    size_t length = strcspn(host, "/");
    if (is_hub(registry, strlen(registry)))
        return is_hub(host, length);
    return strlen(registry) == length && !strncasecmp(host, registry, length);
}

const struct hutch_value *docker_entry(const struct hutch_value *object, const char *registry)
{
    char server[DOCKER_SERVER_BYTES];
    if (!object || object->type != HUTCH_VALUE_OBJECT)
        return NULL;
    docker_server_name(registry, server);
    const struct hutch_value *entry = hutch_value_get(object, server);
    for (size_t i = 0; !entry && i < object->list.count; i++)
        if (names_registry(object->list.items[i].key, registry))
            entry = &object->list.items[i];
    return entry;
}

const char *docker_helper(const struct docker_config *config, const char *registry)
{
    const struct hutch_value *helpers = hutch_value_get(&config->root, "credHelpers");
    const char *name = hutch_value_text(docker_entry(helpers, registry));
    if (!name)
        name = hutch_value_text(hutch_value_get(&config->root, "credsStore"));
    return name && *name ? name : NULL;
}

static struct hutch_value *find_member(struct hutch_value *object, const char *key)
{
    for (size_t i = 0; i < object->list.count; i++)
        if (!strcmp(object->list.items[i].key, key))
            return &object->list.items[i];
    return NULL;
}

static struct hutch_value *add_member(struct hutch_value *object, const char *key)
{
    char *copy = strdup(key);
    struct hutch_value *member = copy ? hutch_value_add(object) : NULL;
    if (member)
        member->key = HUTCH_TAKE_PTR(copy);
    free(copy);
    return member;
}

struct hutch_value *docker_object(struct hutch_value *parent, const char *key)
{
    struct hutch_value *member = find_member(parent, key);
    if (!member) {
        member = add_member(parent, key);
        if (member)
            member->type = HUTCH_VALUE_OBJECT;
    }
    return member && member->type == HUTCH_VALUE_OBJECT ? member : NULL;
}

int docker_set_text(struct hutch_value *object, const char *key, const char *text,
                    struct hutch_error *err)
{
    struct hutch_value *old = find_member(object, key);
    char *copy = strdup(text);
    if (old)
        docker_remove(object, old);
    struct hutch_value *member = copy ? add_member(object, key) : NULL;
    if (!member) {
        free(copy);
        return hutch_fail_nomem(err);
    }
    member->type = HUTCH_VALUE_STRING;
    member->string.bytes = copy;
    member->string.length = strlen(copy);
    return 0;
}

void docker_remove(struct hutch_value *object, const struct hutch_value *member)
{
    size_t index = (size_t)(member - object->list.items);
    struct hutch_value *items = object->list.items;
    hutch_value_done(&items[index]);
    memmove(&items[index], &items[index + 1], (object->list.count - index - 1) * sizeof(*items));
    /* the room of a list is known by its count: what is added next finds what it expects */
    object->list.count--;
}
