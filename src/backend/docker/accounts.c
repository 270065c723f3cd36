/* SPDX-License-Identifier: Apache-2.0 */
/* Names of users and groups, by the files of the container that they are meant for. */
#include <stdlib.h>
#include <string.h>

#include "backend/docker/transfer.h"
#include "util/own.h"

enum { FIELD_NAME, FIELD_PASSWORD, FIELD_ID, FIELD_GROUP, FIELDS };

struct account {
    uint32_t id;
    uint32_t group; /* of a user */
};

static bool read_id(const char *text, uint32_t *ret_id)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value >= UINT32_MAX)
        return false;
    *ret_id = (uint32_t)value;
    return true;
}

/* Columns 2 and 3 of the line whose first one, or whose number, is the name. */
static bool find(char *text, const char *name, struct account *ret_account)
{
    uint32_t number = 0;
    bool is_number = read_id(name, &number);
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *fields[FIELDS] = {0};
        struct account account = {0};
        size_t count = 0;
        while (count < FIELDS && (fields[count] = strsep(&line, ":")))
            count++;
        if (count < FIELDS || !read_id(fields[FIELD_ID], &account.id))
            continue;
        if (is_number ? account.id != number : strcmp(fields[FIELD_NAME], name) != 0)
            continue;
        (void)read_id(fields[FIELD_GROUP], &account.group);
        *ret_account = account;
        return true;
    }
    return false;
}

/* A number that no line has is as good as one that a line has. */
static int look_up(struct docker_engine *engine, const char *container, const char *file,
                   const char *name, struct account *ret_account, struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    int status = docker_get_text(engine, container, file, &text, err);
    if (status < 0 && status != -HUTCH_E_NOT_FOUND)
        return status;
    if (text && find(text, name, ret_account))
        return 0;
    ret_account->group = 0;
    if (read_id(name, &ret_account->id))
        return 0;
    return hutch_fail(err, HUTCH_E_NOT_FOUND, 0, "'%.80s' is not in the image's %s", name, file);
}

int docker_plan_resolve(struct docker_plan *plan, struct docker_engine *engine,
                        const char *container, struct hutch_error *err)
{
    char user[sizeof(plan->user)];
    struct account account = {0};
    struct account group = {0};
    memcpy(user, plan->user, sizeof(user));
    char *name = strchr(user, ':');
    if (name)
        *name++ = '\0';
    if (look_up(engine, container, "/etc/passwd", user, &account, err) < 0)
        return -(int)err->code;
    group.id = account.group;
    if (name && look_up(engine, container, "/etc/group", name, &group, err) < 0)
        return -(int)err->code;
    plan->has_ids = true;
    plan->uid = account.id;
    plan->gid = group.id;
    return 0;
}
