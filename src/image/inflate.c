/* SPDX-License-Identifier: Apache-2.0 */
#include "image/inflate.h"

#include <isa-l/igzip_lib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "util/own.h"

#define INPUT_BYTES (256u << 10)
#define ZSTD_WINDOW_LOG 25

struct format {
    const char *name;
    const char *magic;
    size_t magic_length;
    /* Fills what it can of the buffer. 0: the input has to be longer, or has ended; -1 with *err.
     */
    ssize_t (*step)(struct inflate *inflate, void *buffer, size_t size, struct hutch_error *err);
    int (*begin)(struct inflate *inflate, struct hutch_error *err);
};

struct inflate {
    layer_source *source;
    void *context;
    const struct format *format;
    unsigned char *input;
    size_t at;
    size_t end;
    bool is_source_done;
    bool is_inside; /* a member or frame has begun and not ended */
    struct inflate_state *gzip;
    ZSTD_DCtx *zstd;
};

static int fail_data(struct hutch_error *err, const char *why)
{
    return hutch_fail(err, HUTCH_E_INVALID, 0, "the layer cannot be decompressed: %s", why);
}

/* ---- the input ---- */

/* Reads once, behind what is there. Returns 0, also when there is no more. */
static int read_more(struct inflate *inflate, struct hutch_error *err)
{
    if (inflate->at == inflate->end)
        inflate->at = inflate->end = 0;
    if (inflate->is_source_done || inflate->end == INPUT_BYTES)
        return 0;
    ssize_t got = inflate->source(inflate->context, inflate->input + inflate->end,
                                  INPUT_BYTES - inflate->end, err);
    if (got < 0)
        return -1;
    inflate->is_source_done = got == 0;
    inflate->end += (size_t)got;
    return 0;
}

static bool has_input(const struct inflate *inflate)
{
    return inflate->at < inflate->end;
}

/* ---- neither ---- */

static int begin_plain(struct inflate *inflate, struct hutch_error *err)
{
    (void)inflate;
    (void)err;
    return 0;
}

static ssize_t step_plain(struct inflate *inflate, void *buffer, size_t size,
                          struct hutch_error *err)
{
    (void)err;
    size_t length = inflate->end - inflate->at;
    if (length > size)
        length = size;
    memcpy(buffer, inflate->input + inflate->at, length);
    inflate->at += length;
    return (ssize_t)length;
}

/* ---- gzip ---- */

static int begin_gzip(struct inflate *inflate, struct hutch_error *err)
{
    inflate->gzip = malloc(sizeof(*inflate->gzip));
    return inflate->gzip ? 0 : hutch_fail_nomem(err);
}

/* Between members: another one, zeros, or nothing. Returns 1 when a member begins. */
static int next_member(struct inflate *inflate, struct hutch_error *err)
{
    const unsigned char *input = inflate->input;
    if (input[inflate->at] == 0) {
        while (has_input(inflate) && input[inflate->at] == 0)
            inflate->at++;
        return has_input(inflate) ? fail_data(err, "something follows the end of the gzip data")
                                  : 0;
    }
    if (input[inflate->at] != 0x1f)
        return fail_data(err, "something follows the end of the gzip data");
    isal_inflate_init(inflate->gzip);
    inflate->gzip->crc_flag = ISAL_GZIP;
    inflate->is_inside = true;
    return 1;
}

static ssize_t step_gzip(struct inflate *inflate, void *buffer, size_t size,
                         struct hutch_error *err)
{
    struct inflate_state *gzip = inflate->gzip;
    int more = inflate->is_inside ? 1 : next_member(inflate, err);
    if (more <= 0)
        return more < 0 ? -1 : 0;
    gzip->next_in = inflate->input + inflate->at;
    gzip->avail_in = (uint32_t)(inflate->end - inflate->at);
    gzip->next_out = buffer;
    gzip->avail_out = (uint32_t)size;
    int status = isal_inflate(gzip);
    inflate->at = inflate->end - gzip->avail_in;
    if (status == ISAL_INCORRECT_CHECKSUM)
        return fail_data(err, "the checksum of the gzip data is wrong");
    if (status != ISAL_DECOMP_OK && status != ISAL_END_INPUT && status != ISAL_OUT_OVERFLOW)
        return fail_data(err, "the gzip data is damaged");
    if (gzip->block_state == ISAL_BLOCK_FINISH)
        inflate->is_inside = false;
    return (ssize_t)(size - gzip->avail_out);
}

/* ---- zstd ---- */

static int begin_zstd(struct inflate *inflate, struct hutch_error *err)
{
    inflate->zstd = ZSTD_createDCtx();
    if (!inflate->zstd ||
        ZSTD_isError(ZSTD_DCtx_setParameter(inflate->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG)))
        return hutch_fail_nomem(err);
    return 0;
}

static ssize_t step_zstd(struct inflate *inflate, void *buffer, size_t size,
                         struct hutch_error *err)
{
    ZSTD_inBuffer in = {inflate->input, inflate->end, inflate->at};
    ZSTD_outBuffer out = {buffer, size, 0};
    size_t status = ZSTD_decompressStream(inflate->zstd, &out, &in);
    inflate->at = in.pos;
    if (ZSTD_isError(status))
        return fail_data(err, ZSTD_getErrorName(status));
    inflate->is_inside = status != 0;
    return (ssize_t)out.pos;
}

/* ---- which ---- */

static int begin_unknown(struct inflate *inflate, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "the layer cannot be decompressed: it is %s, and gzip and zstd are known",
                      inflate->format->name);
}

/* zstd's skippable frames begin with any of sixteen bytes, which no tar does: the second and third
 * byte of a name would be a control character. */
static const struct format formats[] = {
    {"gzip", "\x1f\x8b", 2, step_gzip, begin_gzip},
    {"zstd", "\x28\xb5\x2f\xfd", 4, step_zstd, begin_zstd},
    {"xz",
     "\xfd"
     "7zXZ",
     5, NULL, begin_unknown},
    {"bzip2", "BZh", 3, NULL, begin_unknown},
    {"", "", 0, step_plain, begin_plain}, /* the last */
};

static bool is_skippable_frame(const unsigned char *front, size_t length)
{
    return length >= 4 && front[0] >> 4 == 5 && front[1] == 0x2a && front[2] == 0x4d &&
           front[3] == 0x18;
}

static const struct format *find_format(const unsigned char *front, size_t length)
{
    const struct format *format = formats;
    while (length < format->magic_length || memcmp(front, format->magic, format->magic_length) != 0)
        format++;
    return is_skippable_frame(front, length) ? &formats[1] : format;
}

const char *inflate_name(const unsigned char *front, size_t length)
{
    return find_format(front, length)->name;
}

static int detect(struct inflate *inflate, struct hutch_error *err)
{
    while (inflate->end < INFLATE_FRONT_BYTES && !inflate->is_source_done)
        if (read_more(inflate, err) < 0)
            return -1;
    inflate->format = find_format(inflate->input, inflate->end);
    return inflate->format->begin(inflate, err);
}

int inflate_new(layer_source *source, void *context, struct inflate **ret_inflate,
                struct hutch_error *err)
{
    struct inflate *inflate = calloc(1, sizeof(*inflate));
    if (!inflate)
        return hutch_fail_nomem(err);
    inflate->source = source;
    inflate->context = context;
    inflate->input = malloc(INPUT_BYTES);
    if (!inflate->input) {
        inflate_free(inflate);
        return hutch_fail_nomem(err);
    }
    *ret_inflate = inflate;
    return 0;
}

void inflate_free(struct inflate *inflate)
{
    if (!inflate)
        return;
    free(inflate->input);
    free(inflate->gzip);
    (void)ZSTD_freeDCtx(inflate->zstd);
    free(inflate);
}

/* A decoder that neither gives nor takes anything would be asked for ever. */
static ssize_t step(struct inflate *inflate, void *buffer, size_t size, struct hutch_error *err)
{
    size_t before = inflate->at;
    bool was_inside = inflate->is_inside;
    ssize_t got = inflate->format->step(inflate, buffer, size, err);
    if (got == 0 && has_input(inflate) && inflate->at == before && inflate->is_inside == was_inside)
        return fail_data(err, "the decoder does not go on");
    return got;
}

/* The decoder is called also when there is no input: it may hold back output. That it gives none
 * means that it wants input. */
ssize_t inflate_read(struct inflate *inflate, void *buffer, size_t size, struct hutch_error *err)
{
    if (!inflate->format && detect(inflate, err) < 0)
        return -1;
    for (;;) {
        ssize_t got = 0;
        if (has_input(inflate) || inflate->is_inside)
            got = step(inflate, buffer, size, err);
        if (got != 0)
            return got < 0 ? -1 : got;
        if (!has_input(inflate) && inflate->is_source_done)
            return inflate->is_inside ? fail_data(err, "it ends in the middle") : 0;
        if (!has_input(inflate) && read_more(inflate, err) < 0)
            return -1;
    }
}

ssize_t inflate_fill(struct inflate *inflate, void *buffer, size_t size, struct hutch_error *err)
{
    size_t length = 0;
    ssize_t got = 1;
    while (got > 0 && length < size) {
        got = inflate_read(inflate, (char *)buffer + length, size - length, err);
        length += got > 0 ? (size_t)got : 0;
    }
    return got < 0 ? -1 : (ssize_t)length;
}
