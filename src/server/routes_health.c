/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the daemon answers, whether it is worth asking, what it counts, what it understands. */
#include "server/host.h"
#include "server/routes.h"
#include "server/server.h"

static void handle_health(struct api_call *call)
{
    static const char ok[] = "{\"status\":\"ok\"}";
    api_reply_bytes(call, 200, "application/json", ok, sizeof(ok) - 1);
}

static void handle_ready(struct api_call *call)
{
    const struct server *server = api_server(call);
    json_t *reasons = atomic_load(&server->is_draining) ? json_pack("[s]", "draining")
                                                        : host_faults(server->host);
    bool is_ready = reasons && !json_array_size(reasons);
    if (!is_ready)
        api_add_header(call, "Retry-After", "5");
    api_reply(call, is_ready ? 200 : 503,
              json_pack("{s:b,s:o}", "ready", is_ready, "reasons", reasons));
}

static void handle_openapi(struct api_call *call)
{
    size_t length = 0;
    const char *text = host_openapi(api_server(call)->host, &length);
    if (text)
        api_reply_bytes(call, 200, "application/json", text, length);
    else
        api_problem(call, 503, "no_memory", "out of memory");
}

const struct api_route routes_of_health[] = {
    {"GET", "/healthz", "getHealth", "The daemon answers.", API_PUBLIC, API_INLINE, NULL, NULL, 200,
     "Health", handle_health, NULL},
    {"GET", "/readyz", "getReadiness",
     "Sandboxes can be made here, now: 503 with the reasons when they cannot.", API_PUBLIC, 0, NULL,
     NULL, 200, "Readiness", handle_ready, NULL},
    {"GET", "/metrics", "getMetrics",
     "What the daemon counts, as Prometheus reads it; of a tenant: its own sandboxes.", API_ADMIN,
     API_BYTES, NULL, NULL, 200, NULL, metrics_page, NULL},
    {"GET", "/openapi.json", "getOpenapi", "This document.", API_PUBLIC, 0, NULL, NULL, 200, "any",
     handle_openapi, NULL},
    {0},
};
