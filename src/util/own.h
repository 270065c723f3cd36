/* SPDX-License-Identifier: Apache-2.0 */
/* Ownership helpers: a resource is released where its owner goes out of scope, or taken over by
 * name. */
#ifndef HUTCH_UTIL_OWN_H
#define HUTCH_UTIL_OWN_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define HUTCH_NO_FD (-EBADF)

static inline void hutch_freep(void *pointer)
{
    free(*(void **)pointer);
}

static inline void hutch_fd_close(int *fd)
{
    if (*fd >= 0) {
        int saved = errno;
        (void)close(*fd);
        errno = saved;
    }
    *fd = HUTCH_NO_FD;
}

#define hutch_cleanup(fn) __attribute__((cleanup(fn)))
#define hutch_autofree hutch_cleanup(hutch_freep)
#define hutch_autofd hutch_cleanup(hutch_fd_close)

#define HUTCH_TAKE_PTR(p)         \
    __extension__({               \
        __auto_type taken_ = (p); \
        (p) = NULL;               \
        taken_;                   \
    })
#define HUTCH_TAKE_FD(fd)   \
    __extension__({         \
        int taken_ = (fd);  \
        (fd) = HUTCH_NO_FD; \
        taken_;             \
    })

#define HUTCH_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
