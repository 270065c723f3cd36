/* SPDX-License-Identifier: Apache-2.0 */
#include "server/admission.h"

#include <string.h>

#include "server/call.h"
#include "server/util.h"

/* Those of one tenant that wait, in a ring of the tenants that have some. */
struct queue {
    struct queue *next; /* whose turn is after this one's */
    char tenant[HUTCH_TENANT_BYTES];
    struct api_call *first;
    struct api_call **last;
    uint64_t count;
};

struct line {
    struct queue *turn; /* the last of the ring: the one after it is next */
    uint64_t places;
    uint64_t busy;
    uint64_t queued;
    bool is_giving; /* turns: one that is over at once is seen by whoever gives them */
};

struct admission {
    struct line lines[ADMISSION_LINES];
    uint64_t queue;
    uint64_t turned_away;
    void (*on_turn)(struct api_call *call);
};

int admission_new(const struct admission_limits *limits, struct admission **ret_admission,
                  struct hutch_error *err)
{
    struct admission *admission = calloc(1, sizeof(*admission));
    if (!admission)
        return server_fail_nomem(err);
    for (size_t i = 0; i < ADMISSION_LINES; i++)
        admission->lines[i].places = limits->places[i];
    admission->queue = limits->queue;
    admission->on_turn = limits->on_turn;
    *ret_admission = admission;
    return 0;
}

static void remove_queue(struct line *line, struct queue *before)
{
    struct queue *gone = before->next;
    before->next = gone->next;
    if (line->turn == gone)
        line->turn = gone == before ? NULL : before;
    free(gone);
}

void admission_free(struct admission *admission)
{
    if (!admission)
        return;
    for (size_t i = 0; i < ADMISSION_LINES; i++)
        while (admission->lines[i].turn)
            remove_queue(&admission->lines[i], admission->lines[i].turn);
    free(admission);
}

/* ---- queues ---------------------------------------------------------------------------------- */

static const char *tenant_of(const struct api_call *call)
{
    return call->who.tenant ? call->who.tenant : "";
}

static struct queue *find(const struct line *line, const char *tenant)
{
    struct queue *queue = line->turn;
    do {
        if (queue && !strcmp(queue->tenant, tenant))
            return queue;
        queue = queue ? queue->next : NULL;
    } while (queue != line->turn);
    return NULL;
}

/* A new one is the last whose turn comes. */
static struct queue *add(struct line *line, const char *tenant)
{
    struct queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return NULL;
    memcpy(queue->tenant, tenant, strlen(tenant) + 1);
    queue->last = &queue->first;
    queue->next = line->turn ? line->turn->next : queue;
    if (line->turn)
        line->turn->next = queue;
    line->turn = queue;
    return queue;
}

static struct api_call *take_next(struct line *line)
{
    struct queue *queue = line->turn->next;
    struct api_call *call = queue->first;
    queue->first = call->next;
    if (!queue->first)
        queue->last = &queue->first;
    call->next = NULL;
    line->queued--;
    if (--queue->count)
        line->turn = queue;
    else
        remove_queue(line, line->turn);
    return call;
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void give_turns(struct admission *admission, struct line *line)
{
    if (line->is_giving)
        return;
    line->is_giving = true;
    while (line->turn && line->busy < line->places) {
        struct api_call *call = take_next(line);
        line->busy++;
        call->turn = (unsigned)(line - admission->lines);
        admission->on_turn(call);
    }
    line->is_giving = false;
}

bool admission_enter(struct admission *admission, enum admission_line which, struct api_call *call)
{
    struct line *line = &admission->lines[which];
    struct queue *queue = find(line, tenant_of(call));
    bool has_place = !line->turn && line->busy < line->places;
    bool has_room = has_place || (queue ? queue->count : 0) < admission->queue;
    if (has_room && !queue)
        queue = add(line, tenant_of(call));
    if (!has_room || !queue) {
        admission->turned_away++;
        return false;
    }
    call->next = NULL;
    *queue->last = call;
    queue->last = &call->next;
    queue->count++;
    line->queued++;
    give_turns(admission, line);
    return true;
}

void admission_leave(struct admission *admission, enum admission_line which)
{
    struct line *line = &admission->lines[which];
    line->busy--;
    give_turns(admission, line);
}

void admission_count(const struct admission *admission, struct admission_counts *ret_counts)
{
    *ret_counts = (struct admission_counts){.turned_away = admission->turned_away};
    for (size_t i = 0; i < ADMISSION_LINES; i++) {
        ret_counts->busy[i] = admission->lines[i].busy;
        ret_counts->queued += admission->lines[i].queued;
    }
}
