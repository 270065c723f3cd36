/* SPDX-License-Identifier: Apache-2.0 */
/* A layer goes into the store in one pass: what is read is written to the blob and unpacked, and
 * both get their names when all digests are right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/compose.h"
#include "image/implicit.h"
#include "image/inflate.h"
#include "util/own.h"

/* Enough to drain what an unpacker had no use for. */
#define DRAIN_BYTES (64u << 10)

struct intake {
    struct composition *composition;
    const struct compose_source *source;
    struct blob_writer *writer; /* NULL: the blob is there already */
    uint64_t done;
    uint64_t total; /* 0: unknown */
    uint64_t told;  /* of it, by the last report of progress */
    unsigned char front[INFLATE_FRONT_BYTES];
    size_t front_length;
};

static void tell_progress(struct intake *intake, const char *action)
{
    const struct hutch_image_options *options = intake->composition->options;
    const struct descriptor *blob = intake->source->blob;
    struct hutch_image_progress progress = {
        .action = action, .item = "layer", .done = intake->done, .total = intake->total};
    char item[13] = "";
    if (!options || !options->on_progress)
        return;
    if (blob) {
        memcpy(item, IMAGE_DIGEST_HEX(blob->digest), sizeof(item) - 1);
        progress.item = item;
    }
    options->on_progress(options->userdata, &progress);
    intake->told = intake->done;
}

static void keep_front(struct intake *intake, const void *data, size_t length)
{
    size_t room = sizeof(intake->front) - intake->front_length;
    length = length < room ? length : room;
    memcpy(intake->front + intake->front_length, data, length);
    intake->front_length += length;
}

static ssize_t read_and_keep(void *context, void *buffer, size_t size, struct hutch_error *err)
{
    struct intake *intake = context;
    ssize_t got = intake->source->read(intake->source->context, buffer, size, err);
    if (got <= 0)
        return got;
    keep_front(intake, buffer, (size_t)got);
    intake->done += (uint64_t)got;
    if (intake->done - intake->told >= (1u << 20))
        tell_progress(intake, "unpack");
    if (intake->writer && blob_write(intake->writer, buffer, (size_t)got, err) < 0)
        return -(int)err->code;
    return got;
}

static int drain(struct intake *intake, struct hutch_error *err)
{
    hutch_autofree char *buffer = malloc(DRAIN_BYTES);
    ssize_t got = 0;
    if (!buffer)
        return hutch_fail_nomem(err);
    while ((got = read_and_keep(intake, buffer, DRAIN_BYTES, err)) > 0)
        continue;
    return (int)got;
}

/* What a layer is called that came without a description. */
static void set_media_type(const struct intake *intake, struct descriptor *blob)
{
    const char *name = inflate_name(intake->front, intake->front_length);
    (void)snprintf(blob->media_type, sizeof(blob->media_type), MEDIA_OCI_LAYER "%s%s",
                   *name ? "+" : "", name);
}

static int note_layer(struct composition *composition, const struct descriptor *blob,
                      const char *diff_id, const char *name, struct hutch_error *err)
{
    if (hutch_strlist_add(&composition->diff_ids, diff_id, err) < 0 ||
        hutch_strlist_add(&composition->names, name, err) < 0)
        return -(int)err->code;
    composition->layers[composition->count++] = *blob;
    return implicit_stack_key(composition->stack_key, diff_id, composition->stack_key, err);
}

/* ---- unpacking ------------------------------------------------------------------------------- */

static int check_diff_id(const struct compose_source *source, const struct layer_result *result,
                         struct hutch_error *err)
{
    if (!source->diff_id || !strcmp(source->diff_id, result->diff_id))
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "the layer's content is '%s', but the image's configuration names '%s'",
                      result->diff_id, source->diff_id);
}

static int unpack(struct intake *intake, int dir, struct layer_result *ret_result,
                  struct hutch_error *err)
{
    const struct layer_options options = {
        .dir = dir, .source = read_and_keep, .context = intake, .keeps_owners = geteuid() == 0};
    if (layer_unpack(&options, ret_result, err) < 0)
        return -(int)err->code;
    if (drain(intake, err) < 0 || check_diff_id(intake->source, ret_result, err) < 0) {
        layer_result_done(ret_result);
        return -(int)err->code;
    }
    return 0;
}

static int commit_blob(struct intake *intake, struct descriptor *blob, struct hutch_error *err)
{
    if (intake->source->blob) {
        *blob = *intake->source->blob;
        return intake->writer ? blob_commit(intake->writer, err) : 0;
    }
    *blob = (struct descriptor){0};
    set_media_type(intake, blob);
    return blob_commit_unnamed(intake->writer, blob->digest, &blob->size, err);
}

static int take_in(struct intake *intake, struct layer_writer *layer, int dir,
                   struct hutch_error *err)
{
    struct composition *composition = intake->composition;
    struct layer_result result = {0};
    struct descriptor blob;
    char stack_key[IMAGE_DIGEST_BYTES], key[IMAGE_DIGEST_BYTES], name[16];
    if (unpack(intake, dir, &result, err) < 0)
        return -(int)err->code;
    int status = commit_blob(intake, &blob, err);
    if (status == 0)
        status = implicit_stack_key(composition->stack_key, result.diff_id, stack_key, err);
    if (status == 0)
        status = implicit_settle(composition->store, dir, &result, &composition->names, stack_key,
                                 key, err);
    if (status == 0)
        status = layer_commit(layer, key, layer_known_sum(&result), name, err);
    if (status == 0)
        status = note_layer(composition, &blob, result.diff_id, name, err);
    layer_result_done(&result);
    return status;
}

static int begin_blob(struct intake *intake, struct hutch_error *err)
{
    const struct image_store *store = intake->composition->store;
    const struct descriptor *blob = intake->source->blob;
    bool is_there = false;
    uint64_t have = 0;
    if (!blob)
        return blob_begin_unnamed(store, &intake->writer, err);
    intake->total = blob->size;
    if (blob_begin(store, blob->digest, blob->size, &intake->writer, &is_there, &have, err) < 0)
        return -(int)err->code;
    /* what an earlier try has left costs more to go on from than to write again */
    return have && intake->writer ? blob_rewind(intake->writer, err) : 0;
}

static bool is_unpacked(const struct composition *composition, const char *diff_id,
                        char ret_name[16])
{
    char stack_key[IMAGE_DIGEST_BYTES];
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    return diff_id &&
           implicit_stack_key(composition->stack_key, diff_id, stack_key, &ignored) == 0 &&
           implicit_find(composition->store, diff_id, stack_key, ret_name);
}

int compose_add(struct composition *composition, const struct compose_source *source,
                struct hutch_error *err)
{
    struct intake intake = {.composition = composition, .source = source};
    struct layer_writer *layer = NULL;
    char name[16];
    int dir = HUTCH_NO_FD;
    if (composition->count == MANIFEST_MAX_LAYERS)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "the image has more than %d layers",
                          MANIFEST_MAX_LAYERS);
    int status = begin_blob(&intake, err);
    if (status == 0 && !intake.writer && is_unpacked(composition, source->diff_id, name))
        return note_layer(composition, source->blob, source->diff_id, name, err);
    if (status == 0)
        status = layer_begin(composition->store, &layer, &dir, err);
    if (status == 0)
        status = take_in(&intake, layer, dir, err);
    if (status == 0)
        tell_progress(&intake, "done");
    blob_free(intake.writer);
    layer_free(layer);
    return status;
}
