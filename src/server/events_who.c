/* SPDX-License-Identifier: Apache-2.0 */
#include "server/events_who.h"

#include <string.h>

#include "hutch/audit.h"

/* What is forgotten is looked up again. */
#define KNOWN_MAX 4096

void events_who_done(struct events_who *who)
{
    json_decref(who->known);
    who->known = NULL;
}

void events_event_done(struct events_event *event)
{
    json_decref(event->parsed);
    event->parsed = NULL;
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* What an event that begins a life says of whose it is. */
static void note_beginning(json_t *of, const json_t *event)
{
    const char *life = text_of(event, "life");
    json_t *tenant = json_object_get(event, "tenant"), *labels = json_object_get(event, "labels");
    if (!life || strcmp(life, "begins") != 0)
        return;
    if (tenant)
        (void)json_object_set(of, "tenant", tenant);
    if (labels)
        (void)json_object_set(of, "labels", labels);
}

static int note_old(void *userdata, const struct hutch_audit_event *event)
{
    json_t *parsed = json_loads(event->json, JSON_ALLOW_NUL, NULL);
    note_beginning(userdata, parsed);
    json_decref(parsed);
    return 0;
}

/* One that began before anybody listened. */
static void look_up(json_t *of, const char *id)
{
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    struct hutch_audit_query query = HUTCH_AUDIT_QUERY_INIT;
    query.id = id;
    (void)!hutch_audit_read(&query, note_old, of, &ignored);
}

static json_t *find_out(struct events_who *who, const json_t *event)
{
    const char *id = text_of(event, "id"), *life = text_of(event, "life");
    bool begins = life && !strcmp(life, "begins");
    if (!id || !*id)
        return NULL;
    if (!who->known)
        who->known = json_object();
    json_t *of = json_object_get(who->known, id);
    if (of && !begins)
        return of;
    if (json_object_size(who->known) >= KNOWN_MAX)
        (void)json_object_clear(who->known);
    of = json_object();
    if (begins)
        note_beginning(of, event);
    else
        look_up(of, id);
    return json_object_set_new(who->known, id, of) == 0 ? of : NULL;
}

static bool has_label(const json_t *labels, const char *label)
{
    size_t key = strcspn(label, "=");
    const json_t *value = json_object_getn(labels, label, key);
    if (!value || !label[key])
        return value != NULL;
    const char *text = json_string_value(value);
    return text && !strcmp(text, label + key + 1);
}

bool events_who_matches(struct events_who *who, struct events_event *event, const char *tenant,
                        const char *label)
{
    if (!tenant && !label)
        return true;
    if (!event->parsed) {
        event->parsed = json_loadb(event->json, event->length, JSON_ALLOW_NUL, NULL);
        event->of = find_out(who, event->parsed);
    }
    const char *own = text_of(event->parsed, "tenant");
    if (!own)
        own = text_of(event->of, "tenant");
    if (tenant && (!own || strcmp(own, tenant) != 0))
        return false;
    return !label || has_label(json_object_get(event->of, "labels"), label);
}
