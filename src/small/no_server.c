/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for the daemon and its tokens in programs that have only the help of these verbs: the
 * calls are handed over to hutch-serve before they get here (cli/handover_serve.c). */
#include "server/serve.h"
#include "server/tokens.h"
#include "util/error.h"

static int fail_small(struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0, "this program is no daemon");
}

int serve_main(const struct serve_options *options, struct hutch_error *err)
{
    (void)options;
    return fail_small(err);
}

int token_create(const struct token_request *request, char ret_text[TOKEN_BYTES],
                 struct token *ret_token, struct hutch_error *err)
{
    (void)request, (void)ret_text, (void)ret_token;
    return fail_small(err);
}

int token_list(token_fn on_token, void *userdata, struct hutch_error *err)
{
    (void)on_token, (void)userdata;
    return fail_small(err);
}

int token_remove(const char *id, struct hutch_error *err)
{
    (void)id;
    return fail_small(err);
}

bool serve_limit_at(size_t index, struct serve_limit *ret_limit)
{
    (void)index, (void)ret_limit;
    return false;
}
