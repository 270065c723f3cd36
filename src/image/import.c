/* SPDX-License-Identifier: Apache-2.0 */
#include "image/import.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/clock.h"
#include "image/compose.h"
#include "image/expand.h"
#include "image/pack_stream.h"
#include "util/json_out.h"
#include "util/own.h"

static int wanted_platform(const struct hutch_image_options *options, struct platform *ret_platform,
                           struct hutch_error *err)
{
    if (options && options->platform)
        return platform_parse(options->platform, ret_platform, err);
    platform_here(ret_platform);
    return 0;
}

static int write_config(const struct composition *composition, const struct platform *platform,
                        char **ret_text, size_t *ret_length, struct hutch_error *err)
{
    struct hutch_buf buf = HUTCH_BUF(CONFIG_MAX_BYTES);
    struct hutch_json_out out = {.buf = &buf};
    char created[CLOCK_TEXT_BYTES];
    clock_text(created);
    hutch_json_open(&out, NULL, '{');
    hutch_json_string(&out, "created", created);
    hutch_json_string(&out, "architecture", platform->architecture);
    if (platform->variant[0])
        hutch_json_string(&out, "variant", platform->variant);
    hutch_json_string(&out, "os", platform->os);
    hutch_json_open(&out, "config", '{');
    hutch_json_close(&out, '}');
    hutch_json_open(&out, "rootfs", '{');
    hutch_json_string(&out, "type", "layers");
    hutch_json_open(&out, "diff_ids", '[');
    for (size_t i = 0; i < composition->diff_ids.count; i++)
        hutch_json_string(&out, NULL, composition->diff_ids.items[i]);
    hutch_json_close(&out, ']');
    hutch_json_close(&out, '}');
    hutch_json_open(&out, "history", '[');
    hutch_json_open(&out, NULL, '{');
    hutch_json_string(&out, "created", created);
    hutch_json_string(&out, "created_by", "hutch image import");
    hutch_json_close(&out, '}');
    hutch_json_close(&out, ']');
    hutch_json_close(&out, '}');
    return hutch_buf_take(&buf, ret_text, ret_length, err);
}

/* ---- where it comes from --------------------------------------------------------------------- */

static int add_directory(struct composition *composition, int dir, struct hutch_error *err)
{
    const struct layer_pack_options options = {.dir = dir, .map_owner = layer_owners_here()};
    struct pack_stream *stream = NULL;
    if (pack_stream_new(&options, &stream, err) < 0)
        return -(int)err->code;
    const struct compose_source source = {.read = pack_stream_read, .context = stream};
    int status = compose_add(composition, &source, err);
    pack_stream_free(stream);
    return status;
}

static int add_archive(struct composition *composition, int fd, struct hutch_error *err)
{
    struct expand *expand = NULL;
    if (expand_new(fd, &expand, err) < 0)
        return -(int)err->code;
    const struct compose_source source = {.read = expand_read, .context = expand};
    int status = compose_add(composition, &source, err);
    expand_free(expand);
    return status;
}

static int add_root(struct composition *composition, const char *path, struct hutch_error *err)
{
    struct stat info;
    hutch_autofd int fd = !strcmp(path, "-") ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                             : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) < 0)
        return hutch_fail_errno(err, errno, "open '%.200s'", path);
    int status = S_ISDIR(info.st_mode) ? add_directory(composition, fd, err)
                                       : add_archive(composition, fd, err);
    return status < 0 ? hutch_wrap(err, "import '%.200s': ", path) : 0;
}

static int compose_root(struct composition *composition, const char *path, const char *reference,
                        const struct platform *platform, struct hutch_error *err)
{
    hutch_cleanup(image_done) struct image image = IMAGE_INIT;
    hutch_autofree char *config = NULL;
    struct compose_texts texts = {0};
    if (add_root(composition, path, err) < 0 ||
        write_config(composition, platform, &config, &texts.config_length, err) < 0)
        return -(int)err->code;
    texts.config = config;
    if (compose_finish(composition, &texts, &image, err) < 0)
        return -(int)err->code;
    return compose_name(composition, &image, reference, err);
}

int import_root(const struct image_store *store, const char *path, const char *reference,
                const struct hutch_image_options *options, struct hutch_error *err)
{
    struct composition *composition = NULL;
    struct image_reference parsed;
    struct platform platform;
    /* before any work: a name that cannot be given */
    if (image_reference_parse(reference, &parsed, err) < 0 ||
        wanted_platform(options, &platform, err) < 0 ||
        compose_begin(store, options, &composition, err) < 0)
        return -(int)err->code;
    int status = compose_root(composition, path, reference, &platform, err);
    compose_free(composition);
    return status;
}
