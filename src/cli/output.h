/* SPDX-License-Identifier: Apache-2.0 */
/* What hutch itself says: one line on standard error, or one text on standard output whose loss is
 * an error. */
#ifndef HUTCH_CLI_OUTPUT_H
#define HUTCH_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "hutch/error.h"

/* Fills *err and returns -code. */
int cli_fail(struct hutch_error *err, enum hutch_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int cli_fail_errno(struct hutch_error *err, int os_errno, const char *what);

/* "hutch: …" on standard error, as exactly one line whatever the text contains. */
void cli_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Says the error and returns the exit status that belongs to it. */
int cli_report(const struct hutch_error *err);
/* The same, with the error as a JSON object on standard output as well. */
int cli_report_json(const struct hutch_error *err);

/* Text that is gathered in memory first. */
struct cli_text {
    FILE *file;
    char *data;
    size_t length;
};

int cli_text_open(struct cli_text *text, struct hutch_error *err);
void cli_text_done(struct cli_text *text);
/* Sends the text to standard output and closes that: once per process. */
int cli_text_send(struct cli_text *text, struct hutch_error *err);
/* Sends the text to standard output, which stays open. */
int cli_text_show(struct cli_text *text, struct hutch_error *err);

/* Sends one line, whatever its length, to standard output and closes that, because some file
 * systems tell of a full disk no earlier: once per process. */
int cli_line_send(const char *line, size_t length, struct hutch_error *err);

/* The length of the UTF-8 sequence that starts here, 0 when it is not one. */
size_t cli_utf8_length(const char *bytes);

/* The same, 0 also when it is a control character, of which some terminals know eight-bit ones. */
size_t cli_harmless_length(const char *bytes);

/* A quoted JSON string; bytes that are not UTF-8 become U+FFFD. */
void cli_json_string(FILE *file, const char *text);

#endif
