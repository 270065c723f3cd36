/* SPDX-License-Identifier: Apache-2.0 */
/* For CLI_CLEANUP. */
#ifndef HUTCH_CLI_HANDLES_H
#define HUTCH_CLI_HANDLES_H

#include <stdlib.h>

#include "hutch/hutch.h"

static inline void cli_spec_free(struct hutch_spec **spec)
{
    hutch_spec_free(*spec);
}

static inline void cli_result_free(struct hutch_result **result)
{
    hutch_result_free(*result);
}

static inline void cli_sandbox_free(struct hutch_sandbox **sandbox)
{
    hutch_sandbox_free(*sandbox);
}

static inline void cli_free(char **text)
{
    free(*text);
}

#endif
