/* SPDX-License-Identifier: Apache-2.0 */
/* What `docker save` writes: manifest.json, a list of images, each with the names of its
 * configuration and of its layers' archives. There is no digest of a layer but the diff id in the
 * configuration; and no manifest, so one is written. */
#include <stdlib.h>
#include <string.h>

#include "core/json_in.h"
#include "image/archive_load.h"
#include "image/hash.h"
#include "image/members.h"
#include "util/own.h"

#define MAX_IMAGES 1000

/* "HEX.json" and "blobs/sha256/HEX" say which content they must have. */
static int check_config_name(const char *name, const char *text, size_t length,
                             struct hutch_error *err)
{
    char digest[IMAGE_DIGEST_BYTES];
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    size_t stem = strspn(last, "0123456789abcdef");
    if (hash_of(text, length, digest, err) < 0)
        return -(int)err->code;
    if (stem != strlen(IMAGE_DIGEST_HEX(digest)) ||
        (last[stem] && strcmp(last + stem, ".json") != 0))
        return 0;
    if (strncmp(last, IMAGE_DIGEST_HEX(digest), stem) != 0)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%.200s' in the archive is not what its name says: its content is '%s'",
                          name, digest);
    return 0;
}

static int load_described(struct load *load, const char *config_name,
                          const struct hutch_strlist *layers, const struct hutch_strlist *names,
                          struct hutch_error *err)
{
    hutch_autofree char *config = NULL;
    struct load_image image = {
        .layers = (const char *const *)layers->items, .layer_count = layers->count, .names = names};
    if (archive_read_text(load->archive, config_name, CONFIG_MAX_BYTES, &config,
                          &image.config_length, err) < 0 ||
        check_config_name(config_name, config, image.config_length, err) < 0)
        return -(int)err->code;
    image.config = config;
    return load_image(load, &image, err);
}

static int load_entry(struct load *load, const struct hutch_value *entry, struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist layers = {0};
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist names = {0};
    char config_name[512];
    if (entry->type != HUTCH_VALUE_OBJECT)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "'manifest.json' has %s where an image must be",
                          hutch_value_kind(entry));
    if (member_text(entry, "Config", config_name, sizeof(config_name), err) < 0 ||
        member_texts(entry, "Layers", &layers, err) < 0 ||
        member_texts(entry, "RepoTags", &names, err) < 0)
        return hutch_wrap(err, "'manifest.json' in the archive: ");
    if (layers.count > MANIFEST_MAX_LAYERS)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "the image has more than %d layers",
                          MANIFEST_MAX_LAYERS);
    if (load_settle_names(load, &names, err) < 0)
        return -(int)err->code;
    return load_described(load, config_name, &layers, &names, err);
}

int load_docker(struct load *load, struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    hutch_cleanup(hutch_value_done) struct hutch_value images = {0};
    size_t length = 0;
    if (archive_read_text(load->archive, "manifest.json", MANIFEST_MAX_BYTES, &text, &length, err) <
            0 ||
        hutch_json_parse(text, length, &images, err) < 0)
        return hutch_wrap(err, "'manifest.json' in the archive: ");
    if (images.type != HUTCH_VALUE_ARRAY || images.list.count > MAX_IMAGES)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'manifest.json' in the archive is no list of at most %d images",
                          MAX_IMAGES);
    int status = 0;
    for (size_t i = 0; i < images.list.count && status == 0; i++)
        status = load_entry(load, &images.list.items[i], err);
    return status;
}
