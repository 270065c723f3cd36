/* SPDX-License-Identifier: Apache-2.0 */
#include "secrets/share.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/secret_spec.h"
#include "util/fs.h"
#include "util/own.h"

#define MAX_SHARED 64

/* Before each value. */
struct head {
    char name[HUTCH_SECRET_NAME_BYTES];
    uint32_t length;
};

int secret_set_share(const struct secret_set *set, struct hutch_error *err)
{
    hutch_autofd int fd = memfd_create("hutch-secrets", MFD_CLOEXEC);
    if (fd < 0)
        return hutch_fail_errno(err, errno, "make a memory file");
    for (size_t i = 0; i < set->count; i++) {
        const struct secret_item *item = &set->items[i];
        struct head head = {.length = (uint32_t)secret_item_length(item)};
        memcpy(head.name, item->spec->name, strlen(item->spec->name));
        if (hutch_write_all(fd, &head, sizeof(head)) < 0 ||
            hutch_write_all(fd, secret_item_bytes(item), head.length) < 0)
            return hutch_fail_errno(err, errno, "write a memory file");
    }
    return HUTCH_TAKE_FD(fd);
}

static int take_one(struct shared_secrets *secrets, int memfd, const struct head *head, off_t at,
                    struct hutch_error *err)
{
    struct hutch_secret *name = &secrets->names.items[secrets->names.count++];
    struct secret_item *item = &secrets->set.items[secrets->set.count++];
    item->spec = name;
    name->name = strndup(head->name, sizeof(head->name) - 1);
    if (!name->name)
        return hutch_fail_nomem(err);
    if (secret_value_new(&item->text, head->length, err) < 0)
        return -(int)err->code;
    item->text.length = head->length;
    if (pread(memfd, item->text.bytes, head->length, at) != (ssize_t)head->length)
        return hutch_fail(err, HUTCH_E_INTERNAL, 0, "the keeper's memory file is cut off");
    return 0;
}

int shared_secrets_take(struct shared_secrets *secrets, int memfd, struct hutch_error *err)
{
    struct head head;
    off_t at = 0;
    secrets->names.items = calloc(MAX_SHARED, sizeof(*secrets->names.items));
    secrets->set.items = calloc(MAX_SHARED, sizeof(*secrets->set.items));
    if (!secrets->names.items || !secrets->set.items)
        return hutch_fail_nomem(err);
    while (secrets->set.count < MAX_SHARED &&
           pread(memfd, &head, sizeof(head), at) == (ssize_t)sizeof(head)) {
        at += (off_t)sizeof(head);
        if (!head.length || head.length > SECRET_MAX_BYTES)
            return hutch_fail(err, HUTCH_E_INTERNAL, 0, "the keeper's memory file is damaged");
        if (take_one(secrets, memfd, &head, at, err) < 0)
            return -(int)err->code;
        at += head.length;
    }
    return 0;
}

void shared_secrets_done(struct shared_secrets *secrets)
{
    secret_set_done(&secrets->set);
    for (size_t i = 0; i < secrets->names.count; i++)
        hutch_secret_done(&secrets->names.items[i]);
    free(secrets->names.items);
    *secrets = (struct shared_secrets){0};
}
