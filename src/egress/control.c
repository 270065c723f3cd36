/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper's orders, and what it is told. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "egress/gateway.h"

/* ---- telling ---- */

static void tell(struct gateway *gateway, enum egress_message_type type, int os_errno,
                 const char *text)
{
    struct egress_message head = {
        .type = (uint32_t)type, .number = gateway->order_number, .os_errno = os_errno};
    struct iovec pieces[] = {{&head, sizeof(head)}, {(void *)(uintptr_t)text, strlen(text)}};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = HUTCH_COUNT(pieces)};
    if (sendmsg(gateway->control.fd, &message, MSG_NOSIGNAL) < 0)
        gateway->loop.has_ended = true;
}

void gateway_plant_failed(struct gateway *gateway, const char *address, uint16_t port, int os_errno)
{
    if (!gateway->failure.code)
        (void)hutch_fail_errno(&gateway->failure, os_errno,
                               "listen inside the sandbox at %s, port %u", address, port);
}

/* ---- carrying out ---- */

/* Nothing that was allowed before is any more. */
static void allow_nothing(struct gateway *gateway)
{
    order_free(gateway->order);
    gateway->order = NULL;
    connections_check(gateway, true);
    for (size_t i = 0; i < gateway->sites.count; i++)
        site_close_doors(&gateway->sites.rows[i], NULL);
}

static void fail_order(struct gateway *gateway, const struct hutch_error *err)
{
    allow_nothing(gateway);
    gateway->order_is_new = false;
    tell(gateway, EGRESS_FAILED, err->os_errno, err->msg);
}

void gateway_planted(struct gateway *gateway)
{
    if (gateway->order_is_new && gateway->failure.code) {
        struct hutch_error failure = gateway->failure;
        fail_order(gateway, &failure);
    } else if (gateway->order_is_new) {
        gateway->order_is_new = false;
        tell(gateway, EGRESS_READY, 0, "");
    }
    gateway->failure.code = HUTCH_OK;
    nameserver_resume(gateway);
}

/* Every name of the order has an address and what it needs; what a wildcard stood for stays where
 * it still does. */
static int want_sites(struct gateway *gateway, struct hutch_error *err)
{
    const struct order *order = gateway->order;
    size_t doors = 0;
    uint16_t ports[SITE_MAX_DOORS / 2];
    for (size_t i = 0; i < order->rule_count; i++) {
        if (!order->rules[i].is_wildcard && !sites_find(&gateway->sites, order->rules[i].name) &&
            !sites_add(gateway, order->rules[i].name))
            return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0, "the gateway has no room for '%.253s'",
                              order->rules[i].name);
    }
    for (size_t i = 0; i < gateway->sites.count; i++) {
        struct site *site = &gateway->sites.rows[i];
        if (!site->is_used)
            continue;
        site_close_doors(site, order);
        site->is_wanted = order_names(order, site->name);
        site->is_planted = false;
        doors += 2 * site_ports(order, site->name, ports, HUTCH_COUNT(ports));
    }
    if (doors > SITES_MAX_DOORS)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "%zu ports of all hosts together are too many, the most is %d", doors / 2,
                          SITES_MAX_DOORS / 2);
    return 0;
}

static int open_authority(struct gateway *gateway, struct hutch_error *err)
{
    bool is_needed = false;
    for (size_t i = 0; i < gateway->order->secret_count; i++)
        is_needed |= gateway->order->secrets[i].intercepts_tls != 0;
    if (!is_needed || gateway->tls_authority)
        return 0;
    if (!gateway->tls)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "this gateway cannot intercept TLS, which takes the complete program");
    if (gateway->tls->open(gateway->order, &gateway->tls_authority, &gateway->tls_certificate,
                           err) < 0)
        return -(int)err->code;
    tell(gateway, EGRESS_AUTHORITY, 0, gateway->tls_certificate);
    return 0;
}

static int carry_out(struct gateway *gateway, struct order *order, struct hutch_error *err)
{
    bool has_proxy = order->proxy.kind != PROXY_NONE ||
                     (gateway->order && gateway->order->proxy.kind != PROXY_NONE);
    struct order *old = gateway->order;
    gateway->order = order;
    connections_check(gateway, has_proxy);
    resolver_drop(&gateway->resolver, &gateway->proxy);
    gateway->proxy = (struct resolution){0};
    order_free(old);
    budget_set(&gateway->budget, order->head->max_bytes, order->head->max_rate);
    int r = open_authority(gateway, err);
    return r < 0 ? r : want_sites(gateway, err);
}

/* ---- reading ---- */

static int read_blob(int fd, char **ret_blob, size_t *ret_size, struct hutch_error *err)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        return hutch_fail(err, HUTCH_E_INTERNAL, 0, "an order without its file");
    size_t size = (size_t)status.st_size, filled = 0;
    if (size < sizeof(struct egress_order) || size > ORDER_MAX_BYTES)
        return hutch_fail(err, HUTCH_E_INTERNAL, 0, "an order of %zu bytes", size);
    char *blob = malloc(size);
    if (!blob)
        return hutch_fail_nomem(err);
    while (filled < size) {
        ssize_t got = pread(fd, blob + filled, size - filled, (off_t)filled);
        if (got <= 0) {
            free(blob);
            return hutch_fail_errno(err, got ? errno : EIO, "read an order");
        }
        filled += (size_t)got;
    }
    *ret_blob = blob;
    *ret_size = size;
    return 0;
}

static void take_order(struct gateway *gateway, int fd)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct order *order = NULL;
    char *blob = NULL;
    size_t size = 0;
    gateway->order_is_new = true;
    int r = read_blob(fd, &blob, &size, &err);
    if (r == 0)
        r = order_parse(blob, size, &order, &err);
    if (r == 0)
        r = carry_out(gateway, order, &err);
    if (r < 0)
        fail_order(gateway, &err);
    planter_go(gateway);
}

/* What has come before the end is still counted: the keeper reads the table after us. */
static void end(struct gateway *gateway)
{
    nameserver_drain(gateway);
    tap_drain(gateway);
    gateway->loop.has_ended = true;
}

static void on_control(struct watch *watch, uint32_t events)
{
    struct gateway *gateway = LOOP_OWNER(watch, struct gateway, control);
    struct egress_message head;
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec piece = {&head, sizeof(head)};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    hutch_autofd int fd = HUTCH_NO_FD;
    (void)events;
    ssize_t got = recvmsg(watch->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        end(gateway);
        return;
    }
    const struct cmsghdr *extra = CMSG_FIRSTHDR(&message);
    if (extra && extra->cmsg_level == SOL_SOCKET && extra->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(extra), sizeof(fd));
    if ((size_t)got < sizeof(head) || head.type != EGRESS_ORDER)
        return;
    gateway->order_number = head.number;
    take_order(gateway, fd);
}

int control_init(struct gateway *gateway, int fd, struct hutch_error *err)
{
    gateway->control = (struct watch){.fd = fd, .on_event = on_control};
    if (loop_watch(&gateway->loop, &gateway->control, EPOLLIN) < 0)
        return hutch_fail_errno(err, errno, "watch the way to the keeper");
    return 0;
}
