/* SPDX-License-Identifier: Apache-2.0 */
#include "image/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "core/json_in.h"
#include "image/members.h"
#include "util/own.h"

#define OCI "application/vnd.oci.image."
#define DOCKER "application/vnd.docker."

struct manifest_type {
    const char *media_type;
    enum manifest_kind kind;
    bool is_docker;
};

static const struct manifest_type manifest_types[] = {
    {MEDIA_OCI_MANIFEST, MANIFEST_IMAGE, false},
    {MEDIA_OCI_INDEX, MANIFEST_INDEX, false},
    {MEDIA_DOCKER_MANIFEST, MANIFEST_IMAGE, true},
    {MEDIA_DOCKER_LIST, MANIFEST_INDEX, true},
};

/* Servers that do not know better say these; then the document speaks for itself. */
static const char *const vague_types[] = {"application/json", "application/octet-stream",
                                          "text/plain"};

static const char *const config_types[] = {
    MEDIA_OCI_CONFIG,
    DOCKER "container.image.v1+json",
};

/* How a layer is compressed tell its first bytes; here it only has to be an archive. */
static const char *const layer_types[] = {
    MEDIA_OCI_LAYER,
    MEDIA_OCI_LAYER "+gzip",
    MEDIA_OCI_LAYER "+zstd",
    OCI "layer.nondistributable.v1.tar",
    OCI "layer.nondistributable.v1.tar+gzip",
    OCI "layer.nondistributable.v1.tar+zstd",
    DOCKER "image.rootfs.diff.tar",
    DOCKER "image.rootfs.diff.tar.gzip",
    DOCKER "image.rootfs.diff.tar.zstd",
    DOCKER "image.rootfs.foreign.diff.tar",
    DOCKER "image.rootfs.foreign.diff.tar.gzip",
};

static bool is_among(const char *const *texts, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(texts[i], text))
            return true;
    return false;
}

static const struct manifest_type *find_type(const char *media_type)
{
    for (size_t i = 0; i < HUTCH_COUNT(manifest_types); i++)
        if (!strcmp(manifest_types[i].media_type, media_type))
            return &manifest_types[i];
    return NULL;
}

static int fail_old(struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                      "the image has a manifest of Docker's schema 1, which was given up because "
                      "it cannot be checked; push it again with a current docker, podman or "
                      "skopeo");
}

/* What the server said, without "; charset=utf-8". */
static int bare_type(const char *media_type, char ret_type[128], struct hutch_error *err)
{
    size_t length = media_type ? strcspn(media_type, "; \t") : 0;
    if (length >= 128)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "its media type is longer than 127 bytes");
    if (length)
        memcpy(ret_type, media_type, length);
    ret_type[length] = '\0';
    if (is_among(vague_types, HUTCH_COUNT(vague_types), ret_type))
        ret_type[0] = '\0';
    return 0;
}

/* A document with both lists would be an image to one reader and an index to the next. */
static int type_by_shape(const struct hutch_value *document, const struct manifest_type **ret_type,
                         struct hutch_error *err)
{
    bool has_layers = hutch_value_get(document, "layers") != NULL;
    bool has_entries = hutch_value_get(document, "manifests") != NULL;
    if (has_layers == has_entries)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          has_layers ? "it has 'layers' and 'manifests', only one of them is right"
                                     : "it is neither an image nor an index: it has no 'layers' "
                                       "and no 'manifests'");
    *ret_type = &manifest_types[has_entries];
    return 0;
}

static bool is_old(const struct hutch_value *document, const char *media_type)
{
    static const char old_types[] = DOCKER "distribution.manifest.v1+";
    const struct hutch_value *version = hutch_value_get(document, "schemaVersion");
    return !strncmp(media_type, old_types, sizeof(old_types) - 1) ||
           (version && version->type == HUTCH_VALUE_INTEGER && version->integer == 1);
}

static int check_version(const struct hutch_value *document, struct hutch_error *err)
{
    const struct hutch_value *version = NULL;
    int r = member_of_type(document, "schemaVersion", HUTCH_VALUE_INTEGER, &version, err);
    if (r < 0)
        return r;
    if (!version || version->integer != 2)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "its 'schemaVersion' is not 2");
    return 0;
}

/* The server's word, the document's word and its shape have to be one. */
static int find_out_type(const struct hutch_value *document, const char *server_type,
                         struct manifest *manifest, struct hutch_error *err)
{
    const struct manifest_type *shape = NULL, *type = NULL;
    char said[128] = "", own[128] = "";
    if (document->type != HUTCH_VALUE_OBJECT)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "it is %s, not an object",
                          hutch_value_kind(document));
    int r = bare_type(server_type, said, err);
    if (r >= 0)
        r = member_text(document, "mediaType", own, sizeof(own), err);
    if (r < 0)
        return r;
    if (is_old(document, said))
        return fail_old(err);
    r = check_version(document, err);
    if (r >= 0)
        r = type_by_shape(document, &shape, err);
    if (r < 0 || !shape)
        return r;
    if (said[0] && own[0] && strcmp(said, own) != 0)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "it was sent as '%s' but calls itself '%s'",
                          said, own);
    const char *name = own[0] ? own : said;
    type = name[0] ? find_type(name) : shape;
    if (!type)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0, "'%s' is not an image that hutch knows",
                          name);
    if (type->kind != shape->kind)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "it is called '%s' but does not look like it",
                          name);
    manifest->kind = type->kind;
    manifest->is_docker = type->is_docker;
    return 0;
}

static int read_descriptor(const struct hutch_value *object, struct descriptor *descriptor,
                           struct hutch_error *err)
{
    if (object->type != HUTCH_VALUE_OBJECT)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "line %u: a descriptor is %s, not an object",
                          object->line, hutch_value_kind(object));
    int r = member_text(object, "mediaType", descriptor->media_type, sizeof(descriptor->media_type),
                        err);
    if (r >= 0)
        r = member_digest(object, "digest", descriptor->digest, err);
    if (r >= 0)
        r = member_size(object, "size", &descriptor->size, err);
    return r;
}

static int read_config(const struct hutch_value *document, struct manifest *manifest,
                       struct hutch_error *err)
{
    const struct hutch_value *config = NULL;
    int r = member_of_type(document, "config", HUTCH_VALUE_OBJECT, &config, err);
    if (r < 0)
        return r;
    if (!config)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "it has no 'config'");
    r = read_descriptor(config, &manifest->config, err);
    if (r < 0)
        return r;
    if (!is_among(config_types, HUTCH_COUNT(config_types), manifest->config.media_type))
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "it is not a file system to run: its configuration is '%s'",
                          manifest->config.media_type);
    if (manifest->config.size > CONFIG_MAX_BYTES)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "its configuration has %llu bytes, the most is %u",
                          (unsigned long long)manifest->config.size, CONFIG_MAX_BYTES);
    return 0;
}

static int read_layer(const struct hutch_value *item, struct descriptor *layer, uint64_t *total,
                      struct hutch_error *err)
{
    int r = read_descriptor(item, layer, err);
    if (r < 0)
        return r;
    if (!is_among(layer_types, HUTCH_COUNT(layer_types), layer->media_type))
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "line %u: hutch knows no layers of the type '%s'", item->line,
                          layer->media_type);
    if (layer->size > (uint64_t)INT64_MAX - *total)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "line %u: the sizes of its layers overflow",
                          item->line);
    *total += layer->size;
    return 0;
}

static int read_layers(const struct hutch_value *document, struct manifest *manifest,
                       struct hutch_error *err)
{
    const struct hutch_value *list = NULL;
    uint64_t total = 0;
    int r = member_of_type(document, "layers", HUTCH_VALUE_ARRAY, &list, err);
    if (r < 0)
        return r;
    if (!list || !list->list.count)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "it has no layers, there is nothing to run");
    if (list->list.count > MANIFEST_MAX_LAYERS)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "it has %zu layers, the most that can be stacked are %d",
                          list->list.count, MANIFEST_MAX_LAYERS);
    manifest->layers = calloc(list->list.count, sizeof(*manifest->layers));
    if (!manifest->layers)
        return hutch_fail_nomem(err);
    for (size_t i = 0; r >= 0 && i < list->list.count; i++)
        r = read_layer(&list->list.items[i], &manifest->layers[manifest->layer_count++], &total,
                       err);
    return r;
}

static int read_platform(const struct hutch_value *entry, struct platform *platform,
                         struct hutch_error *err)
{
    const struct hutch_value *object = NULL;
    int r = member_of_type(entry, "platform", HUTCH_VALUE_OBJECT, &object, err);
    if (r < 0 || !object)
        return r;
    r = member_text(object, "os", platform->os, sizeof(platform->os), err);
    if (r >= 0)
        r = member_text(object, "architecture", platform->architecture,
                        sizeof(platform->architecture), err);
    if (r >= 0)
        r = member_text(object, "variant", platform->variant, sizeof(platform->variant), err);
    return r;
}

/* Entries that are no images (signatures, attestations of other kinds) are passed over. */
static int read_entry(const struct hutch_value *item, struct manifest *manifest,
                      struct hutch_error *err)
{
    struct descriptor entry = {0};
    struct platform platform = {0};
    int r = read_descriptor(item, &entry, err);
    if (r < 0 || !find_type(entry.media_type))
        return r;
    r = read_platform(item, &platform, err);
    if (r < 0)
        return r;
    manifest->entries[manifest->entry_count] = entry;
    manifest->platforms[manifest->entry_count++] = platform;
    return 0;
}

static int read_entries(const struct hutch_value *document, struct manifest *manifest,
                        struct hutch_error *err)
{
    const struct hutch_value *list = NULL;
    int r = member_of_type(document, "manifests", HUTCH_VALUE_ARRAY, &list, err);
    if (r < 0 || !list || !list->list.count)
        return r;
    manifest->entries = calloc(list->list.count, sizeof(*manifest->entries));
    manifest->platforms = calloc(list->list.count, sizeof(*manifest->platforms));
    if (!manifest->entries || !manifest->platforms)
        return hutch_fail_nomem(err);
    for (size_t i = 0; r >= 0 && i < list->list.count; i++)
        r = read_entry(&list->list.items[i], manifest, err);
    return r;
}

static int read_document(const struct hutch_value *document, const char *media_type,
                         struct manifest *manifest, struct hutch_error *err)
{
    int r = find_out_type(document, media_type, manifest, err);
    if (r < 0)
        return r;
    if (manifest->kind == MANIFEST_INDEX)
        return read_entries(document, manifest, err);
    r = read_config(document, manifest, err);
    return r < 0 ? r : read_layers(document, manifest, err);
}

int manifest_parse(const char *text, size_t length, const char *media_type,
                   struct manifest *ret_manifest, struct hutch_error *err)
{
    hutch_cleanup(hutch_value_done) struct hutch_value document = {0};
    struct manifest manifest = {0};
    int r = hutch_json_parse(text, length, &document, err);
    if (r >= 0)
        r = read_document(&document, media_type, &manifest, err);
    if (r < 0) {
        manifest_done(&manifest);
        return hutch_wrap(err, "manifest: ");
    }
    *ret_manifest = manifest;
    return 0;
}

void manifest_done(struct manifest *manifest)
{
    free(manifest->layers);
    free(manifest->entries);
    free(manifest->platforms);
    *manifest = (struct manifest){0};
}

const char *manifest_media_type(const struct manifest *manifest)
{
    return manifest->is_docker ? MEDIA_DOCKER_MANIFEST : MEDIA_OCI_MANIFEST;
}

int manifest_check_layers(const struct manifest *manifest, const struct hutch_strlist *diff_ids,
                          struct hutch_error *err)
{
    if (manifest->layer_count == diff_ids->count)
        return 0;
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "the manifest names %zu layers and the configuration %zu",
                      manifest->layer_count, diff_ids->count);
}
