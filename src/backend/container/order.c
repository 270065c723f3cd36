/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/container/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/native/wire.h"
#include "util/own.h"

/* One row for every text and every number, so that neither side can forget one. */
#define TEXTS(X) X(backend) X(runtime) X(id) X(name) X(layer)
#define NUMBERS(X) X(one_shot) X(is_there) X(has_ids) X(has_egress) X(uid) X(gid) X(first_host_id)

int container_order_spec(const struct hutch_spec *spec, char **ret_json, struct hutch_error *err)
{
    static const char *const kept_back[] = {"command", "entrypoint", "env", "env_files",
                                            "pass_env"};
    struct hutch_spec told = *spec;
    for (size_t i = 0; i < HUTCH_COUNT(kept_back); i++)
        hutch_spec_mark(&told, kept_back[i], false);
    return hutch_spec_to_json_set(&told, ret_json, err);
}

int container_order_send(int socket, const struct porter_order *order, struct hutch_error *err)
{
    struct wire_message message = WIRE_MESSAGE_INIT;
    hutch_autofree char *json = NULL;
    if (container_order_spec(order->spec, &json, err) < 0)
        return -(int)err->code;
    wire_begin(&message, PORTER_VERB_KEEP);
#define X(key) wire_add(&message, #key, order->key);
    TEXTS(X)
#undef X
#define X(key) wire_add_number(&message, #key, order->key);
    NUMBERS(X)
#undef X
    wire_add(&message, "spec", json);
    if (order->authority)
        wire_add(&message, "authority", order->authority);
    if (order->has_egress)
        wire_add_fd(&message, order->plant);
    if (order->memory_layer >= 0)
        wire_add_fd(&message, order->memory_layer);
    int status = wire_send(socket, &message, err);
    hutch_buf_done(&message.text);
    return status;
}

static void take_text(const struct wire_message *message, const char *key, char *text, size_t size)
{
    const char *value = wire_get(message, key);
    (void)snprintf(text, size, "%s", value ? value : "");
}

static int read_spec(const struct wire_message *message, struct hutch_spec **ret_spec,
                     struct hutch_error *err)
{
    const char *json = wire_get(message, "spec");
    struct hutch_spec *spec = NULL;
    if (!json)
        return hutch_fail(err, HUTCH_E_INTERNAL, 0, "an order without a spec");
    if (hutch_spec_new(&spec, err) < 0)
        return -(int)err->code;
    if (hutch_spec_parse(spec, json, strlen(json), HUTCH_FORMAT_JSON, err) < 0) {
        hutch_spec_free(spec);
        return -(int)err->code;
    }
    *ret_spec = spec;
    return 0;
}

static int take_authority(const struct wire_message *message, char **ret_authority,
                          struct hutch_error *err)
{
    const char *text = wire_get(message, "authority");
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy)
        return hutch_fail_nomem(err);
    *ret_authority = copy;
    return 0;
}

int container_order_receive(int socket, struct porter_order *ret_order, struct hutch_error *err)
{
    struct wire_message message;
    struct porter_order order = {0};
    if (wire_receive(socket, &message, err) < 0)
        return -(int)err->code;
#define X(key) take_text(&message, #key, order.key, sizeof(order.key));
    TEXTS(X)
#undef X
#define X(key) order.key = (__typeof__(order.key))wire_number(&message, #key, 0);
    NUMBERS(X)
#undef X
    order.plant = order.has_egress ? wire_take_fd(&message, 0) : HUTCH_NO_FD;
    order.memory_layer = wire_take_fd(&message, order.has_egress ? 1 : 0);
    int status = read_spec(&message, &order.spec, err);
    if (status == 0)
        status = take_authority(&message, &order.authority, err);
    wire_done(&message);
    if (status < 0) {
        hutch_fd_close(&order.memory_layer);
        hutch_fd_close(&order.plant);
        container_order_done(&order);
        return status;
    }
    *ret_order = order;
    return 0;
}

void container_order_done(struct porter_order *order)
{
    hutch_spec_free(order->spec);
    order->spec = NULL;
    free(order->authority);
    order->authority = NULL;
}
