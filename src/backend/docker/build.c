/* SPDX-License-Identifier: Apache-2.0 */
/* The directory goes to the engine as an archive while a thread packs it; then the log comes back.
 * When this connection is closed the engine ends the build and removes the container of its step,
 * so whoever is killed leaves nothing that runs. What was built until then is the engine's cache.
 */
#include "backend/docker/build.h"

#include <errno.h>
#include <string.h>

#include "backend/docker/build_log.h"
#include "backend/docker/container.h"
#include "backend/docker/image.h"
#include "backend/docker/login.h"
#include "backend/docker/transfer.h"
#include "image/context_pack.h"
#include "util/json_out.h"
#include "util/own.h"

enum { PATH_CEILING = 512 << 10, FOR_EVER = -1 };

static int fail_step(const struct docker_build_log *log, const struct build_request *request,
                     struct hutch_error *err)
{
    int status = build_step_fail(&log->step, request->dockerfile, request->text, log->problem, err);
    if (!strstr(log->problem, "no space left on device"))
        return status;
    struct hutch_error cause = *err;
    return hutch_fail(err, HUTCH_E_SYSTEM, ENOSPC,
                      "%.340s; where the engine keeps its images is full: 'docker system prune' "
                      "makes room",
                      cause.msg);
}

/* ---- what it is asked for ---- */

static void add_pair(struct hutch_buf *path, const char *key, const char *value)
{
    if (!value)
        return;
    hutch_buf_printf(path, "&%s=", key);
    docker_add_escaped(path, value);
}

/* As JSON, the last one of a name counting. */
static void add_arguments(struct hutch_buf *path, const char *const *arguments)
{
    struct hutch_buf json = HUTCH_BUF(PATH_CEILING);
    struct hutch_json_out out = {&json, false};
    hutch_json_open(&out, NULL, '{');
    for (const char *const *pair = arguments; pair && *pair; pair++) {
        size_t length = strcspn(*pair, "=");
        hutch_autofree char *key = strndup(*pair, length);
        if (!key)
            json.failed = true;
        else if ((*pair)[length])
            hutch_json_string(&out, key, *pair + length + 1);
    }
    hutch_json_close(&out, '}');
    add_pair(path, "buildargs", json.failed ? NULL : json.data);
    path->failed = path->failed || json.failed;
    hutch_buf_wipe(&json);
}

static int write_path(const struct build_request *request, const char *dockerfile,
                      struct hutch_buf *path, struct hutch_error *err)
{
    hutch_buf_puts(path, "/build?rm=1&forcerm=1");
    add_pair(path, "t", request->reference);
    add_pair(path, "dockerfile", dockerfile);
    add_pair(path, "platform", request->platform);
    add_pair(path, "nocache", request->no_cache ? "1" : NULL);
    if (request->build_args && *request->build_args)
        add_arguments(path, request->build_args);
    if (!path->failed)
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "the build arguments are longer than an engine takes; put what is so long "
                      "into a file of the directory");
}

static int send_directory(struct docker_engine *engine, const struct build_request *request,
                          const struct context_pack *pack, const char *logins,
                          struct hutch_error *err)
{
    struct docker_build_log log;
    struct hutch_buf path = HUTCH_BUF(PATH_CEILING);
    struct docker_request asked = {.method = "POST",
                                   .logins = logins,
                                   .sink = docker_progress_feed,
                                   .context = &log.progress,
                                   .patience_s = FOR_EVER};
    docker_build_log_begin(&log, request->on_line, request->context);
    int status = write_path(request, pack->dockerfile, &path, err);
    asked.path = path.data;
    if (status == 0)
        status = docker_send_tree(engine, &asked, &pack->options, err);
    docker_build_log_end(&log);
    hutch_buf_wipe(&path);
    if (log.problem[0])
        return fail_step(&log, request, err);
    return status < 0 ? hutch_wrap(err, "%.120s: ", request->dockerfile) : 0;
}

static int build(struct docker_engine *engine, const struct build_request *request,
                 struct hutch_error *err)
{
    hutch_cleanup(docker_login_free) char *logins = NULL;
    struct context_pack pack;
    if (docker_build_bases(engine, request, &logins, err) < 0 ||
        context_pack_plan(request, &pack, err) < 0)
        return -(int)err->code;
    int status = send_directory(engine, request, &pack, logins, err);
    context_pack_done(&pack);
    if (status < 0)
        return status;
    status = docker_image_look(engine, request->reference, NULL, err);
    return status == -HUTCH_E_NOT_FOUND
               ? hutch_fail(err, HUTCH_E_SYSTEM, 0,
                            "the engine has ended the build of '%.200s' without an image",
                            request->reference)
               : status;
}

int docker_build(const struct build_request *request, struct hutch_error *err)
{
    hutch_cleanup(docker_engine_freep) struct docker_engine *engine = NULL;
    struct platform platform;
    if (request->platform && platform_parse(request->platform, &platform, err) < 0)
        return -(int)err->code;
    if (docker_engine_open(&engine, NULL, err) < 0)
        return -(int)err->code;
    engine->keeper_fd = docker_keeper_socket();
    /* the first answer: whether there is an engine at all, before its directory is read */
    int status = docker_image_look(engine, request->reference, NULL, err);
    if (status == 0 && request->is_named)
        return 0;
    if (status == 0 || status == -HUTCH_E_NOT_FOUND)
        status = build(engine, request, err);
    if (status == 0 && request->is_named)
        docker_build_remove_older(engine, request->reference);
    return status;
}
