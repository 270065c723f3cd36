/* SPDX-License-Identifier: Apache-2.0 */
#include "image/commit.h"

#include <string.h>

#include "image/compose.h"
#include "image/pack_stream.h"
#include "util/own.h"

static int add_upper(struct composition *composition, const struct commit *commit,
                     struct hutch_error *err)
{
    struct pack_stream *stream = NULL;
    if (pack_stream_new(&commit->upper, &stream, err) < 0)
        return -(int)err->code;
    const struct compose_source source = {.read = pack_stream_read, .context = stream};
    int status = compose_add(composition, &source, err);
    pack_stream_free(stream);
    return status;
}

static int finish(struct composition *composition, const struct commit *commit, struct image *image,
                  struct hutch_error *err)
{
    hutch_autofree char *base = NULL, *config = NULL;
    struct compose_texts texts = {0};
    size_t length = 0;
    const struct hutch_strlist *diff_ids = &composition->diff_ids;
    if (store_read_blob(commit->store, commit->base->config_digest, CONFIG_MAX_BYTES, &base,
                        &length, err) < 0 ||
        commit_config(base, length, diff_ids->items[diff_ids->count - 1], commit->created_by,
                      &config, &texts.config_length, err) < 0)
        return -(int)err->code;
    texts.config = config;
    if (compose_finish(composition, &texts, image, err) < 0)
        return -(int)err->code;
    return compose_name(composition, image, commit->reference, err);
}

int commit_image(const struct commit *commit, char ret_digest[IMAGE_DIGEST_BYTES],
                 struct hutch_error *err)
{
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    struct composition *composition = NULL;
    if (compose_begin(commit->store, commit->options, &composition, err) < 0)
        return -(int)err->code;
    int status = compose_base(composition, commit->base, err);
    if (status == 0)
        status = add_upper(composition, commit, err);
    if (status == 0)
        status = finish(composition, commit, &image, err);
    compose_free(composition);
    if (status == 0)
        memcpy(ret_digest, image.digest, IMAGE_DIGEST_BYTES);
    return status;
}
