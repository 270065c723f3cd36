/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox that stays belongs to the engine that has its container, whatever the variables of
 * whoever starts or removes it say. So where that is is written down when it is made. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/docker/endpoint.h"
#include "backend/docker/state.h"
#include "util/buf.h"
#include "util/fs.h"
#include "util/own.h"

enum { FILE_CEILING = 64 << 10 };

static int path_of(const char *id, char path[PATH_MAX], struct hutch_error *err)
{
    char directory[STATE_BYTES];
    if (docker_state(directory, err) < 0)
        return -(int)err->code;
    (void)snprintf(path, PATH_MAX, "%s/engine-%.32s", directory, id);
    return 0;
}

int docker_endpoint_keep(const struct docker_endpoint *endpoint, const char *id,
                         struct hutch_error *err)
{
    char path[PATH_MAX];
    struct hutch_buf text = HUTCH_BUF(FILE_CEILING);
    if (path_of(id, path, err) < 0)
        return -(int)err->code;
    hutch_buf_printf(&text, "%s\n%s\n%s\n%s\n%s\n", endpoint->host, endpoint->has_tls ? "tls" : "",
                     endpoint->ca, endpoint->certificate, endpoint->key);
    int status = text.failed ? hutch_fail_nomem(err)
                             : docker_state_write(path, 0600, text.data, text.length, err);
    hutch_buf_done(&text);
    return status;
}

void docker_endpoint_forget(const char *id)
{
    char path[PATH_MAX];
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (path_of(id, path, &ignored) == 0)
        (void)unlink(path);
}

/* The next line, without its end; empty when there is none. */
static const char *next_line(char **text)
{
    const char *line = strsep(text, "\n");
    return line ? line : "";
}

static int read_kept(const char *path, struct docker_endpoint *endpoint, struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    size_t length = 0;
    if (hutch_read_file(path, FILE_CEILING, &text, &length, err) < 0)
        return -(int)err->code;
    char *rest = text;
    const char *host = next_line(&rest);
    bool has_tls = !strcmp(next_line(&rest), "tls");
    (void)snprintf(endpoint->from, sizeof(endpoint->from), "where the sandbox was made");
    (void)snprintf(endpoint->ca, sizeof(endpoint->ca), "%s", next_line(&rest));
    (void)snprintf(endpoint->certificate, sizeof(endpoint->certificate), "%s", next_line(&rest));
    (void)snprintf(endpoint->key, sizeof(endpoint->key), "%s", next_line(&rest));
    return docker_endpoint_parse(endpoint, host, has_tls, err);
}

int docker_endpoint_recall(struct docker_endpoint *ret_endpoint, const char *id,
                           struct hutch_error *err)
{
    char path[PATH_MAX];
    struct docker_endpoint endpoint = {0};
    if (path_of(id, path, err) < 0)
        return -(int)err->code;
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return docker_endpoint_find(ret_endpoint, err);
    if (read_kept(path, &endpoint, err) < 0)
        return -(int)err->code;
    *ret_endpoint = endpoint;
    return 0;
}
