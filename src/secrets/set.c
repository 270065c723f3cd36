/* SPDX-License-Identifier: Apache-2.0 */
#include "secrets/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/secret_spec.h"
#include "util/fs.h"
#include "util/own.h"

/* The whole text of a variable, so that nobody has to put it together in other memory. */
static int make_assignment(struct secret_item *item, struct hutch_error *err)
{
    const char *variable = item->spec->env;
    size_t prefix = strlen(variable) + 1;
    struct secret_value whole;
    if (memchr(item->text.bytes, '\0', item->text.length))
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "secret '%s' has a NUL byte, which no variable can have; take it as a "
                          "file",
                          item->spec->name);
    if (secret_value_new(&whole, prefix + item->text.length, err) < 0)
        return -(int)err->code;
    memcpy(whole.bytes, variable, prefix - 1);
    whole.bytes[prefix - 1] = '=';
    memcpy(whole.bytes + prefix, item->text.bytes, item->text.length);
    whole.length = prefix + item->text.length;
    secret_value_done(&item->text);
    item->text = whole;
    item->start = prefix;
    return 0;
}

/* What would end the header, or hide in it. */
static int check_header_value(const struct secret_item *item, struct hutch_error *err)
{
    for (size_t i = 0; i < item->text.length; i++)
        if (item->text.bytes[i] < ' ' || item->text.bytes[i] > '~')
            return hutch_fail(err, HUTCH_E_INVALID, 0,
                              "secret '%s' has bytes that no header can have, such as a newline",
                              item->spec->name);
    return 0;
}

static int read_item(struct secret_item *item, enum secret_reader reader, struct hutch_error *err)
{
    int status = secret_read(item->spec->name, reader, &item->text, err);
    if (status == 0 && item->spec->env)
        status = make_assignment(item, err);
    if (status == 0 && item->spec->hosts.count)
        status = check_header_value(item, err);
    return status;
}

int secret_set_read(struct secret_set *set, const struct hutch_spec *spec,
                    enum secret_reader reader, struct hutch_error *err)
{
    struct secret_set fresh = {calloc(spec->secrets.count, sizeof(*fresh.items)), 0};
    if (!fresh.items)
        return hutch_fail_nomem(err);
    for (size_t i = 0; i < spec->secrets.count; i++) {
        struct secret_item *item = &fresh.items[fresh.count++];
        item->spec = &spec->secrets.items[i];
        if (read_item(item, reader, err) < 0) {
            secret_set_done(&fresh);
            return -(int)err->code;
        }
    }
    *set = fresh;
    return 0;
}

void secret_set_forget_inside(struct secret_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (hutch_secret_is_inside(set->items[i].spec))
            secret_value_done(&set->items[i].text);
}

void secret_set_done(struct secret_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        secret_value_done(&set->items[i].text);
    free(set->items);
    *set = (struct secret_set){0};
}

int secret_item_memfd(const struct secret_item *item, struct hutch_error *err)
{
    hutch_autofd int fd = memfd_create("hutch-secret", MFD_CLOEXEC);
    if (fd < 0 || hutch_write_all(fd, secret_item_bytes(item), secret_item_length(item)) < 0)
        return hutch_fail_errno(err, errno, "pass secret '%s' on", item->spec->name);
    return HUTCH_TAKE_FD(fd);
}
