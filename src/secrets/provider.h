/* SPDX-License-Identifier: Apache-2.0 */
/* Where a value comes from: one row of the configuration, read by one of the providers. */
#ifndef HUTCH_SECRETS_PROVIDER_H
#define HUTCH_SECRETS_PROVIDER_H

#include <stdint.h>
#include <sys/stat.h>

#include "secrets/secrets.h"
#include "util/strlist.h"

enum provider_kind { PROVIDER_FILE, PROVIDER_ENV, PROVIDER_COMMAND, PROVIDER_DIRECTORY };

/* "file", "env", ... */
const char *provider_name(enum provider_kind kind);

struct provider {
    char *name; /* of the secret; NULL: a directory, whose files are secrets */
    enum provider_kind kind;
    struct hutch_strlist source; /* the path or variable alone, or the words of a command */
    uint64_t timeout_ms;         /* of a command */
    bool keeps_newline;          /* one at the end is part of the value */
};

struct provider_config {
    char *path; /* the document's; NULL: there is none */
    struct provider *items;
    size_t count;
};

void provider_config_done(struct provider_config *config);
int provider_config_add(struct provider_config *config, struct provider *provider,
                        struct hutch_error *err);
/* config.c: reads a document. Its owner and mode were checked. */
int provider_config_parse(struct provider_config *config, const char *text, size_t length,
                          bool is_yaml, struct hutch_error *err);
/* find.c: all that apply, those that count first, at most PROVIDER_CONFIGS. */
#define PROVIDER_CONFIGS 2
int provider_configs_find(struct provider_config configs[PROVIDER_CONFIGS], size_t *ret_count,
                          struct hutch_error *err);

/* Is it root's or our own, and can nobody else change it? */
bool provider_trusts(const struct stat *info);
/* Every byte until its end, less a newline there. At most SECRET_MAX_BYTES, at least one. */
int provider_read_fd(int fd, bool keeps_newline, struct secret_value *ret_value,
                     struct hutch_error *err);
/* The same of memory that is the provider's own. */
int provider_take(const char *bytes, size_t length, bool keeps_newline,
                  struct secret_value *ret_value, struct hutch_error *err);

int provider_file_read(const struct provider *provider, struct secret_value *ret_value,
                       struct hutch_error *err);
int provider_env_read(const struct provider *provider, struct secret_value *ret_value,
                      struct hutch_error *err);
int provider_command_read(const struct provider *provider, struct secret_value *ret_value,
                          struct hutch_error *err);
/* Fails with HUTCH_E_NOT_FOUND when it has no such file. */
int provider_directory_read(const struct provider *provider, const char *name,
                            struct secret_value *ret_value, struct hutch_error *err);
/* Is it there? */
bool provider_directory_has(const struct provider *provider, const char *name);
int provider_directory_list(const struct provider *provider, struct hutch_strlist *names,
                            struct hutch_error *err);

#endif
