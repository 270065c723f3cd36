/* SPDX-License-Identifier: Apache-2.0 */
/* What every unit test needs. cmocka wants these headers before its own. */
#ifndef HUTCH_TESTS_UNIT_H
#define HUTCH_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hutch/error.h"

/* The call failed as HUTCH_E_INVALID, and its message is exactly this. */
#define assert_refused(call, err, message)              \
    do {                                                \
        *(err) = (struct hutch_error){0};               \
        assert_int_equal((call), -HUTCH_E_INVALID);     \
        assert_int_equal((err)->code, HUTCH_E_INVALID); \
        assert_string_equal((err)->msg, (message));     \
    } while (0)

/* The call succeeded; its message is shown when it did not. */
#define assert_fine(call, err)            \
    do {                                  \
        *(err) = (struct hutch_error){0}; \
        if ((call) < 0)                   \
            fail_msg("%s", (err)->msg);   \
    } while (0)

#endif
