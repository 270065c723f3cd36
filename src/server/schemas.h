/* SPDX-License-Identifier: Apache-2.0 */
/* What answers look like: one table per area, each up to a row without a name. /openapi.json shows
 * them below components/schemas, routes name them, and the tests hold every answer against them. */
#ifndef HUTCH_SERVER_SCHEMAS_H
#define HUTCH_SERVER_SCHEMAS_H

#include <jansson.h>
#include <stdbool.h>

/* type: "string", "integer", "number", "boolean", "object" (any keys) or "any"; the name of another
 * schema; "TYPE|TYPE" for either, "TYPE?" where it may be null, "[TYPE]" for a list of them,
 * "{TYPE}" for any keys with such values. */
struct schema_property {
    const char *name;
    const char *type;
    const char *doc;
    bool is_optional; /* is not in every answer */
};

struct schema {
    const char *name;
    const char *doc;
    const struct schema_property *properties; /* up to a row without a name; no others come */
};

extern const struct schema schemas_of_sandboxes[];
extern const struct schema schemas_of_host[];
extern const struct schema schemas_of_streams[];

/* One object, a member for each schema. NULL when there is no memory. */
json_t *schemas_to_json(void);
/* Of one type, as above; also for fields of requests. NULL when there is no memory. */
json_t *schema_of_type(const char *type);

#endif
