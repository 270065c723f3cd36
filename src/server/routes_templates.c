/* SPDX-License-Identifier: Apache-2.0 */
/* Templates: the named sandboxes of this host. */
#include "hutch/named.h"
#include "server/routes.h"

/* Where they lie on the host is nothing that clients need. */
static int list_one(void *userdata, const struct hutch_named_info *info)
{
    return json_array_append_new(userdata,
                                 json_pack("{s:s,s:b,s:b}", "name", info->name, "dockerfile",
                                           info->has_dockerfile, "spec", info->has_spec));
}

static void handle_list(struct api_call *call)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    json_t *templates = json_array();
    if (hutch_named_list(NULL, list_one, templates, &err) < 0) {
        json_decref(templates);
        api_fail(call, &err);
        return;
    }
    api_reply(call, 200, json_pack("{s:o}", "templates", templates));
}

const struct api_route routes_of_templates[] = {
    {"GET", "/api/templates", "listTemplates",
     "The named sandboxes that \"template\" can name in other requests.", API_READ, 0, NULL, NULL,
     200, "TemplateList", handle_list, NULL},
    {0},
};
