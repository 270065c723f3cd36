/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a living sandbox: the fields of a body, as hutch_sandbox_update() takes them. */
#include <stdio.h>
#include <string.h>

#include "server/sandboxes.h"
#include "server/util.h"

enum { MAX_CHANGES = 512, CHANGE_BYTES = 320 };

struct changes {
    size_t count;
    char *names[MAX_CHANGES];
    char *texts[MAX_CHANGES];
};

static void changes_done(struct changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        free(changes->names[i]);
        free(changes->texts[i]);
    }
}

static int add_change(struct changes *changes, const char *name, const char *text,
                      struct hutch_error *err)
{
    if (changes->count == MAX_CHANGES)
        return server_fail(err, HUTCH_E_INVALID, "more than %d changes at once; make fewer",
                           MAX_CHANGES);
    size_t i = changes->count++;
    changes->names[i] = strdup(name);
    changes->texts[i] = strdup(text);
    return changes->names[i] && changes->texts[i] ? 0 : server_fail_nomem(err);
}

/* A value as hutch_spec_set() takes it. */
static int add_value(struct changes *changes, const char *name, const json_t *value,
                     struct hutch_error *err)
{
    char text[CHANGE_BYTES];
    int length = -1;
    if (json_is_string(value))
        length = snprintf(text, sizeof(text), "%s", json_string_value(value));
    else if (json_is_integer(value))
        length = snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        length = snprintf(text, sizeof(text), "%.12g", json_real_value(value));
    else if (json_is_null(value))
        length = snprintf(text, sizeof(text), "none");
    if (length < 0 || (size_t)length >= sizeof(text))
        return server_fail(err, HUTCH_E_INVALID,
                           "%s: a short text or a number must stand here, or null for none", name);
    return add_change(changes, name, text, err);
}

static int add_field(struct changes *changes, const char *group, const char *key,
                     const json_t *value, struct hutch_error *err)
{
    char name[128];
    const char *inner;
    size_t index;
    json_t *item;
    (void)snprintf(name, sizeof(name), "%s%s%s", group, *group ? "." : "", key);
    if (!json_is_object(value) && !json_is_array(value))
        return add_value(changes, name, value, err);
    if (json_is_array(value) && !json_array_size(value))
        return add_change(changes, name, "none", err);
    json_array_foreach(value, index,
                       item) if (add_value(changes, name, item, err) < 0) return -(int)err->code;
    json_object_foreach((json_t *)(uintptr_t)value, inner,
                        item) if (*group ||
                                  add_field(changes, name, inner, item, err) < 0) return *group
        ? server_fail(err, HUTCH_E_INVALID, "%s: an object cannot stand here", name)
        : -(int)err->code;
    return 0;
}

static const struct {
    const char *known;
    const char *field;
} known_limits[] = {{"memory_limit", "limits.memory"}, {"cpu_limit", "limits.cpus"}};

static int gather(struct changes *changes, const json_t *body, struct hutch_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)body, key, value)
    {
        bool is_known = false;
        for (size_t i = 0; i < SERVER_COUNT(known_limits); i++) {
            is_known |= !strcmp(key, known_limits[i].known);
            if (!strcmp(key, known_limits[i].known) &&
                add_value(changes, known_limits[i].field, value, err) < 0)
                return -(int)err->code;
        }
        if (!is_known && add_field(changes, "", key, value, err) < 0)
            return -(int)err->code;
    }
    if (changes->count)
        return 0;
    return server_fail(err, HUTCH_E_INVALID,
                       "there is nothing to change; give a limit, as in "
                       "{\"limits\": {\"memory\": \"1g\"}}");
}

void handle_update(struct api_call *call)
{
    SERVER_CLEANUP(changes_done) struct changes changes = {0};
    struct hutch_sandbox *sandbox = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (api_sandbox(call, &sandbox) < 0)
        return;
    int status = gather(&changes, api_body(call), &err);
    if (status == 0)
        status = hutch_sandbox_update(sandbox, changes.count, (const char *const *)changes.names,
                                      (const char *const *)changes.texts, &err);
    if (status == 0) {
        sandbox_reply(call, 200, sandbox);
        return;
    }
    hutch_sandbox_free(sandbox);
    api_fail(call, &err);
}
