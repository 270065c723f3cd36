/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/figures.h"

#include <stdio.h>
#include <time.h>

#include "cli/cli.h"

void cli_age(uint64_t since_us, char text[CLI_FIGURE_BYTES])
{
    static const struct {
        uint64_t seconds;
        char unit;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    uint64_t now = (uint64_t)time(NULL);
    uint64_t age = since_us / 1000000 < now ? now - since_us / 1000000 : 0;
    for (size_t i = 0; i < CLI_COUNT(units); i++)
        if (age >= units[i].seconds * 2 || units[i].seconds == 1) {
            (void)snprintf(text, CLI_FIGURE_BYTES, "%llu%c",
                           (unsigned long long)(age / units[i].seconds), units[i].unit);
            return;
        }
}

void cli_size(uint64_t bytes, char text[CLI_FIGURE_BYTES])
{
    static const char units[] = "bkmgtp";
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1023.5 && unit + 2 < sizeof(units)) {
        value /= 1024;
        unit++;
    }
    bool is_whole = value >= 99.95 || value == (double)(uint64_t)value;
    if (bytes == UINT64_MAX)
        (void)snprintf(text, CLI_FIGURE_BYTES, "-");
    else if (!bytes)
        (void)snprintf(text, CLI_FIGURE_BYTES, "0");
    else
        (void)snprintf(text, CLI_FIGURE_BYTES, "%.*f%c", is_whole ? 0 : 1, value, units[unit]);
}

void cli_count(uint64_t count, char text[CLI_FIGURE_BYTES])
{
    if (count == UINT64_MAX)
        (void)snprintf(text, CLI_FIGURE_BYTES, "-");
    else
        (void)snprintf(text, CLI_FIGURE_BYTES, "%llu", (unsigned long long)count);
}

void cli_time_spent(uint64_t time_us, char text[CLI_FIGURE_BYTES])
{
    unsigned long long seconds = time_us / 1000000;
    if (time_us == UINT64_MAX)
        (void)snprintf(text, CLI_FIGURE_BYTES, "-");
    else if (seconds < 10)
        (void)snprintf(text, CLI_FIGURE_BYTES, "%.2fs", (double)time_us / 1e6);
    else if (seconds < 60)
        (void)snprintf(text, CLI_FIGURE_BYTES, "%.1fs", (double)time_us / 1e6);
    else if (seconds < 3600)
        (void)snprintf(text, CLI_FIGURE_BYTES, "%llum%02llus", seconds / 60, seconds % 60);
    else
        (void)snprintf(text, CLI_FIGURE_BYTES, "%lluh%02llum", seconds / 3600, seconds / 60 % 60);
}
