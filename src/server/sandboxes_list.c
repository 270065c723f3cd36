/* SPDX-License-Identifier: Apache-2.0 */
/* The list of sandboxes. It says what their homes say, and asks keepers only whether they are
 * there: many at the same time and within one time limit, so that one that is silent costs others
 * nothing. */
#include <stdio.h>
#include <string.h>

#include "server/pool.h"
#include "server/sandboxes.h"
#include "server/util.h"

#define AT_ONCE 64           /* each is a few descriptors */
#define PATIENCE_MS 1000     /* with all of them together */
#define SHORT_PATIENCE_MS 50 /* when that is used up */

struct listing {
    const struct api_call *call;
    const char *label;
    bool shows_pool;
    char (*names)[72];
    size_t count;
    size_t capacity;
};

/* One that is damaged is listed for whoever may remove it. */
static int note_name(void *userdata, struct hutch_sandbox *sandbox)
{
    struct listing *listing = userdata;
    if (!api_may_see(listing->call, sandbox) ||
        (listing->label && !hutch_sandbox_has_label(sandbox, listing->label)) ||
        (!listing->shows_pool && hutch_sandbox_has_label(sandbox, POOL_LABEL)))
        return 0;
    if (listing->count == listing->capacity) {
        size_t capacity = listing->capacity ? listing->capacity * 2 : 64;
        void *more = reallocarray(listing->names, capacity, sizeof(*listing->names));
        if (!more)
            return -HUTCH_E_NO_MEMORY;
        listing->names = more;
        listing->capacity = capacity;
    }
    (void)snprintf(listing->names[listing->count++], sizeof(*listing->names), "%s",
                   hutch_sandbox_name(sandbox));
    return 0;
}

static json_t *damaged(struct hutch_sandbox *sandbox)
{
    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:n}", "id", "", "sandbox_id", "", "name",
                     hutch_sandbox_name(sandbox), "state", "damaged", "status", "damaged",
                     "created");
}

/* False: there is no memory. One that was removed meanwhile is left out. */
static bool tell(json_t *list, struct hutch_sandbox *sandbox)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    json_t *summary = sandbox_summary(sandbox, &err);
    if (!summary && err.code == HUTCH_E_NOT_FOUND)
        return true;
    if (!summary && err.code != HUTCH_E_NO_MEMORY)
        summary = damaged(sandbox);
    return json_array_append_new(list, summary) == 0;
}

static bool is_alive(struct hutch_sandbox *sandbox)
{
    struct hutch_sandbox_info info = {0};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    return hutch_sandbox_info(sandbox, &info, &ignored) == 0 && !info.ended_us &&
           strcmp(info.state, "starting") != 0;
}

/* Afterwards each handle knows whether its keeper is silent. */
static void ask(struct hutch_sandbox *const *sandboxes, size_t count, uint64_t patience_ms)
{
    struct hutch_sandbox *alive[AT_ONCE];
    int status[AT_ONCE];
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    size_t alive_count = 0;
    for (size_t i = 0; i < count; i++)
        if (is_alive(sandboxes[i]))
            alive[alive_count++] = sandboxes[i];
    (void)!hutch_sandbox_stats_many(alive_count, alive, patience_ms, NULL, status, &ignored);
}

static bool tell_some(json_t *list, char (*names)[72], size_t count, uint64_t patience_ms)
{
    struct hutch_sandbox *sandboxes[AT_ONCE];
    struct hutch_error gone = HUTCH_ERROR_INIT;
    size_t opened = 0;
    bool goes_on = true;
    for (size_t i = 0; i < count; i++)
        if (hutch_sandbox_open(names[i], &sandboxes[opened], &gone) == 0)
            opened++;
    ask(sandboxes, opened, patience_ms);
    for (size_t i = 0; i < opened; i++) {
        goes_on = goes_on && tell(list, sandboxes[i]);
        hutch_sandbox_free(sandboxes[i]);
    }
    return goes_on;
}

void handle_list(struct api_call *call)
{
    const char *label = api_query(call, "label");
    size_t key = label ? strcspn(label, "=") : 0;
    struct listing listing = {.call = call,
                              .label = label,
                              .shows_pool = label && key == strlen(POOL_LABEL) &&
                                            !strncmp(label, POOL_LABEL, key)};
    struct hutch_error err = HUTCH_ERROR_INIT;
    uint64_t end_us = server_clock_us() + (uint64_t)PATIENCE_MS * 1000;
    json_t *list = json_array();
    int status = hutch_sandbox_list(note_name, &listing, &err);
    if (status < 0 && !err.code)
        (void)server_fail_nomem(&err);
    for (size_t i = 0; status == 0 && i < listing.count; i += AT_ONCE) {
        uint64_t now = server_clock_us();
        uint64_t left_ms = end_us > now ? (end_us - now) / 1000 : 0;
        size_t some = listing.count - i < AT_ONCE ? listing.count - i : AT_ONCE;
        if (!tell_some(list, listing.names + i, some,
                       left_ms > SHORT_PATIENCE_MS ? left_ms : SHORT_PATIENCE_MS))
            status = server_fail_nomem(&err);
    }
    free(listing.names);
    if (status == 0) {
        api_reply(call, 200, json_pack("{s:o}", "sandboxes", list));
        return;
    }
    json_decref(list);
    api_fail(call, &err);
}
