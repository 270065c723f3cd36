/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "secrets/secrets.h"

int secret_value_new(struct secret_value *ret_value, size_t size, struct hutch_error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (size + 1 + page - 1) / page * page;
    void *bytes = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return hutch_fail_nomem(err);
    /* beyond the caller's limit on locked memory it may be swapped, but never dumped */
    (void)mlock(bytes, whole);
    if (madvise(bytes, whole, MADV_DONTDUMP) < 0) {
        int os_errno = errno;
        (void)munmap(bytes, whole);
        return hutch_fail_errno(err, os_errno, "keep memory out of core dumps");
    }
    *ret_value = (struct secret_value){bytes, 0, whole};
    return 0;
}

void secret_value_done(struct secret_value *value)
{
    if (value->bytes) {
        explicit_bzero(value->bytes, value->size);
        (void)munmap(value->bytes, value->size);
    }
    *value = (struct secret_value){0};
}
