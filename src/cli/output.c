/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_fail(struct hutch_error *err, enum hutch_code code, const char *fmt, ...)
{
    va_list args;
    err->code = code;
    err->os_errno = 0;
    va_start(args, fmt);
    (void)vsnprintf(err->msg, sizeof(err->msg), fmt, args);
    va_end(args);
    return -(int)code;
}

int cli_fail_errno(struct hutch_error *err, int os_errno, const char *what)
{
    enum hutch_code code = os_errno == ENOMEM ? HUTCH_E_NO_MEMORY : HUTCH_E_SYSTEM;
    (void)cli_fail(err, code, "%s: %s", what, strerror(os_errno));
    err->os_errno = os_errno;
    return -(int)code;
}

/* A descriptor shared with another program may be non-blocking: waiting for room is ours to do. */
static bool write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, data, length);
        if (written >= 0) {
            data += written;
            length -= (size_t)written;
        } else if (errno == EAGAIN) {
            struct pollfd room = {.fd = fd, .events = POLLOUT};
            (void)poll(&room, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* Whoever holds the other end of standard error and never reads must not keep hutch from ending. A
 * line is shorter than PIPE_BUF: where there is room for one, writing it does not wait. */
static bool stderr_has_room(void)
{
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&room, 1, 1000) != 0;
}

void cli_say(const char *fmt, ...)
{
    static const char prefix[] = "hutch: ";
    char line[sizeof(prefix) + sizeof(((struct hutch_error *)NULL)->msg) + 128];
    va_list args;
    memcpy(line, prefix, sizeof(prefix));
    va_start(args, fmt);
    (void)vsnprintf(line + sizeof(prefix) - 1, sizeof(line) - sizeof(prefix), fmt, args);
    va_end(args);
    size_t length = strlen(line);
    for (size_t i = 0, step; i < length; i += step ? step : 1)
        if (!(step = cli_harmless_length(line + i))) /* no second line, no escape codes */
            line[i] = '?';
    line[length++] = '\n';
    if (stderr_has_room())
        (void)write_all(STDERR_FILENO, line, length);
}

int cli_report(const struct hutch_error *err)
{
    const char *codes = getenv("HUTCH_ERROR_CODES"); /* a program reads it */
    if (codes && *codes)
        cli_say("%s: %s", hutch_code_name(err->code), err->msg);
    else
        cli_say("%s", err->msg);
    return hutch_code_exit_status(err->code);
}

int cli_report_json(const struct hutch_error *err)
{
    struct cli_text text = {0};
    struct hutch_error lost = HUTCH_ERROR_INIT;
    int status = cli_report(err);
    if (cli_text_open(&text, &lost) < 0)
        return cli_report(&lost);
    (void)fprintf(text.file,
                  "{\"reason\":\"%s\",\"exit_code\":%d,\"ok\":false,\"error\":{\"code\":\"%s\","
                  "\"message\":",
                  "setup_failed", status, hutch_code_name(err->code));
    cli_json_string(text.file, err->msg);
    (void)fputs("}}\n", text.file);
    if (cli_text_send(&text, &lost) < 0)
        status = cli_report(&lost);
    cli_text_done(&text);
    return status;
}

int cli_text_open(struct cli_text *text, struct hutch_error *err)
{
    *text = (struct cli_text){0};
    text->file = open_memstream(&text->data, &text->length);
    if (!text->file)
        return cli_fail_errno(err, errno, "cannot prepare the output");
    return 0;
}

void cli_text_done(struct cli_text *text)
{
    if (text->file)
        (void)fclose(text->file);
    free(text->data);
    *text = (struct cli_text){0};
}

static int close_stdout(bool written, struct hutch_error *err)
{
    int saved = errno;
    bool closed = close(STDOUT_FILENO) == 0;
    if (written && closed)
        return 0;
    return cli_fail_errno(err, written ? errno : saved, "cannot write to standard output");
}

int cli_text_send(struct cli_text *text, struct hutch_error *err)
{
    if (fflush(text->file) != 0 || ferror(text->file))
        return cli_fail_errno(err, ENOMEM, "cannot prepare the output");
    return close_stdout(write_all(STDOUT_FILENO, text->data, text->length), err);
}

int cli_text_show(struct cli_text *text, struct hutch_error *err)
{
    if (fflush(text->file) != 0 || ferror(text->file))
        return cli_fail_errno(err, ENOMEM, "cannot prepare the output");
    if (!write_all(STDOUT_FILENO, text->data, text->length))
        return cli_fail_errno(err, errno, "cannot write to standard output");
    return 0;
}

int cli_line_send(const char *line, size_t length, struct hutch_error *err)
{
    bool written = write_all(STDOUT_FILENO, line, length) && write_all(STDOUT_FILENO, "\n", 1);
    return close_stdout(written, err);
}

/* The length of the UTF-8 sequence that starts here, 0 when it is not one: overlong forms,
 * surrogates and anything past U+10FFFF are not (Unicode 15, table 3-7). */
size_t cli_utf8_length(const char *bytes)
{
    const unsigned char *text = (const unsigned char *)bytes;
    unsigned char lead = text[0];
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (length < 2)
        return length;
    if (lead > 0xf4)
        return 0;
    if (lead == 0xe0)
        low = 0xa0;
    else if (lead == 0xed)
        high = 0x9f;
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f;
    if (text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (text[i] < 0x80 || text[i] > 0xbf)
            return 0;
    return length;
}

size_t cli_harmless_length(const char *bytes)
{
    const unsigned char *at = (const unsigned char *)bytes;
    bool is_control = *at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0);
    return is_control ? 0 : cli_utf8_length(bytes);
}

void cli_json_string(FILE *file, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    (void)fputc('"', file);
    while (*at) {
        size_t length = cli_utf8_length((const char *)at);
        if (length == 0)
            (void)fputs("\\ufffd", file);
        else if (*at == '"' || *at == '\\')
            (void)fprintf(file, "\\%c", *at);
        else if (!cli_harmless_length((const char *)at))
            (void)fprintf(file, "\\u%04x",
                          length == 2 ? at[1] : at[0]); /* U+0080 to U+009F: two bytes */
        else
            (void)fwrite(at, 1, length, file);
        at += length ? length : 1;
    }
    (void)fputc('"', file);
}
