/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens at rest: one file each in the state directory's tokens/, with everything about it but the
 * secret half, of which it has the hash. A token is "hutch_ID.SECRET". */
#ifndef HUTCH_SERVER_TOKENS_H
#define HUTCH_SERVER_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hutch/error.h"
#include "hutch/sandbox.h"

#define TOKEN_BYTES 96 /* of the whole text */
#define TOKEN_ID_BYTES 17
#define TOKEN_HASH_BYTES 32

struct token {
    char id[TOKEN_ID_BYTES];
    char name[HUTCH_TENANT_BYTES];   /* "" without one */
    char tenant[HUTCH_TENANT_BYTES]; /* "": whoever runs the daemon */
    char scope[8];                   /* "read", "write" or "admin" */
    uint64_t created_s;              /* since 1970 */
    uint64_t expires_s;              /* 0: never */
    unsigned char hash[TOKEN_HASH_BYTES];
};

struct token_request {
    const char *tenant; /* NULL: none, for whoever runs the daemon */
    const char *scope;
    const char *expires; /* a duration; NULL: never */
    const char *name;
};

HUTCH_MUST_CHECK int token_create(const struct token_request *request, char ret_text[TOKEN_BYTES],
                                  struct token *ret_token, struct hutch_error *err);
/* In the order of their ids. Anything but 0 ends the listing. */
typedef int (*token_fn)(void *userdata, const struct token *token);
HUTCH_MUST_CHECK int token_list(token_fn on_token, void *userdata, struct hutch_error *err);
/* By id, or by a name that only one has. */
HUTCH_MUST_CHECK int token_remove(const char *id, struct hutch_error *err);

/* The directory, made when it is missing; -1 when it cannot be. */
HUTCH_MUST_CHECK int token_directory(int *ret_directory, struct hutch_error *err);
/* All that can be read of it, by id; free the list with free(). A file that is no token is passed
 * over, for it lets nobody in. */
HUTCH_MUST_CHECK int token_load(int directory, struct token **ret_tokens, size_t *ret_count,
                                struct hutch_error *err);
/* Which of these it is: NULL when it is none. Takes as long for a wrong secret as for the right
 * one. */
const struct token *token_find(const struct token *tokens, size_t count, const char *text);
bool token_is_expired(const struct token *token, uint64_t now_s);

#endif
