/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "hutch/image.h"
#include "image/credentials.h"
#include "image/reference.h"
#include "image/registry.h"
#include "libhutch/scratch.h"

/* A registry as people write it, with its one name: what the grammar of references says it is. */
static int parse_registry(const char *text, struct image_reference *ret_reference,
                          struct hutch_error *err)
{
    char name[sizeof(ret_reference->registry) + 4];
    const char *host = text ? text : "docker.io";
    static const char *const hub[] = {"https://index.docker.io/v1/", "index.docker.io",
                                      "registry-1.docker.io", ""};
    for (size_t i = 0; i < sizeof(hub) / sizeof(hub[0]); i++)
        if (!strcmp(host, hub[i]))
            host = "docker.io";
    if (!strncmp(host, "https://", 8))
        host += 8;
    size_t length = strcspn(host, "/");
    if (length >= sizeof(ret_reference->registry) || (host[length] && host[length + 1]))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.200s' is no registry; write HOST or HOST:PORT", text);
    (void)stpcpy(stpncpy(name, host, length), "/x");
    if (image_reference_parse(name, ret_reference, err) < 0 ||
        strncmp(ret_reference->registry, host, length) != 0 || ret_reference->registry[length])
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.200s' is no registry; write HOST or HOST:PORT", text);
    return 0;
}

int hutch_image_login(const char *registry, const char *user, const char *password,
                      struct hutch_error *err)
{
    struct image_reference reference;
    OR_SCRATCH(err);
    int r = parse_registry(registry, &reference, err);
    if (r < 0)
        return r;
    if (!user || !*user || strchr(user, ':') || !password || !*password)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "a login is a user's name without ':' and a password, both not empty");
    r = registry_check_login(reference.registry, user, password, err);
    if (r == 0)
        r = credentials_keep(reference.registry, user, password, err);
    return r;
}

int hutch_image_logout(const char *registry, struct hutch_error *err)
{
    struct image_reference reference;
    OR_SCRATCH(err);
    int r = parse_registry(registry, &reference, err);
    return r < 0 ? r : credentials_forget(reference.registry, err);
}
