/* SPDX-License-Identifier: Apache-2.0 */
/* Every area's routes. A path belongs to one table; of two rows that fit, the one with fewer
 * parameters is meant, whatever their order. */
#include "server/routes.h"

#include <stddef.h>

const struct api_route *const api_tables[] = {
    routes_of_sandboxes, routes_of_streams, routes_of_images, routes_of_templates,
    routes_of_audit,     routes_of_events,  routes_of_health, NULL,
};
