/* SPDX-License-Identifier: Apache-2.0 */
#include "core/spec_over.h"

#include <string.h>

#include "core/field.h"

static size_t slot_size(size_t index)
{
    return hutch_field_types[hutch_field_row(index)->type].slot_size;
}

static char *slot_of(struct hutch_spec *spec, size_t index)
{
    return (char *)spec + hutch_field_row(index)->offset;
}

void hutch_spec_over_init(struct hutch_spec_over *over, const struct hutch_spec *below)
{
    over->spec = *below;
    over->owned = 0;
}

void hutch_spec_over_done(struct hutch_spec_over *over)
{
    for (size_t i = 0; i < hutch_field_count(); i++)
        if (over->owned >> i & 1)
            hutch_field_done(&over->spec, i);
    over->owned = 0;
}

void *hutch_spec_over_detach(struct hutch_spec_over *over, size_t index)
{
    uint64_t bit = UINT64_C(1) << index;
    if (over->owned & bit)
        hutch_field_done(&over->spec, index);
    else
        memset(slot_of(&over->spec, index), 0, slot_size(index));
    over->owned |= bit;
    over->spec.set_fields |= bit;
    return slot_of(&over->spec, index);
}

int hutch_spec_over_text(struct hutch_spec_over *over, const char *field, const char *text,
                         struct hutch_error *err)
{
    char **slot = hutch_spec_over_detach(over, (size_t)hutch_field_find(field));
    *slot = strdup(text);
    return *slot ? 0 : hutch_fail_nomem(err);
}

void hutch_spec_over_forget_decided(struct hutch_spec_over *over)
{
    size_t count;
    const struct hutch_field *fields = hutch_fields(&count);
    for (size_t i = 0; i < count; i++) {
        uint64_t bit = UINT64_C(1) << i;
        if (fields[i].uses || !(over->spec.set_fields & bit))
            continue;
        (void)hutch_spec_over_detach(over, i);
        over->spec.set_fields &= ~bit;
    }
}

void hutch_spec_over_commit(struct hutch_spec_over *over, struct hutch_spec *below)
{
    for (size_t i = 0; i < hutch_field_count(); i++) {
        if (!(over->owned >> i & 1))
            continue;
        hutch_field_done(below, i);
        memcpy(slot_of(below, i), slot_of(&over->spec, i), slot_size(i));
    }
    below->set_fields = over->spec.set_fields;
    over->owned = 0;
}
