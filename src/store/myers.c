/* SPDX-License-Identifier: Apache-2.0 */
/* E. W. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), with the linear-space
 * refinement: from both ends of a box the furthest-reaching paths of 1, 2, 3... edits are followed
 * until they meet, and the two boxes before and after that point are compared likewise. A hostile
 * text makes the number of edits large and the work its square, so a search that has cost its share
 * gives up and splits where it got furthest: the difference is then larger than needed, never
 * wrong. */
#include <limits.h>
#include <stdlib.h>

#include "store/lines.h"
#include "util/own.h"

/* Steps for the whole comparison, about: some tenths of a second. */
#define WORK 60000000L
#define FEWEST_EDITS 32L

struct point {
    long x, y; /* in the old sequence and in the new one */
};

struct box {
    struct point from, to; /* to is outside */
};

/* The paths from one end. Diagonal d holds the points with x - y == d, and reach[d] is how far in x
 * the path on it has got; those from low to high in steps of two are the newest. */
struct front {
    long *reach;
    long low, high;
};

struct myers {
    const uint32_t *old_ids;
    const uint32_t *new_ids;
    bool *old_changed;
    bool *new_changed;
    struct front forward;
    struct front backward;
    long most_edits;
};

/* One diagonal more on each side, as long as they cross the box. Those beyond count as never
 * reached. */
static void widen(struct front *front, const struct box *box, long unreached)
{
    if (front->low > box->from.x - box->to.y)
        front->reach[--front->low - 1] = unreached;
    else
        ++front->low;
    if (front->high < box->to.x - box->from.y)
        front->reach[++front->high + 1] = unreached;
    else
        --front->high;
}

static bool meets(const struct front *front, long diagonal)
{
    return front->low <= diagonal && diagonal <= front->high;
}

/* One edit more on every forward path. Returns true where one meets a backward path, which it can
 * only when the diagonals of both ends differ in parity. */
static bool advance(struct myers *myers, const struct box *box, bool odd, struct point *ret_point)
{
    struct front *front = &myers->forward;
    widen(front, box, -1);
    for (long d = front->high; d >= front->low; d -= 2) {
        long before = front->reach[d - 1], after = front->reach[d + 1];
        long x = before < after ? after : before + 1;
        while (x < box->to.x && x - d < box->to.y && myers->old_ids[x] == myers->new_ids[x - d])
            x++;
        front->reach[d] = x;
        if (odd && meets(&myers->backward, d) && myers->backward.reach[d] <= x) {
            *ret_point = (struct point){x, x - d};
            return true;
        }
    }
    return false;
}

static bool retreat(struct myers *myers, const struct box *box, bool odd, struct point *ret_point)
{
    struct front *front = &myers->backward;
    widen(front, box, LONG_MAX);
    for (long d = front->high; d >= front->low; d -= 2) {
        long before = front->reach[d - 1], after = front->reach[d + 1];
        long x = before < after ? before : after - 1;
        while (x > box->from.x && x - d > box->from.y &&
               myers->old_ids[x - 1] == myers->new_ids[x - d - 1])
            x--;
        front->reach[d] = x;
        if (!odd && meets(&myers->forward, d) && x <= myers->forward.reach[d]) {
            *ret_point = (struct point){x, x - d};
            return true;
        }
    }
    return false;
}

/* The point of the box that is furthest along on a path; some have run out of it. */
static struct point furthest_forward(const struct front *front, const struct box *box)
{
    struct point best = box->from;
    for (long d = front->high; d >= front->low; d -= 2) {
        long x = front->reach[d] < box->to.x ? front->reach[d] : box->to.x;
        if (x - d > box->to.y)
            x = box->to.y + d;
        if (best.x + best.y < x + x - d)
            best = (struct point){x, x - d};
    }
    return best;
}

static struct point furthest_backward(const struct front *front, const struct box *box)
{
    struct point best = box->to;
    for (long d = front->high; d >= front->low; d -= 2) {
        long x = front->reach[d] > box->from.x ? front->reach[d] : box->from.x;
        if (x - d < box->from.y)
            x = box->from.y + d;
        if (best.x + best.y > x + x - d)
            best = (struct point){x, x - d};
    }
    return best;
}

static struct point give_up(const struct myers *myers, const struct box *box)
{
    struct point forward = furthest_forward(&myers->forward, box);
    struct point backward = furthest_backward(&myers->backward, box);
    long gone = forward.x + forward.y - box->from.x - box->from.y;
    long come = box->to.x + box->to.y - backward.x - backward.y;
    return gone > come ? forward : backward;
}

/* A point on a way through the box, neither its beginning nor its end: both its first and its last
 * items differ. */
static struct point find_split(struct myers *myers, const struct box *box)
{
    long first = box->from.x - box->from.y, last = box->to.x - box->to.y;
    bool odd = ((first - last) & 1) != 0;
    struct point point;
    myers->forward.low = myers->forward.high = first;
    myers->forward.reach[first] = box->from.x;
    myers->backward.low = myers->backward.high = last;
    myers->backward.reach[last] = box->to.x;
    for (long edits = 1;; edits++) {
        if (advance(myers, box, odd, &point) || retreat(myers, box, odd, &point))
            return point;
        if (edits >= myers->most_edits)
            return give_up(myers, box);
    }
}

static void trim(const struct myers *myers, struct box *box)
{
    while (box->from.x < box->to.x && box->from.y < box->to.y &&
           myers->old_ids[box->from.x] == myers->new_ids[box->from.y])
        box->from.x++, box->from.y++;
    while (box->from.x < box->to.x && box->from.y < box->to.y &&
           myers->old_ids[box->to.x - 1] == myers->new_ids[box->to.y - 1])
        box->to.x--, box->to.y--;
}

static long size_of(const struct box *box)
{
    return box->to.x - box->from.x + box->to.y - box->from.y;
}

/* Calls itself for the smaller box only, so that the calls are as deep as the logarithm. */
static void compare_box(struct myers *myers, struct box box)
{
    for (;;) {
        trim(myers, &box);
        if (box.from.x == box.to.x || box.from.y == box.to.y)
            break;
        struct point split = find_split(myers, &box);
        struct box before = {box.from, split}, after = {split, box.to};
        bool first = size_of(&before) < size_of(&after);
        compare_box(myers, first ? before : after);
        box = first ? after : before;
    }
    for (long x = box.from.x; x < box.to.x; x++)
        myers->old_changed[x] = true;
    for (long y = box.from.y; y < box.to.y; y++)
        myers->new_changed[y] = true;
}

int store_myers(const uint32_t *const ids[2], const size_t counts[2], bool *const changed[2])
{
    size_t diagonals = counts[0] + counts[1] + 3;
    hutch_autofree long *reach = calloc(diagonals * 2, sizeof(*reach));
    if (!reach)
        return -1;
    struct myers myers = {
        .old_ids = ids[0],
        .new_ids = ids[1],
        .old_changed = changed[0],
        .new_changed = changed[1],
        /* the least diagonal is that of the new sequence's end, and one beyond it is written to */
        .forward.reach = reach + counts[1] + 1,
        .backward.reach = reach + diagonals + counts[1] + 1,
        .most_edits = WORK / (long)diagonals,
    };
    if (myers.most_edits < FEWEST_EDITS)
        myers.most_edits = FEWEST_EDITS;
    compare_box(&myers, (struct box){{0, 0}, {(long)counts[0], (long)counts[1]}});
    return 0;
}
