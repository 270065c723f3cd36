/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/docker/login.h"

#include <stdlib.h>
#include <string.h>

#include "image/base64.h"
#include "image/credentials.h"
#include "image/docker_config.h"
#include "util/json_out.h"
#include "util/own.h"

enum { LOGINS_CEILING = 64 << 10 };

void docker_login_free(char **login)
{
    if (*login)
        explicit_bzero(*login, strlen(*login));
    free(*login);
    *login = NULL;
}

static void write_login(struct hutch_json_out *out, const char *key, const char *registry,
                        const struct credentials *login)
{
    hutch_json_open(out, key, '{');
    if (login->identity_token)
        hutch_json_string(out, "identitytoken", login->identity_token);
    else
        hutch_json_string(out, "username", login->user);
    if (login->password && !login->identity_token)
        hutch_json_string(out, "password", login->password);
    hutch_json_string(out, "serveraddress", registry);
    hutch_json_close(out, '}');
}

static int encode(struct hutch_buf *text, char **ret_login, struct hutch_error *err)
{
    int status = text->failed ? hutch_fail_nomem(err) : base64_encode(text->data, ret_login, err);
    hutch_buf_wipe(text);
    for (char *at = status == 0 ? *ret_login : NULL; at && *at; at++) {
        if (*at == '+')
            *at = '-';
        if (*at == '/')
            *at = '_';
    }
    return status;
}

int docker_login_of(const char *registry, char **ret_login, struct hutch_error *err)
{
    hutch_cleanup(credentials_done) struct credentials login = {0};
    struct hutch_buf text = HUTCH_BUF(LOGINS_CEILING);
    struct hutch_json_out out = {&text, false};
    *ret_login = NULL;
    if (credentials_find(registry, &login, err) < 0)
        return -(int)err->code;
    if (!login.user && !login.identity_token)
        return 0;
    write_login(&out, NULL, registry, &login);
    return encode(&text, ret_login, err);
}

int docker_logins_of(const struct hutch_strlist *registries, char **ret_logins,
                     struct hutch_error *err)
{
    struct hutch_buf text = HUTCH_BUF(LOGINS_CEILING);
    struct hutch_json_out out = {&text, false};
    size_t found = 0;
    *ret_logins = NULL;
    hutch_json_open(&out, NULL, '{');
    for (size_t i = 0; i < registries->count; i++) {
        hutch_cleanup(credentials_done) struct credentials login = {0};
        char server[DOCKER_SERVER_BYTES];
        if (credentials_find(registries->items[i], &login, err) < 0) {
            hutch_buf_wipe(&text);
            return -(int)err->code;
        }
        if (!login.user && !login.identity_token)
            continue;
        docker_server_name(registries->items[i], server);
        write_login(&out, server, server, &login);
        found++;
    }
    hutch_json_close(&out, '}');
    if (found)
        return encode(&text, ret_logins, err);
    hutch_buf_wipe(&text);
    return 0;
}
