/* SPDX-License-Identifier: Apache-2.0 */
/* One table per area; routes.c puts them together. */
#ifndef HUTCH_SERVER_ROUTES_H
#define HUTCH_SERVER_ROUTES_H

#include "server/api.h"

extern const struct api_route routes_of_sandboxes[];
extern const struct api_route routes_of_streams[];
extern const struct api_route routes_of_images[];
extern const struct api_route routes_of_templates[];
extern const struct api_route routes_of_audit[];
extern const struct api_route routes_of_events[];
extern const struct api_route routes_of_health[];

#endif
