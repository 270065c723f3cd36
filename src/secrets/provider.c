/* SPDX-License-Identifier: Apache-2.0 */
/* What all providers share. */
#include "secrets/provider.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/own.h"

const char *provider_name(enum provider_kind kind)
{
    static const char *const names[] = {[PROVIDER_FILE] = "file",
                                        [PROVIDER_ENV] = "env",
                                        [PROVIDER_COMMAND] = "command",
                                        [PROVIDER_DIRECTORY] = "directory"};
    return names[kind];
}

bool provider_trusts(const struct stat *info)
{
    return (info->st_uid == 0 || info->st_uid == geteuid()) && !(info->st_mode & 022);
}

/* Editors and 'echo' end a file with a newline that nobody means. */
static size_t without_newline(const char *bytes, size_t length)
{
    if (length && bytes[length - 1] == '\n') {
        length--;
        if (length && bytes[length - 1] == '\r')
            length--;
    }
    return length;
}

int provider_take(const char *bytes, size_t length, bool keeps_newline,
                  struct secret_value *ret_value, struct hutch_error *err)
{
    if (length > SECRET_MAX_BYTES)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "it has more than %d bytes", SECRET_MAX_BYTES);
    if (!keeps_newline)
        length = without_newline(bytes, length);
    if (!length)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "it is empty");
    struct secret_value value;
    if (secret_value_new(&value, length, err) < 0)
        return -(int)err->code;
    memcpy(value.bytes, bytes, length);
    value.length = length;
    *ret_value = value;
    return 0;
}

int provider_read_fd(int fd, bool keeps_newline, struct secret_value *ret_value,
                     struct hutch_error *err)
{
    hutch_cleanup(secret_value_done) struct secret_value all = {0};
    if (secret_value_new(&all, SECRET_MAX_BYTES + 1, err) < 0)
        return -(int)err->code;
    while (all.length <= SECRET_MAX_BYTES) {
        ssize_t got = read(fd, all.bytes + all.length, SECRET_MAX_BYTES + 1 - all.length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hutch_fail_errno(err, errno, "read it");
        if (got == 0)
            break;
        all.length += (size_t)got;
    }
    return provider_take(all.bytes, all.length, keeps_newline, ret_value, err);
}

static void provider_done(struct provider *provider)
{
    free(provider->name);
    hutch_strlist_done(&provider->source);
    *provider = (struct provider){0};
}

void provider_config_done(struct provider_config *config)
{
    for (size_t i = 0; i < config->count; i++)
        provider_done(&config->items[i]);
    free(config->items);
    free(config->path);
    *config = (struct provider_config){0};
}

int provider_config_add(struct provider_config *config, struct provider *provider,
                        struct hutch_error *err)
{
    struct provider *items = reallocarray(config->items, config->count + 1, sizeof(*items));
    if (!items) {
        provider_done(provider);
        return hutch_fail_nomem(err);
    }
    config->items = items;
    config->items[config->count++] = *provider;
    *provider = (struct provider){0};
    return 0;
}
