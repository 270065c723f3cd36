/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "backend/docker/image.h"
#include "backend/docker/login.h"
#include "backend/docker/progress.h"
#include "image/reference.h"
#include "util/own.h"

enum { STALL_SECONDS = 300 };

static void on_step(void *context, const struct hutch_value *json)
{
    struct hutch_error *failure = context;
    const char *error = docker_progress_error(json);
    if (error)
        (void)hutch_fail(failure, HUTCH_E_UNAVAILABLE, 0, "the engine says: %.300s", error);
}

static int ask(struct docker_engine *engine, const char *path, const char *login,
               struct hutch_error *err)
{
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    struct hutch_error failure = HUTCH_ERROR_INIT;
    struct docker_progress progress = DOCKER_PROGRESS(on_step, &failure);
    const struct docker_request request = {.method = "POST",
                                           .path = path,
                                           .login = login,
                                           .sink = docker_progress_feed,
                                           .context = &progress,
                                           .patience_s = STALL_SECONDS};
    int status = docker_ask(engine, &request, &answer, err);
    if (status == 0)
        status = docker_check(&answer, err);
    docker_progress_end(&progress);
    if (status == 0 && failure.code) {
        *err = failure;
        status = -(int)err->code;
    }
    docker_answer_done(&answer);
    return status;
}

int docker_image_pull(struct docker_engine *engine, const char *name, const char *platform,
                      struct hutch_error *err)
{
    struct image_reference reference;
    struct hutch_buf path = HUTCH_BUF(8u << 10);
    hutch_cleanup(docker_login_free) char *login = NULL;
    if (image_digest_is_valid(name))
        return hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                          "image '%.90s': the engine does not have it, and a digest alone does not "
                          "say where to fetch it",
                          name);
    if (image_reference_parse(name, &reference, err) < 0 ||
        docker_login_of(reference.registry, &login, err) < 0)
        return -(int)err->code;
    hutch_buf_puts(&path, "/images/create?fromImage=");
    docker_add_escaped(&path, reference.registry);
    hutch_buf_puts(&path, "/");
    docker_add_escaped(&path, reference.repository);
    hutch_buf_puts(&path, "&tag=");
    docker_add_escaped(&path, reference.digest[0] ? reference.digest : reference.tag);
    if (platform) {
        hutch_buf_puts(&path, "&platform=");
        docker_add_escaped(&path, platform);
    }
    int status = path.failed ? hutch_fail_nomem(err) : ask(engine, path.data, login, err);
    hutch_buf_done(&path);
    return status < 0 ? hutch_wrap(err, "fetch image '%.120s': ", name) : 0;
}
