/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "backend/docker/image.h"
#include "core/json_in.h"
#include "image/base64.h"
#include "image/credentials.h"
#include "image/reference.h"
#include "util/json_out.h"
#include "util/own.h"

enum { LINE_CEILING = 1 << 20, STALL_SECONDS = 300, AUTH_CEILING = 64 << 10 };

/* The engine answers at once with 200 and then tells how it goes, a line of JSON for each step. */
struct progress {
    struct hutch_buf line;
    struct hutch_error failure;
};

static void read_line(struct progress *progress)
{
    hutch_cleanup(hutch_value_done) struct hutch_value json = {0};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (hutch_json_parse(progress->line.data, progress->line.length, &json, &ignored) < 0)
        return;
    const char *error = hutch_value_text(hutch_value_get(&json, "error"));
    if (error)
        (void)hutch_fail(&progress->failure, HUTCH_E_UNAVAILABLE, 0, "the engine says: %.300s",
                         error);
}

static int on_progress(void *context, const void *data, size_t length)
{
    struct progress *progress = context;
    const char *text = data;
    while (length) {
        const char *end = memchr(text, '\n', length);
        size_t piece = end ? (size_t)(end - text) : length;
        hutch_buf_append(&progress->line, text, piece);
        if (progress->line.failed)
            return -1;
        if (end) {
            if (progress->line.length)
                read_line(progress);
            progress->line.length = 0;
            piece++;
        }
        text += piece;
        length -= piece;
    }
    return 0;
}

/* The login as the engine wants it: JSON in base64, of the kind for URLs. NULL: none. */
static int write_login(const char *registry, char **ret_login, struct hutch_error *err)
{
    hutch_cleanup(credentials_done) struct credentials login = {0};
    struct hutch_buf text = HUTCH_BUF(AUTH_CEILING);
    struct hutch_json_out out = {&text, false};
    *ret_login = NULL;
    if (credentials_find(registry, &login, err) < 0)
        return -(int)err->code;
    if (!login.user && !login.identity_token)
        return 0;
    hutch_json_open(&out, NULL, '{');
    if (login.identity_token)
        hutch_json_string(&out, "identitytoken", login.identity_token);
    else
        hutch_json_string(&out, "username", login.user);
    if (login.password && !login.identity_token)
        hutch_json_string(&out, "password", login.password);
    hutch_json_string(&out, "serveraddress", registry);
    hutch_json_close(&out, '}');
    int status = text.failed ? hutch_fail_nomem(err) : base64_encode(text.data, ret_login, err);
    if (text.data)
        explicit_bzero(text.data, text.length);
    hutch_buf_done(&text);
    for (char *at = status == 0 ? *ret_login : NULL; at && *at; at++) {
        if (*at == '+')
            *at = '-';
        if (*at == '/')
            *at = '_';
    }
    return status;
}

static int ask(struct docker_engine *engine, const char *path, const char *login,
               struct hutch_error *err)
{
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    struct progress progress = {.line = HUTCH_BUF(LINE_CEILING)};
    const struct docker_request request = {.method = "POST",
                                           .path = path,
                                           .login = login,
                                           .sink = on_progress,
                                           .context = &progress,
                                           .patience_s = STALL_SECONDS};
    int status = docker_ask(engine, &request, &answer, err);
    if (status == 0)
        status = docker_check(&answer, err);
    if (status == 0 && progress.line.length)
        read_line(&progress);
    if (status == 0 && progress.failure.code) {
        *err = progress.failure;
        status = -(int)err->code;
    }
    hutch_buf_done(&progress.line);
    docker_answer_done(&answer);
    return status;
}

int docker_image_pull(struct docker_engine *engine, const char *name, struct hutch_error *err)
{
    struct image_reference reference;
    struct hutch_buf path = HUTCH_BUF(8u << 10);
    hutch_autofree char *login = NULL;
    if (image_digest_is_valid(name))
        return hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                          "image '%.90s': the engine does not have it, and a digest alone does not "
                          "say where to fetch it",
                          name);
    if (image_reference_parse(name, &reference, err) < 0 ||
        write_login(reference.registry, &login, err) < 0)
        return -(int)err->code;
    hutch_buf_puts(&path, "/images/create?fromImage=");
    docker_add_escaped(&path, reference.registry);
    hutch_buf_puts(&path, "/");
    docker_add_escaped(&path, reference.repository);
    hutch_buf_puts(&path, "&tag=");
    docker_add_escaped(&path, reference.digest[0] ? reference.digest : reference.tag);
    int status = path.failed ? hutch_fail_nomem(err) : ask(engine, path.data, login, err);
    if (login)
        explicit_bzero(login, strlen(login));
    hutch_buf_done(&path);
    return status < 0 ? hutch_wrap(err, "fetch image '%.120s': ", name) : 0;
}
