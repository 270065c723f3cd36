/* SPDX-License-Identifier: Apache-2.0 */
/* What authority.c and way.c share. */
#ifndef HUTCH_SERVER_AUTHORITY_PARTS_H
#define HUTCH_SERVER_AUTHORITY_PARTS_H

#include "server/authority.h"
#include "server/tokens.h"

struct authority {
    struct server *server;
    int directory;
    int watch; /* inotify; negative: none */
    struct token *tokens;
    size_t token_count;
    char **hosts;
    size_t host_count;
    bool has_wildcard; /* an address of ours is every address of the machine */
};

#endif
