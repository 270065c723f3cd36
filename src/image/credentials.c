/* SPDX-License-Identifier: Apache-2.0 */
#include "image/credentials.h"

#include <stdlib.h>
#include <string.h>

#include "image/base64.h"
#include "image/credential_helper.h"
#include "image/docker_config.h"
#include "util/own.h"

void credentials_done(struct credentials *credentials)
{
    free(credentials->user);
    if (credentials->password)
        explicit_bzero(credentials->password, strlen(credentials->password));
    free(credentials->password);
    if (credentials->identity_token)
        explicit_bzero(credentials->identity_token, strlen(credentials->identity_token));
    free(credentials->identity_token);
    free(credentials->origin);
    *credentials = (struct credentials){0};
}

/* "user:password" in base64, or the two in members of their own. */
static int read_login(const struct hutch_value *entry, struct credentials *credentials,
                      struct hutch_error *err)
{
    const char *auth = hutch_value_text(hutch_value_get(entry, "auth"));
    const char *user = hutch_value_text(hutch_value_get(entry, "username"));
    const char *password = hutch_value_text(hutch_value_get(entry, "password"));
    hutch_autofree char *text = NULL;
    if (auth && *auth) {
        int r = base64_decode(auth, &text, err);
        if (r < 0)
            return hutch_wrap(err, "auth: ");
        char *colon = strchr(text, ':');
        if (!colon)
            return hutch_fail(err, HUTCH_E_INVALID, 0, "auth: it is not USER:PASSWORD in base64");
        *colon = '\0';
        user = text;
        password = colon + 1;
    }
    if (!user || !*user || !password)
        return 0;
    credentials->user = strdup(user);
    credentials->password = strdup(password);
    if (text)
        explicit_bzero(text, strlen(text));
    return credentials->user && credentials->password ? 0 : hutch_fail_nomem(err);
}

static int read_entry(const struct docker_config *config, const struct hutch_value *entry,
                      struct credentials *ret_credentials, struct hutch_error *err)
{
    struct credentials found = {.origin = strdup(config->path)};
    const char *token = hutch_value_text(hutch_value_get(entry, "identitytoken"));
    int r = found.origin ? read_login(entry, &found, err) : hutch_fail_nomem(err);
    if (r == 0 && token && *token) {
        found.identity_token = strdup(token);
        if (!found.identity_token)
            r = hutch_fail_nomem(err);
    }
    if (r < 0) {
        credentials_done(&found);
        return hutch_wrap(err, "'%s': auths: '%.100s': ", config->path, entry->key);
    }
    *ret_credentials = found;
    return 0;
}

int credentials_find(const char *registry, struct credentials *ret_credentials,
                     struct hutch_error *err)
{
    char server[DOCKER_SERVER_BYTES];
    struct docker_config config;
    struct credentials found = {0};
    int r = docker_config_load(&config, false, err);
    if (r < 0)
        return r;
    const char *helper = docker_helper(&config, registry);
    const struct hutch_value *entry =
        docker_entry(hutch_value_get(&config.root, "auths"), registry);
    docker_server_name(registry, server);
    if (helper)
        r = credential_helper_get(helper, server, &found, err);
    else if (entry)
        r = read_entry(&config, entry, &found, err);
    docker_config_done(&config);
    if (r == 0)
        *ret_credentials = found;
    return r;
}

/* What an older login left, under whichever of its names. */
static void remove_entries(struct hutch_value *auths, const char *registry)
{
    const struct hutch_value *entry;
    while ((entry = docker_entry(auths, registry)))
        docker_remove(auths, entry);
}

/* With a helper an empty entry tells that there is a login. */
static int enter_login(struct docker_config *config, const char *registry, const char *auth,
                       struct hutch_error *err)
{
    char server[DOCKER_SERVER_BYTES];
    struct hutch_value *auths = docker_object(&config->root, "auths");
    if (!auths)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'%s': auths is no object", config->path);
    docker_server_name(registry, server);
    remove_entries(auths, registry);
    struct hutch_value *entry = docker_object(auths, server);
    if (!entry)
        return hutch_fail_nomem(err);
    return auth ? docker_set_text(entry, "auth", auth, err) : 0;
}

static int encode_login(const char *user, const char *password, char **ret_auth,
                        struct hutch_error *err)
{
    hutch_autofree char *text = malloc(strlen(user) + strlen(password) + 2);
    if (!text)
        return hutch_fail_nomem(err);
    (void)stpcpy(stpcpy(stpcpy(text, user), ":"), password);
    int r = base64_encode(text, ret_auth, err);
    explicit_bzero(text, strlen(text));
    return r;
}

int credentials_keep(const char *registry, const char *user, const char *password,
                     struct hutch_error *err)
{
    char server[DOCKER_SERVER_BYTES];
    hutch_autofree char *auth = NULL;
    struct docker_config config;
    int r = docker_config_load(&config, true, err);
    if (r < 0)
        return r;
    const char *helper = docker_helper(&config, registry);
    docker_server_name(registry, server);
    if (helper)
        r = credential_helper_store(helper, server, user, password, err);
    else
        r = encode_login(user, password, &auth, err);
    if (r == 0)
        r = enter_login(&config, registry, auth, err);
    if (r == 0)
        r = docker_config_save(&config, err);
    docker_config_done(&config);
    return r;
}

int credentials_forget(const char *registry, struct hutch_error *err)
{
    char server[DOCKER_SERVER_BYTES];
    struct docker_config config;
    int r = docker_config_load(&config, true, err);
    if (r < 0)
        return r;
    const char *helper = docker_helper(&config, registry);
    struct hutch_value *auths = docker_object(&config.root, "auths");
    docker_server_name(registry, server);
    if (!helper && !docker_entry(auths, registry))
        r = hutch_fail(err, HUTCH_E_NOT_FOUND, 0, "there is no login for '%.200s' in '%.200s'",
                       registry, config.path);
    if (r == 0 && helper)
        r = credential_helper_erase(helper, server, err);
    if (r == 0 && auths) {
        remove_entries(auths, registry);
        r = docker_config_save(&config, err);
    }
    docker_config_done(&config);
    return r;
}
