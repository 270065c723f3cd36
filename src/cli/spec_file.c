/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/spec_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/output.h"

enum { LARGEST_DOCUMENT = 4 << 20 };

struct document {
    int fd;
    char *data;
    size_t length;
};

static const struct {
    const char *ending;
    enum hutch_format format;
} endings[] = {
    {".json", HUTCH_FORMAT_JSON},
    {".yaml", HUTCH_FORMAT_YAML},
    {".yml", HUTCH_FORMAT_YAML},
};

static void document_done(struct document *document)
{
    if (document->fd > STDERR_FILENO)
        (void)close(document->fd);
    free(document->data);
}

static int fail_read(struct hutch_error *err, const char *path, int os_errno)
{
    enum hutch_code code = os_errno == ENOENT ? HUTCH_E_NOT_FOUND : HUTCH_E_INVALID;
    (void)cli_fail(err, code, "cannot read the spec '%.300s': %s", path, strerror(os_errno));
    err->os_errno = os_errno;
    return -(int)code;
}

static int document_open(struct document *document, const char *path, struct hutch_error *err)
{
    if (!strcmp(path, "-"))
        document->fd = STDIN_FILENO;
    else
        document->fd = open(path, O_RDONLY | O_CLOEXEC);
    return document->fd < 0 ? fail_read(err, path, errno) : 0;
}

static int document_read(struct document *document, const char *path, struct hutch_error *err)
{
    document->data = malloc(LARGEST_DOCUMENT + 1); /* touched only as far as it is filled */
    if (!document->data)
        return fail_read(err, path, ENOMEM);
    while (document->length <= LARGEST_DOCUMENT) {
        ssize_t got = read(document->fd, document->data + document->length,
                           LARGEST_DOCUMENT + 1 - document->length);
        if (got == 0)
            return 0;
        if (got < 0 && errno != EINTR)
            return fail_read(err, path, errno);
        document->length += got > 0 ? (size_t)got : 0;
    }
    return cli_fail(err, HUTCH_E_INVALID, "the spec '%.300s' is larger than 4 MiB", path);
}

/* Whether the name's ending is a known one. */
static bool format_by_name(const char *path, enum hutch_format *ret_format)
{
    size_t path_length = strlen(path);
    for (size_t i = 0; i < CLI_COUNT(endings); i++) {
        size_t length = strlen(endings[i].ending);
        if (path_length > length && !strcmp(path + path_length - length, endings[i].ending)) {
            *ret_format = endings[i].format;
            return true;
        }
    }
    return false;
}

bool cli_spec_is_named_json(const char *path)
{
    enum hutch_format format;
    return format_by_name(path, &format) && format == HUTCH_FORMAT_JSON;
}

static enum hutch_format document_format(const struct document *document, const char *path)
{
    enum hutch_format format;
    if (format_by_name(path, &format))
        return format;
    size_t first = 0;
    while (first < document->length && strchr(" \t\r\n", document->data[first]))
        first++;
    bool is_json = first < document->length && document->data[first] == '{';
    return is_json ? HUTCH_FORMAT_JSON : HUTCH_FORMAT_YAML;
}

int cli_spec_read(struct hutch_spec *spec, const char *path, struct hutch_error *err)
{
    CLI_CLEANUP(document_done) struct document document = {.fd = -1};
    int failed = document_open(&document, path, err);
    if (!failed)
        failed = document_read(&document, path, err);
    if (failed)
        return failed;
    enum hutch_format format = document_format(&document, path);
    failed = hutch_spec_parse(spec, document.data, document.length, format, err);
    if (failed) {
        struct hutch_error cause = *err;
        (void)cli_fail(err, cause.code, "%.160s: %.300s",
                       strcmp(path, "-") != 0 ? path : "standard input", cause.msg);
    }
    return failed;
}
