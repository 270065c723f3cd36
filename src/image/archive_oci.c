/* SPDX-License-Identifier: Apache-2.0 */
/* OCI image layout 1.0: index.json names manifests and other indexes by digest, and every blob
 * lies under its digest. Docker since 25 writes this too, with the whole name in containerd's
 * annotation and only the tag in OCI's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_in.h"
#include "image/archive_load.h"
#include "image/hash.h"
#include "image/members.h"
#include "util/own.h"

/* An index of indexes is seen, one more is room; a ring of them ends here. */
#define MAX_DEPTH 4
#define MAX_IMAGES 1000

#define BLOB_NAME_BYTES 96

static void blob_name(const char *digest, char ret_name[BLOB_NAME_BYTES])
{
    (void)snprintf(ret_name, BLOB_NAME_BYTES, "blobs/sha256/%s", IMAGE_DIGEST_HEX(digest));
}

/* A manifest, an index or a configuration, which is what its descriptor says. */
static int read_blob(const struct load *load, const struct descriptor *blob, char **ret_text,
                     size_t *ret_length, struct hutch_error *err)
{
    char name[BLOB_NAME_BYTES], digest[IMAGE_DIGEST_BYTES];
    hutch_autofree char *text = NULL;
    size_t length = 0;
    blob_name(blob->digest, name);
    if (archive_read_text(load->archive, name, MANIFEST_MAX_BYTES, &text, &length, err) < 0 ||
        hash_of(text, length, digest, err) < 0)
        return -(int)err->code;
    if (length != blob->size || strcmp(digest, blob->digest) != 0)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "'%s' in the archive is not what its name says: its content has %zu "
                          "bytes and is '%s'",
                          name, length, digest);
    *ret_text = HUTCH_TAKE_PTR(text);
    *ret_length = length;
    return 0;
}

/* ---- one image ------------------------------------------------------------------------------- */

static int load_layers(struct load *load, struct load_image *image, const struct manifest *manifest,
                       struct hutch_error *err)
{
    size_t count = manifest->layer_count;
    hutch_autofree char(*names)[BLOB_NAME_BYTES] = calloc(count + 1, sizeof(*names));
    hutch_autofree const char **layers = calloc(count + 1, sizeof(*layers));
    if (!names || !layers)
        return hutch_fail_nomem(err);
    for (size_t i = 0; i < count; i++) {
        blob_name(manifest->layers[i].digest, names[i]);
        layers[i] = names[i];
    }
    image->layers = layers;
    image->blobs = manifest->layers;
    image->layer_count = count;
    return load_image(load, image, err);
}

static int load_manifest(struct load *load, const struct descriptor *entry,
                         const struct hutch_strlist *names, unsigned depth, struct hutch_error *err)
{
    hutch_autofree char *text = NULL, *config = NULL;
    hutch_cleanup(manifest_done) struct manifest manifest = {0};
    struct load_image image = {.names = names};
    const char *media_type = entry->media_type[0] ? entry->media_type : NULL;
    if (depth == MAX_DEPTH)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the archive has more than %d indexes inside each other", MAX_DEPTH);
    if (read_blob(load, entry, &text, &image.manifest_length, err) < 0 ||
        manifest_parse(text, image.manifest_length, media_type, &manifest, err) < 0)
        return -(int)err->code;
    if (manifest.kind == MANIFEST_INDEX) {
        const struct descriptor *chosen = NULL;
        if (manifest_choose(&manifest, &load->platform, &chosen, err) < 0)
            return -(int)err->code;
        return load_manifest(load, chosen, names, depth + 1, err);
    }
    if (read_blob(load, &manifest.config, &config, &image.config_length, err) < 0)
        return -(int)err->code;
    image.manifest = text;
    image.config = config;
    return load_layers(load, &image, &manifest, err);
}

/* ---- the layout's own index ------------------------------------------------------------------ */

/* Only a tag, or a name: the annotation may be either. Beside a name that the caller gave, a single
 * word is a tag and no name. */
static int entry_names(const struct load *load, const struct hutch_value *entry,
                       struct hutch_strlist *names, struct hutch_error *err)
{
    const struct hutch_value *annotations = NULL;
    if (member_of_type(entry, "annotations", HUTCH_VALUE_OBJECT, &annotations, err) < 0)
        return -(int)err->code;
    if (!annotations)
        return 0;
    const char *name = hutch_value_text(hutch_value_get(annotations, "io.containerd.image.name"));
    if (!name) {
        name = hutch_value_text(hutch_value_get(annotations, "org.opencontainers.image.ref.name"));
        if (name && load->name && !strpbrk(name, "/:@"))
            name = NULL;
    }
    return name && *name ? hutch_strlist_add(names, name, err) : 0;
}

/* What is for another platform is passed over, as are the attestations that builders add. */
static int is_for_us(const struct load *load, const struct hutch_value *entry, bool *ret_is,
                     struct hutch_error *err)
{
    const struct hutch_value *member = NULL;
    struct platform platform = {0};
    struct hutch_error other = HUTCH_ERROR_INIT;
    if (member_of_type(entry, "platform", HUTCH_VALUE_OBJECT, &member, err) < 0)
        return -(int)err->code;
    *ret_is = true;
    if (!member)
        return 0;
    if (member_text(member, "os", platform.os, sizeof(platform.os), err) < 0 ||
        member_text(member, "architecture", platform.architecture, sizeof(platform.architecture),
                    err) < 0 ||
        member_text(member, "variant", platform.variant, sizeof(platform.variant), err) < 0)
        return -(int)err->code;
    *ret_is = platform_check(&platform, &load->platform, &other) == 0;
    return 0;
}

static int load_entry(struct load *load, const struct hutch_value *entry, struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist names = {0};
    struct descriptor descriptor = {0};
    bool is_wanted = false;
    if (member_text(entry, "mediaType", descriptor.media_type, sizeof(descriptor.media_type), err) <
            0 ||
        member_digest(entry, "digest", descriptor.digest, err) < 0 ||
        member_size(entry, "size", &descriptor.size, err) < 0 ||
        is_for_us(load, entry, &is_wanted, err) < 0)
        return -(int)err->code;
    if (!is_wanted)
        return 0;
    if (entry_names(load, entry, &names, err) < 0 || load_settle_names(load, &names, err) < 0)
        return -(int)err->code;
    return load_manifest(load, &descriptor, &names, 0, err);
}

static int check_layout(const struct load *load, struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    hutch_cleanup(hutch_value_done) struct hutch_value layout = {0};
    size_t length = 0;
    char version[32];
    if (archive_read_text(load->archive, "oci-layout", 4096, &text, &length, err) < 0 ||
        hutch_json_parse(text, length, &layout, err) < 0 ||
        member_text(&layout, "imageLayoutVersion", version, sizeof(version), err) < 0)
        return hutch_wrap(err, "'oci-layout' in the archive: ");
    if (strncmp(version, "1.", 2) != 0)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "the archive is an OCI layout of version '%s'; 1.0 is known", version);
    return 0;
}

int load_oci(struct load *load, struct hutch_error *err)
{
    hutch_autofree char *text = NULL;
    hutch_cleanup(hutch_value_done) struct hutch_value index = {0};
    const struct hutch_value *entries = NULL;
    size_t length = 0;
    if (check_layout(load, err) < 0)
        return -(int)err->code;
    if (archive_read_text(load->archive, "index.json", MANIFEST_MAX_BYTES, &text, &length, err) <
            0 ||
        hutch_json_parse(text, length, &index, err) < 0 ||
        member_of_type(&index, "manifests", HUTCH_VALUE_ARRAY, &entries, err) < 0)
        return hutch_wrap(err, "'index.json' in the archive: ");
    if (entries && entries->list.count > MAX_IMAGES)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "the archive has more than %d images",
                          MAX_IMAGES);
    int status = 0;
    for (size_t i = 0; entries && i < entries->list.count && status == 0; i++)
        status = load_entry(load, &entries->list.items[i], err);
    return status;
}
