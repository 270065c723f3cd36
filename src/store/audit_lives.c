/* SPDX-License-Identifier: Apache-2.0 */
/* Lives that were begun and never ended. Whoever leads one has a lock as long as it lives, and lets
 * go of it only after the end is written. So what has no end when it is looked for, no lock then,
 * and no end in what was written since, has lost its leader. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/json_in.h"
#include "store/audit_files.h"
#include "util/own.h"

struct life {
    uint64_t seq;
    char id[33];
    char name[72];
};

/* Those without an end. */
struct lives {
    struct life *items;
    size_t count;
    size_t capacity;
    bool is_closed; /* no more are added */
};

static void copy_text(const struct hutch_value *event, const char *key, char *text, size_t size)
{
    const char *value = hutch_value_text(hutch_value_get(event, key));
    (void)snprintf(text, size, "%s", value ? value : "");
}

static int add(struct lives *lives, const struct audit_entry *entry)
{
    struct hutch_value event = {0};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (lives->count == lives->capacity) {
        size_t capacity = lives->capacity ? 2 * lives->capacity : 64;
        struct life *more = reallocarray(lives->items, capacity, sizeof(*more));
        if (!more)
            return -1;
        lives->items = more;
        lives->capacity = capacity;
    }
    if (hutch_json_parse(entry->line, entry->length, &event, &ignored) < 0)
        return 0;
    struct life *life = &lives->items[lives->count++];
    *life = (struct life){.seq = entry->seq};
    copy_text(&event, "id", life->id, sizeof(life->id));
    copy_text(&event, "name", life->name, sizeof(life->name));
    hutch_value_done(&event);
    return 0;
}

static void take_out(struct lives *lives, uint64_t seq)
{
    for (size_t i = lives->count; i > 0; i--) /* most ends are near to their beginnings */
        if (lives->items[i - 1].seq == seq) {
            lives->items[i - 1] = lives->items[--lives->count];
            return;
        }
}

/* Where the members stand in a line. In a string of JSON no such text can be: its quotes are
 * escaped. */
static const char *find(const struct audit_entry *entry, const char *text)
{
    return memmem(entry->line, entry->length, text, strlen(text));
}

static int note(void *userdata, const struct audit_entry *entry)
{
    struct lives *lives = userdata;
    const char *end = entry->line ? find(entry, AUDIT_LIFE_ENDS) : NULL;
    if (end)
        take_out(lives, strtoull(end + sizeof(AUDIT_LIFE_ENDS) - 1, NULL, 10));
    else if (entry->line && !lives->is_closed && find(entry, AUDIT_LIFE_BEGINS))
        return add(lives, entry);
    return 0;
}

static void leave_the_living(struct lives *lives, int head)
{
    size_t kept = 0;
    for (size_t i = 0; i < lives->count; i++)
        if (!audit_is_alive(head, lives->items[i].seq))
            lives->items[kept++] = lives->items[i];
    lives->count = kept;
}

static void put_end(struct hutch_json_out *out, const void *userdata)
{
    const struct life *life = userdata;
    audit_put_life(out, life->seq);
    hutch_json_string(out, "id", life->id);
    if (life->name[0])
        hutch_json_string(out, "name", life->name);
    hutch_json_string(out, "reason", "keeper_died");
}

static int end_lives(struct audit *audit, const struct lives *lives, struct hutch_error *err)
{
    int status = 0;
    for (size_t i = 0; i < lives->count && status == 0; i++) {
        const struct audit_event event = {
            .kind = "end", .fields = put_end, .userdata = &lives->items[i]};
        status = audit_append(audit, &event, err);
    }
    return status;
}

static int look(const struct audit *audit, struct audit_chain *chain, struct lives *lives,
                struct hutch_error *err)
{
    if (audit_walk(audit->directory, chain, note, lives, err) == 0)
        return 0;
    return err->code ? -(int)err->code : hutch_fail_nomem(err);
}

static int sweep(struct audit *audit, struct lives *lives, struct hutch_error *err)
{
    struct audit_chain chain = {0};
    if (look(audit, &chain, lives, err) < 0)
        return -(int)err->code;
    leave_the_living(lives, audit->head);
    lives->is_closed = true;
    if (look(audit, &chain, lives, err) < 0)
        return -(int)err->code;
    return end_lives(audit, lives, err);
}

int audit_end_the_dead(struct hutch_error *err)
{
    char path[AUDIT_PATH_BYTES + 8];
    struct audit audit = AUDIT_INIT;
    struct lives lives = {0};
    if (!audit_exists(audit.directory))
        return 0;
    (void)snprintf(path, sizeof(path), "%s/head", audit.directory);
    /* of its own: adding lets go of all locks that the other has */
    hutch_autofd int tended = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (tended < 0)
        return errno == ENOENT ? 0 : hutch_fail_errno(err, errno, "open '%.200s'", path);
    if (audit_lock(tended, AUDIT_LOCK_TEND, F_WRLCK, true) < 0)
        return hutch_fail_errno(err, errno, "lock '%.200s'", path);
    int status = audit_open_at(&audit, audit.directory, err);
    if (status == 0)
        status = sweep(&audit, &lives, err);
    audit_close(&audit);
    free(lives.items);
    return status;
}
