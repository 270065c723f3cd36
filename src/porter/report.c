/* SPDX-License-Identifier: Apache-2.0 */
#include "porter/report.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

uint64_t report_clock_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void report_free(struct report *report)
{
    if (report && report->fd >= 0)
        (void)close(report->fd);
    free(report);
}

int reports_add(struct reports *reports, const struct init_message *message, int fd,
                uint64_t until_us)
{
    struct report *report = reports->count < REPORTS_MAX ? calloc(1, sizeof(*report)) : NULL;
    struct report **link = &reports->first;
    if (!report) {
        if (fd >= 0)
            (void)close(fd);
        return -1;
    }
    report->message = *message;
    report->fd = fd;
    report->until_us = until_us;
    while (*link)
        link = &(*link)->next;
    *link = report;
    reports->count++;
    return 0;
}

/* Does an earlier one of the same command wait? */
static bool is_behind(const struct reports *reports, const struct report *report)
{
    for (const struct report *earlier = reports->first; earlier != report; earlier = earlier->next)
        if (earlier->message.session == report->message.session)
            return true;
    return false;
}

struct report *reports_take(struct reports *reports,
                            bool (*is_busy)(const void *context, uint32_t session),
                            const void *context)
{
    uint64_t now = reports->first ? report_clock_us() : 0;
    for (struct report **link = &reports->first; *link; link = &(*link)->next) {
        struct report *report = *link;
        if (is_behind(reports, report) ||
            (report->until_us > now && is_busy(context, report->message.session)))
            continue;
        *link = report->next;
        report->next = NULL;
        reports->count--;
        return report;
    }
    return NULL;
}

void reports_put_back(struct reports *reports, struct report *report)
{
    report->next = reports->first;
    reports->first = report;
    reports->count++;
}

uint64_t reports_next_us(const struct reports *reports)
{
    uint64_t next = UINT64_MAX;
    for (const struct report *report = reports->first; report; report = report->next)
        if (report->until_us && report->until_us < next)
            next = report->until_us;
    return next;
}

void reports_done(struct reports *reports)
{
    while (reports->first) {
        struct report *report = reports->first;
        reports->first = report->next;
        report_free(report);
    }
    reports->count = 0;
}
