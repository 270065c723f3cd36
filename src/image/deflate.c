/* SPDX-License-Identifier: Apache-2.0 */
#include "image/deflate.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>

#include "image/hash.h"
#include "util/fs.h"

#define OUTPUT_BYTES (256u << 10)
#define INPUT_BYTES (256u << 10)
#define INPUT_MARGIN 512u
#define BEGINNING_BYTES 16u

/* The compressor looks at a few bytes behind its input, and at what its tables held before. Neither
 * gets into the output, but both have a say in where it looks for repetitions. So that the same
 * input gives the same bytes, it is given a buffer of its own, and all of it begins as zeros. */
struct deflate {
    int fd;
    struct hash *plain;
    struct hash *packed;
    uint64_t bytes;
    uint64_t size;
    struct isal_zstream stream;
    unsigned char level[ISAL_DEF_LVL1_DEFAULT];
    unsigned char input[INPUT_BYTES + INPUT_MARGIN];
    unsigned char output[OUTPUT_BYTES];
};

int deflate_new(int out_fd, struct deflate **ret_deflate, struct hutch_error *err)
{
    struct deflate *deflate = calloc(1, sizeof(*deflate));
    if (!deflate)
        return hutch_fail_nomem(err);
    isal_deflate_init(&deflate->stream);
    deflate->stream.level = 1;
    deflate->stream.level_buf = deflate->level;
    deflate->stream.level_buf_size = sizeof(deflate->level);
    deflate->stream.gzip_flag = IGZIP_GZIP;
    deflate->stream.flush = NO_FLUSH;
    deflate->fd = out_fd;
    deflate->plain = hash_new();
    deflate->packed = hash_new();
    *ret_deflate = deflate;
    return 0;
}

void deflate_free(struct deflate *deflate)
{
    if (!deflate)
        return;
    hash_free(deflate->plain);
    hash_free(deflate->packed);
    free(deflate);
}

/* Until the input is used up and, at the end, everything is out. */
static int compress(struct deflate *deflate)
{
    struct isal_zstream *stream = &deflate->stream;
    do {
        stream->next_out = deflate->output;
        stream->avail_out = OUTPUT_BYTES;
        if (isal_deflate(stream) != COMP_OK) {
            errno = EIO;
            return -1;
        }
        size_t length = OUTPUT_BYTES - stream->avail_out;
        hash_add(deflate->packed, deflate->output, length);
        deflate->size += length;
        if (hutch_write_all(deflate->fd, deflate->output, length) < 0)
            return -1;
    } while (stream->avail_in || stream->avail_out == 0 ||
             (stream->end_of_stream && stream->internal_state.state != ZSTATE_END));
    return 0;
}

/* igzip's loop for x86 (2.30, and those after it so far), when it begins a stream, enters the third
 * byte into its table of repetitions under a hash not of the data but of the address of the stream.
 * In one of some thousand places in memory that hides a repetition or shows another, and the same
 * input gives other bytes. The code for the last bytes before a flush begins a stream correctly,
 * and takes all of an input that is too short for the loop: more than 3 bytes and at most 16. So
 * the beginning is compressed alone and flushed, which costs less than 20 bytes. */
static size_t choose_part(struct deflate *deflate, size_t length)
{
    bool is_beginning = deflate->bytes == 0;
    size_t most = is_beginning ? BEGINNING_BYTES : INPUT_BYTES;
    deflate->stream.flush = is_beginning ? SYNC_FLUSH : NO_FLUSH;
    return length < most ? length : most;
}

int deflate_write(struct deflate *deflate, const void *data, size_t length)
{
    const unsigned char *from = data;
    hash_add(deflate->plain, data, length);
    while (length) {
        size_t part = choose_part(deflate, length);
        memcpy(deflate->input, from, part);
        memset(deflate->input + part, 0, INPUT_MARGIN);
        deflate->stream.next_in = deflate->input;
        deflate->stream.avail_in = (uint32_t)part;
        if (compress(deflate) < 0)
            return -1;
        deflate->bytes += part;
        from += part;
        length -= part;
    }
    return 0;
}

int deflate_finish(struct deflate *deflate, struct layer_packed *ret_packed,
                   struct hutch_error *err)
{
    struct layer_packed packed = {0};
    deflate->stream.end_of_stream = 1;
    deflate->stream.avail_in = 0;
    if (compress(deflate) < 0)
        return hutch_fail_errno(err, errno, "cannot write the layer");
    struct hash *plain = deflate->plain, *whole = deflate->packed;
    deflate->plain = deflate->packed = NULL;
    int status = hash_finish(plain, packed.diff_id, err);
    if (status < 0) {
        hash_free(whole);
        return status;
    }
    status = hash_finish(whole, packed.digest, err);
    packed.size = deflate->size;
    packed.bytes = deflate->bytes;
    if (status == 0)
        *ret_packed = packed;
    return status;
}
