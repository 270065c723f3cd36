/* SPDX-License-Identifier: Apache-2.0 */
/* Lines become numbers through a hash table, and numbers are what the comparison works on. The
 * hash is a polynomial modulo 2^61 - 1 at a random point: whoever writes the text cannot choose
 * lines that collide. What both texts begin and end with is set aside first, and a line that the
 * other side does not have is changed without any comparison. */
#include "store/lines.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "util/own.h"

#define PRIME ((UINT64_C(1) << 61) - 1)
/* More lines than this on a side are one difference: numbering them would take too long. */
#define MAX_COMPARED_LINES ((size_t)1 << 20)

__extension__ typedef unsigned __int128 uint128;

struct slot {
    struct store_line line; /* without text: free */
    uint64_t hash;
    uint32_t id;
};

struct table {
    struct slot *slots;
    size_t mask;
    uint64_t key;
    uint32_t count;
};

/* What is compared of one side. */
struct middle {
    size_t begin, end;
    uint32_t *ids; /* of the lines from begin to end; then only of those that both sides have */
    bool *changed;
    size_t *places; /* where in the side each of those is */
    size_t count;
};

/* ---- splitting ---- */

static size_t count_lines(const char *text, size_t length)
{
    size_t count = 0;
    const char *end = text + length;
    for (const char *next = text; next < end; count++) {
        const char *newline = memchr(next, '\n', (size_t)(end - next));
        next = newline ? newline + 1 : end;
    }
    return count;
}

static int split(const char *text, size_t length, struct store_lines *lines)
{
    lines->count = count_lines(text, length);
    lines->text = text;
    lines->starts = calloc(lines->count + 1, sizeof(*lines->starts));
    lines->changed = calloc(lines->count + 1, sizeof(*lines->changed));
    if (!lines->starts || !lines->changed)
        return -1;
    const char *next = text, *end = text + length;
    for (size_t i = 0; i < lines->count; i++) {
        const char *newline = memchr(next, '\n', (size_t)(end - next));
        next = newline ? newline + 1 : end;
        lines->starts[i + 1] = (uint32_t)(next - text);
    }
    return 0;
}

static bool is_equal(struct store_line one, struct store_line other)
{
    return one.length == other.length && memcmp(one.text, other.text, one.length) == 0;
}

static bool is_equal_at(const struct store_lines sides[2], size_t old_index, size_t new_index)
{
    return is_equal(store_line_at(&sides[0], old_index), store_line_at(&sides[1], new_index));
}

static void set_ends_aside(const struct store_lines sides[2], struct middle middles[2])
{
    size_t ends[2] = {sides[0].count, sides[1].count}, begin = 0;
    while (begin < ends[0] && begin < ends[1] && is_equal_at(sides, begin, begin))
        begin++;
    while (ends[0] > begin && ends[1] > begin && is_equal_at(sides, ends[0] - 1, ends[1] - 1))
        ends[0]--, ends[1]--;
    for (int side = 0; side < 2; side++)
        middles[side] = (struct middle){.begin = begin, .end = ends[side]};
}

/* ---- numbering ---- */

static uint64_t multiply(uint64_t one, uint64_t other)
{
    uint128 product = (uint128)one * other;
    uint64_t sum = (uint64_t)(product & PRIME) + (uint64_t)(product >> 61);
    return sum >= PRIME ? sum - PRIME : sum;
}

static uint64_t hash_line(struct store_line line, uint64_t key)
{
    uint64_t hash = line.length + 1;
    for (size_t at = 0; at < line.length; at += 7) {
        uint64_t piece = 0;
        size_t size = line.length - at < 7 ? line.length - at : 7;
        memcpy(&piece, line.text + at, size);
        hash = multiply(hash, key) + piece; /* less than 2^62 */
    }
    return multiply(hash, key);
}

static uint32_t number_line(struct table *table, struct store_line line)
{
    uint64_t hash = hash_line(line, table->key);
    size_t at = (size_t)(hash ^ hash >> 30) & table->mask;
    for (;; at = (at + 1) & table->mask) {
        struct slot *slot = &table->slots[at];
        if (!slot->line.text) {
            *slot = (struct slot){line, hash, table->count++};
            return slot->id;
        }
        if (slot->hash == hash && is_equal(slot->line, line))
            return slot->id;
    }
}

static int make_table(size_t lines, struct table *table)
{
    size_t size = 16;
    while (size < lines * 2)
        size *= 2;
    *table = (struct table){.slots = calloc(size, sizeof(*table->slots)), .mask = size - 1};
    /* without randomness it is a comparison that can be made slow, not a wrong one */
    if (getrandom(&table->key, sizeof(table->key), GRND_NONBLOCK) < 0)
        table->key = (uint64_t)(uintptr_t)table->slots;
    table->key = table->key % (PRIME - 1) + 1;
    return table->slots ? 0 : -1;
}

static int number_lines(const struct store_lines sides[2], struct middle middles[2],
                        uint32_t *ret_count)
{
    struct table table;
    size_t total = middles[0].end - middles[0].begin + middles[1].end - middles[1].begin;
    int status = make_table(total, &table);
    for (int side = 0; status == 0 && side < 2; side++) {
        struct middle *middle = &middles[side];
        size_t count = middle->end - middle->begin;
        middle->ids = calloc(count + 1, sizeof(*middle->ids));
        middle->places = calloc(count + 1, sizeof(*middle->places));
        middle->changed = calloc(count + 1, sizeof(*middle->changed));
        if (!middle->ids || !middle->places || !middle->changed)
            status = -1;
        for (size_t i = 0; status == 0 && i < count; i++)
            middle->ids[i] = number_line(&table, store_line_at(&sides[side], middle->begin + i));
    }
    free(table.slots);
    *ret_count = table.count;
    return status;
}

/* ---- comparing ---- */

/* Keeps the lines whose number the other side has as well; the others are changed. */
static void keep_shared(struct store_lines *side, struct middle *middle, const uint8_t *on_sides)
{
    for (size_t i = 0; i < middle->end - middle->begin; i++) {
        if (on_sides[middle->ids[i]] != 3) {
            side->changed[middle->begin + i] = true;
            continue;
        }
        middle->ids[middle->count] = middle->ids[i];
        middle->places[middle->count++] = middle->begin + i;
    }
}

static int compare_shared(struct store_lines sides[2], struct middle middles[2], uint32_t numbers)
{
    hutch_autofree uint8_t *on_sides = calloc((size_t)numbers + 1, 1);
    if (!on_sides)
        return -1;
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < middles[side].end - middles[side].begin; i++)
            on_sides[middles[side].ids[i]] |= (uint8_t)(1 << side);
    for (int side = 0; side < 2; side++)
        keep_shared(&sides[side], &middles[side], on_sides);
    const uint32_t *const ids[2] = {middles[0].ids, middles[1].ids};
    const size_t counts[2] = {middles[0].count, middles[1].count};
    bool *const changed[2] = {middles[0].changed, middles[1].changed};
    if (store_myers(ids, counts, changed) < 0)
        return -1;
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < counts[side]; i++)
            sides[side].changed[middles[side].places[i]] = changed[side][i];
    return 0;
}

static int compare_middles(struct store_lines sides[2], struct middle middles[2])
{
    uint32_t numbers = 0;
    size_t counts[2] = {middles[0].end - middles[0].begin, middles[1].end - middles[1].begin};
    bool few = counts[0] <= MAX_COMPARED_LINES && counts[1] <= MAX_COMPARED_LINES;
    if (few && counts[0] && counts[1]) {
        int status = number_lines(sides, middles, &numbers);
        return status < 0 ? status : compare_shared(sides, middles, numbers);
    }
    for (int side = 0; side < 2; side++)
        for (size_t i = middles[side].begin; i < middles[side].end; i++)
            sides[side].changed[i] = true;
    return 0;
}

int store_lines_compare(const void *old_text, size_t old_length, const void *new_text,
                        size_t new_length, struct store_lines ret_sides[2])
{
    struct store_lines sides[2] = {{0}, {0}};
    struct middle middles[2] = {{0}, {0}};
    int status = split(old_text, old_length, &sides[0]);
    if (status == 0)
        status = split(new_text, new_length, &sides[1]);
    if (status == 0) {
        set_ends_aside(sides, middles);
        status = compare_middles(sides, middles);
    }
    for (int side = 0; side < 2; side++) {
        free(middles[side].ids);
        free(middles[side].places);
        free(middles[side].changed);
    }
    if (status < 0)
        store_lines_done(sides);
    else
        memcpy(ret_sides, sides, sizeof(sides));
    return status;
}

void store_lines_done(struct store_lines sides[2])
{
    for (int side = 0; side < 2; side++) {
        free(sides[side].starts);
        free(sides[side].changed);
        sides[side] = (struct store_lines){0};
    }
}
