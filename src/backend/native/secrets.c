/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets on their way into a sandbox. Values are read before anything is made, so that what is
 * missing leaves nothing behind, and released once PID 1 has them; a keeper of a sandbox that stays
 * keeps them for its next command. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "backend/native/blob.h"
#include "backend/native/environment.h"
#include "backend/native/keeper.h"
#include "core/secret_spec.h"
#include "util/fs.h"
#include "util/own.h"

/* What the gateway needs besides the secrets of the spec: the operator's word for its proxy, and
 * what the sandbox's own authority is made of. */
static int prepare_gateway(struct keeper *keeper, enum secret_reader reader,
                           struct hutch_error *err)
{
    const struct hutch_spec *spec = keeper->spec;
    struct gateway *gateway = &keeper->gateway;
    if (spec->egress_policy.login && spec->egress_policy.proxy &&
        secret_read(spec->egress_policy.login, reader, &keeper->proxy_login, err) < 0)
        return hutch_wrap(err, "the proxy for egress: ");
    gateway->intercepts = hutch_secrets_intercept(spec);
    if (gateway->intercepts &&
        getrandom(gateway->seed, sizeof(gateway->seed), 0) != (ssize_t)sizeof(gateway->seed))
        return hutch_fail_errno(err, errno, "get random bytes");
    return 0;
}

int keeper_read_secrets(struct keeper *keeper, struct hutch_error *err)
{
    const struct hutch_spec *spec = keeper->spec;
    enum secret_reader reader = keeper->options ? SECRET_READER_CALLER : SECRET_READER_KEEPER;
    if (keeper->gateway.is_wanted && prepare_gateway(keeper, reader, err) < 0)
        return -(int)err->code;
    if (!spec->secrets.count)
        return 0;
    if (secret_set_read(&keeper->secrets, spec, reader, err) < 0)
        return -(int)err->code;
    if (!spec->redact)
        return 0;
    if (redactor_check(&keeper->secrets, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < 2 && keeper->options; i++)
        if (redactor_open(&keeper->streams[i].redactor, &keeper->secrets, err) < 0)
            return -(int)err->code;
    return 0;
}

bool keeper_redacts(const struct keeper *keeper)
{
    return keeper->spec->redact && keeper->secrets.count;
}

static int plan_one(struct keeper *keeper, const struct secret_item *item, struct hutch_error *err)
{
    int memfd = secret_item_memfd(item, err);
    if (memfd < 0)
        return -(int)err->code;
    return plan_add_secret(&keeper->plan, &keeper->identity, item->spec->file, memfd, err);
}

int keeper_plan_secrets(struct keeper *keeper, struct hutch_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < keeper->secrets.count; i++)
        count += keeper->secrets.items[i].spec->file != NULL;
    if (count)
        plan_add_secrets(&keeper->plan, count);
    for (size_t i = 0; i < keeper->secrets.count; i++)
        if (keeper->secrets.items[i].spec->file &&
            plan_one(keeper, &keeper->secrets.items[i], err) < 0)
            return -(int)err->code;
    return 0;
}

int keeper_plan_trust(struct keeper *keeper, struct hutch_error *err)
{
    struct gateway *gateway = &keeper->gateway;
    if (!gateway->authority && gateway_await_authority(gateway, err) < 0)
        return -(int)err->code;
    hutch_autofd int memfd = memfd_create("hutch-authority", MFD_CLOEXEC);
    if (memfd < 0 || hutch_write_all(memfd, gateway->authority, strlen(gateway->authority)) < 0)
        return hutch_fail_errno(err, errno, "write a memory file");
    return plan_add_trust(&keeper->plan, HUTCH_TAKE_FD(memfd), err);
}

void keeper_forget_secrets(struct keeper *keeper)
{
    plan_close_secrets(&keeper->plan);
    if (!keeper->spec->redact)
        secret_set_forget_inside(&keeper->secrets);
}

/* ---- variables ------------------------------------------------------------------------------- */

static bool is_secret(const struct secret_set *set, const char *pair)
{
    for (size_t i = 0; i < set->count; i++) {
        const char *variable = set->items[i].spec->env;
        size_t length = variable ? strlen(variable) : 0;
        if (length && !strncmp(pair, variable, length) && pair[length] == '=')
            return true;
    }
    return false;
}

uint32_t environment_to_blob(struct hutch_buf *blob, const struct spawn_order *order,
                             struct hutch_error *err)
{
    const struct hutch_strlist *environment = order->environment;
    const struct secret_set *set = order->secrets;
    if (!set || !set->count)
        return blob_texts(blob, environment->items, environment->count);
    hutch_autofree char **pairs = calloc(environment->count + set->count, sizeof(*pairs));
    size_t count = 0;
    if (!pairs) {
        (void)hutch_fail_nomem(err);
        return 0;
    }
    for (size_t i = 0; i < environment->count; i++)
        if (!is_secret(set, environment->items[i]))
            pairs[count++] = environment->items[i];
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i].spec->env)
            pairs[count++] = set->items[i].text.bytes;
    return blob_texts(blob, pairs, count);
}

static size_t room_of(const struct hutch_strlist *texts)
{
    size_t room = sizeof(uint64_t) * 2;
    for (size_t i = 0; i < texts->count; i++)
        room += strlen(texts->items[i]) + 1 + sizeof(uint64_t);
    return room;
}

void spawn_order_reserve(const struct spawn_order *order, struct hutch_buf *blob)
{
    if (!order->secrets || !order->secrets->count)
        return;
    const char *path = environment_get(order->environment, "PATH");
    size_t room = sizeof(struct init_spawn) + room_of(order->command) +
                  room_of(order->environment) + strlen(order->workdir) + 64;
    room += path ? strlen(path) : 0;
    for (size_t i = 0; i < order->secrets->count; i++)
        room += order->secrets->items[i].text.length + 1 + sizeof(uint64_t);
    hutch_buf_reserve(blob, room);
}
