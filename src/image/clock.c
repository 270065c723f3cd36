/* SPDX-License-Identifier: Apache-2.0 */
#include "image/clock.h"

#include <stdio.h>
#include <time.h>

void clock_text(char ret_text[CLOCK_TEXT_BYTES])
{
    struct tm fields;
    time_t now = time(NULL);
    if (!gmtime_r(&now, &fields) ||
        !strftime(ret_text, CLOCK_TEXT_BYTES, "%Y-%m-%dT%H:%M:%SZ", &fields))
        (void)snprintf(ret_text, CLOCK_TEXT_BYTES, "1970-01-01T00:00:00Z");
}
