/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HUTCH_ERROR_H
#define HUTCH_ERROR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HUTCH_API __attribute__((visibility("default")))
#define HUTCH_MUST_CHECK __attribute__((warn_unused_result))

/* Every failure is one of these. One row per code (src/util/error.c) holds its name, HTTP status
 * and exit code. */
enum hutch_code {
    HUTCH_OK = 0,
    HUTCH_E_INVALID,       /* the request itself is wrong */
    HUTCH_E_NOT_FOUND,     /* something the request names is not there */
    HUTCH_E_PERMISSION,    /* the kernel or the host's configuration says no */
    HUTCH_E_UNSUPPORTED,   /* this backend or this host cannot do it */
    HUTCH_E_UNENFORCEABLE, /* a limit that would be ignored: refused instead */
    HUTCH_E_UNAVAILABLE,   /* the runtime is not there */
    HUTCH_E_CONFLICT, /* something is in the way: a name is taken, a sandbox is not in that state */
    HUTCH_E_NO_MEMORY,      /* */
    HUTCH_E_SYSTEM,         /* a system call failed for a reason that is nobody's fault */
    HUTCH_E_NO_COMMAND,     /* the command is not in the sandbox (exit code 127) */
    HUTCH_E_NOT_EXECUTABLE, /* the command is there but cannot be executed (exit code 126) */
    HUTCH_E_INTERNAL,       /* a bug in hutch */
    HUTCH_CODE_COUNT,
};

/* A value owned by the caller: it needs no allocation, so it also works when memory is out. */
struct hutch_error {
    enum hutch_code code;
    int os_errno;
    char msg[480];
};

#define HUTCH_ERROR_INIT \
    {                    \
        HUTCH_OK, 0,     \
        {                \
            0            \
        }                \
    }

/* Stable lower-case name, such as "not_found". */
HUTCH_API const char *hutch_code_name(enum hutch_code code);
/* The exit code the hutch command ends with for this failure (125, 126 or 127). */
HUTCH_API int hutch_code_exit_status(enum hutch_code code);
/* The HTTP status the daemon answers with for this failure. */
HUTCH_API int hutch_code_http_status(enum hutch_code code);

#ifdef __cplusplus
}
#endif
#endif
