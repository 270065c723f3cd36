/* SPDX-License-Identifier: Apache-2.0 */
#include "util/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct code_row {
    const char *name;
    int http_status;
    int exit_status;
};

static const struct code_row code_rows[HUTCH_CODE_COUNT] = {
    [HUTCH_OK] = {"ok", 200, 0},
    [HUTCH_E_INVALID] = {"invalid", 400, 125},
    [HUTCH_E_NOT_FOUND] = {"not_found", 404, 125},
    [HUTCH_E_PERMISSION] = {"permission", 403, 125},
    [HUTCH_E_UNSUPPORTED] = {"unsupported", 422, 125},
    [HUTCH_E_UNENFORCEABLE] = {"unenforceable", 422, 125},
    [HUTCH_E_UNAVAILABLE] = {"unavailable", 503, 125},
    [HUTCH_E_CONFLICT] = {"conflict", 409, 125},
    [HUTCH_E_NO_MEMORY] = {"no_memory", 503, 125},
    [HUTCH_E_SYSTEM] = {"system", 500, 125},
    [HUTCH_E_NO_COMMAND] = {"no_command", 422, 127},
    [HUTCH_E_NOT_EXECUTABLE] = {"not_executable", 422, 126},
    [HUTCH_E_INTERNAL] = {"internal", 500, 125},
};

static const struct code_row *row_of(enum hutch_code code)
{
    size_t index = (size_t)code;
    return &code_rows[index < HUTCH_CODE_COUNT ? index : HUTCH_E_INTERNAL];
}

const char *hutch_code_name(enum hutch_code code)
{
    return row_of(code)->name;
}

int hutch_code_exit_status(enum hutch_code code)
{
    return row_of(code)->exit_status;
}

int hutch_code_http_status(enum hutch_code code)
{
    return row_of(code)->http_status;
}

int hutch_fail(struct hutch_error *err, enum hutch_code code, int os_errno, const char *fmt, ...)
{
    if (err) {
        va_list args;
        err->code = code;
        err->os_errno = os_errno;
        va_start(args, fmt);
        (void)vsnprintf(err->msg, sizeof(err->msg), fmt, args);
        va_end(args);
    }
    return -(int)code;
}

enum hutch_code hutch_code_from_errno(int os_errno)
{
    switch (os_errno) {
    case ENOENT:
    case ENOTDIR:
        return HUTCH_E_NOT_FOUND;
    case EPERM:
    case EACCES:
    case EROFS:
        return HUTCH_E_PERMISSION;
    case ENOMEM:
        return HUTCH_E_NO_MEMORY;
    default:
        return HUTCH_E_SYSTEM;
    }
}

int hutch_fail_errno(struct hutch_error *err, int os_errno, const char *fmt, ...)
{
    enum hutch_code code = hutch_code_from_errno(os_errno);
    if (err) {
        va_list args;
        char what[sizeof(err->msg)];
        va_start(args, fmt);
        (void)vsnprintf(what, sizeof(what), fmt, args);
        va_end(args);
        (void)snprintf(err->msg, sizeof(err->msg), "%.400s: %s", what, strerror(os_errno));
        err->code = code;
        err->os_errno = os_errno;
    }
    return -(int)code;
}

int hutch_fail_nomem(struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_NO_MEMORY, ENOMEM, "out of memory");
}

int hutch_wrap(struct hutch_error *err, const char *fmt, ...)
{
    va_list args;
    char context[sizeof(err->msg)];
    if (!err)
        return -(int)HUTCH_E_INTERNAL;
    va_start(args, fmt);
    int length = vsnprintf(context, sizeof(context), fmt, args);
    va_end(args);
    size_t cause = strlen(err->msg);
    size_t room = sizeof(err->msg) - 1 - cause;
    size_t keep = length < 0 ? 0 : (size_t)length;
    if (keep >= sizeof(context))
        keep = sizeof(context) - 1;
    if (keep > room)
        keep = room;
    memmove(err->msg + keep, err->msg, cause + 1);
    memcpy(err->msg, context, keep);
    return -(int)err->code;
}
