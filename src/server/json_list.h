/* SPDX-License-Identifier: Apache-2.0 */
/* An answer {"KEY":[...]} that goes out as its items are found, so that however many there are
 * none is kept. Before the first of them the call can still fail. */
#ifndef HUTCH_SERVER_JSON_LIST_H
#define HUTCH_SERVER_JSON_LIST_H

#include <stdio.h>

#include "server/api.h"

struct json_list {
    struct api_call *call;
    const char *key;
    FILE *out; /* NULL: it has not begun */
    uint64_t count;
};

/* Begins the answer. Non-zero when it cannot go on; then the call has its answer. */
int json_list_begin(struct json_list *list);
/* Takes the item; NULL is a failure. Begins where that was not done. Non-zero as above. */
int json_list_add(struct json_list *list, json_t *item);
/* status: 0, or negative with the cause, or what stopped it. fail answers where nothing has begun.
 */
void json_list_end(struct json_list *list, int status, const struct hutch_error *err,
                   void (*fail)(struct api_call *call, const struct hutch_error *err));

#endif
