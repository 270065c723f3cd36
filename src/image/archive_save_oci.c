/* SPDX-License-Identifier: Apache-2.0 */
/* An OCI layout, with docker's own list beside it: Docker 25 reads layouts in this company only,
 * and older ones take it for an archive of theirs. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/archive_save.h"
#include "image/compose.h"
#include "util/json_out.h"
#include "util/own.h"

#define LAYOUT "{\"imageLayoutVersion\":\"1.0.0\"}"

static void blob_name(char *ret_name, size_t size, const char *digest)
{
    (void)snprintf(ret_name, size, "blobs/sha256/%s", IMAGE_DIGEST_HEX(digest));
}

static int save_blob(struct save *save, const char *digest, struct hutch_error *err)
{
    char name[128];
    struct stat info;
    hutch_autofd int fd = store_open_blob(save->store, digest, err);
    if (fd < 0)
        return fd;
    if (fstat(fd, &info) < 0)
        return hutch_fail_errno(err, errno, "look at '%s' in the image store", digest);
    blob_name(name, sizeof(name), digest);
    const struct save_file file = {.name = name,
                                   .size = (uint64_t)info.st_size,
                                   .digest = digest,
                                   .read = save_read_fd,
                                   .context = &fd};
    return save_stream(save, &file, err);
}

static int save_blobs(struct save *save, const struct save_image *saved, struct hutch_error *err)
{
    if (save_blob(save, saved->image.digest, err) < 0 ||
        save_blob(save, saved->image.config_digest, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < saved->manifest.layer_count; i++)
        if (save_blob(save, saved->manifest.layers[i].digest, err) < 0)
            return -(int)err->code;
    return 0;
}

static void put_platform(struct hutch_json_out *out, const struct image *image)
{
    hutch_json_open(out, "platform", '{');
    hutch_json_string(out, "architecture", image->architecture);
    hutch_json_string(out, "os", image->os);
    if (image->variant[0])
        hutch_json_string(out, "variant", image->variant);
    hutch_json_close(out, '}');
}

/* One entry for each name; podman looks at containerd's annotation first, skopeo at OCI's alone. */
static void put_entry(struct hutch_json_out *out, const struct save_image *saved, const char *name)
{
    hutch_json_open(out, NULL, '{');
    hutch_json_string(out, "mediaType", manifest_media_type(&saved->manifest));
    hutch_json_string(out, "digest", saved->image.digest);
    hutch_json_uint(out, "size", saved->manifest_size);
    if (name) {
        hutch_json_open(out, "annotations", '{');
        hutch_json_string(out, "io.containerd.image.name", name);
        hutch_json_string(out, "org.opencontainers.image.ref.name", name);
        hutch_json_close(out, '}');
    }
    put_platform(out, &saved->image);
    hutch_json_close(out, '}');
}

static int save_index(struct save *save, struct hutch_error *err)
{
    struct hutch_buf buf = HUTCH_BUF(64u << 20);
    struct hutch_json_out out = {.buf = &buf};
    hutch_autofree char *text = NULL;
    size_t length = 0;
    hutch_json_open(&out, NULL, '{');
    hutch_json_uint(&out, "schemaVersion", 2);
    hutch_json_string(&out, "mediaType", MEDIA_OCI_INDEX);
    hutch_json_open(&out, "manifests", '[');
    for (size_t i = 0; i < save->count; i++) {
        const struct save_image *saved = &save->images[i];
        for (size_t k = 0; k < saved->names.count; k++)
            put_entry(&out, saved, saved->names.items[k]);
        if (saved->names.count == 0)
            put_entry(&out, saved, NULL);
    }
    hutch_json_close(&out, ']');
    hutch_json_close(&out, '}');
    if (hutch_buf_take(&buf, &text, &length, err) < 0)
        return -(int)err->code;
    return save_text(save, "index.json", text, length, err);
}

int save_oci(struct save *save, struct hutch_error *err)
{
    if (save_text(save, "oci-layout", LAYOUT, strlen(LAYOUT), err) < 0 ||
        save_index(save, err) < 0 ||
        save_docker_manifest(save, blob_name, blob_name, false, err) < 0 ||
        save_directory(save, "blobs/", err) < 0 || save_directory(save, "blobs/sha256/", err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < save->count; i++)
        if (save_blobs(save, &save->images[i], err) < 0)
            return -(int)err->code;
    return 0;
}
