/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "secrets/provider.h"
#include "util/own.h"

struct configs {
    struct provider_config items[PROVIDER_CONFIGS];
    size_t count;
};

static void configs_done(struct configs *configs)
{
    for (size_t i = 0; i < configs->count; i++)
        provider_config_done(&configs->items[i]);
    configs->count = 0;
}

static bool provides(const struct provider *provider, const char *name)
{
    return provider->name ? !strcmp(provider->name, name) : provider_directory_has(provider, name);
}

static const struct provider *find(const struct configs *configs, const char *name)
{
    for (size_t i = 0; i < configs->count; i++)
        for (size_t k = 0; k < configs->items[i].count; k++)
            if (provides(&configs->items[i].items[k], name))
                return &configs->items[i].items[k];
    return NULL;
}

static int fail_unknown(const struct configs *configs, const char *name, struct hutch_error *err)
{
    if (!configs->count)
        return hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                          "there is no secret '%.64s': nothing says where secrets come from; write "
                          "/etc/hutch/secrets.yml, or let HUTCH_SECRETS name a document or a "
                          "directory",
                          name);
    return hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                      "there is no secret '%.64s'; 'hutch secret ls' lists those there are", name);
}

/* The one thing that differs between readers. */
static int check_reader(const struct provider *provider, const char *name,
                        enum secret_reader reader, struct hutch_error *err)
{
    if (provider->kind != PROVIDER_ENV || reader == SECRET_READER_CALLER)
        return 0;
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                      "secret '%.64s' comes from the variable '%.80s', which the keeper of a "
                      "sandbox that stays does not have; take it from a file, a command or a "
                      "directory",
                      name, provider->source.items[0]);
}

static int read_value(const struct provider *provider, const char *name,
                      struct secret_value *ret_value, struct hutch_error *err)
{
    switch (provider->kind) {
    case PROVIDER_FILE:
        return provider_file_read(provider, ret_value, err);
    case PROVIDER_ENV:
        return provider_env_read(provider, ret_value, err);
    case PROVIDER_COMMAND:
        return provider_command_read(provider, ret_value, err);
    case PROVIDER_DIRECTORY:
        return provider_directory_read(provider, name, ret_value, err);
    }
    return hutch_fail(err, HUTCH_E_INTERNAL, 0, "a provider of an unknown kind");
}

int secret_read(const char *name, enum secret_reader reader, struct secret_value *ret_value,
                struct hutch_error *err)
{
    hutch_cleanup(configs_done) struct configs configs = {0};
    if (provider_configs_find(configs.items, &configs.count, err) < 0)
        return hutch_wrap(err, "secret '%.64s': ", name);
    const struct provider *provider = find(&configs, name);
    if (!provider)
        return fail_unknown(&configs, name, err);
    if (check_reader(provider, name, reader, err) < 0)
        return -(int)err->code;
    if (read_value(provider, name, ret_value, err) < 0)
        return hutch_wrap(err, "secret '%.64s': ", name);
    return 0;
}

/* ---- listing --------------------------------------------------------------------------------- */

struct listing {
    hutch_secret_fn on_secret;
    void *userdata;
    struct hutch_strlist told;
    const char *config;
    struct hutch_error *err;
};

static int tell(struct listing *listing, const struct provider *provider, const char *name)
{
    struct hutch_secret_info info = {.name = name,
                                     .provider = provider_name(provider->kind),
                                     .source = provider->source.items[0],
                                     .config = listing->config};
    if (hutch_strlist_has(&listing->told, name))
        return 0; /* an earlier one is what counts */
    if (hutch_strlist_add(&listing->told, name, listing->err) < 0)
        return -(int)listing->err->code;
    return listing->on_secret(listing->userdata, &info);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int tell_directory(struct listing *listing, const struct provider *provider)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist names = {0};
    if (provider_directory_list(provider, &names, listing->err) < 0)
        return -(int)listing->err->code;
    if (names.count)
        qsort(names.items, names.count, sizeof(*names.items), compare_names);
    int status = 0;
    for (size_t i = 0; i < names.count && status == 0; i++)
        status = tell(listing, provider, names.items[i]);
    return status;
}

int secret_list(hutch_secret_fn on_secret, void *userdata, struct hutch_error *err)
{
    hutch_cleanup(configs_done) struct configs configs = {0};
    struct listing listing = {.on_secret = on_secret, .userdata = userdata, .err = err};
    int status = provider_configs_find(configs.items, &configs.count, err);
    for (size_t i = 0; i < configs.count && status == 0; i++) {
        const struct provider_config *config = &configs.items[i];
        listing.config = config->path;
        for (size_t k = 0; k < config->count && status == 0; k++)
            status = config->items[k].name
                         ? tell(&listing, &config->items[k], config->items[k].name)
                         : tell_directory(&listing, &config->items[k]);
    }
    hutch_strlist_done(&listing.told);
    return status;
}
