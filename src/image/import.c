/* SPDX-License-Identifier: Apache-2.0 */
#include "image/import.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "image/compose.h"
#include "image/expand.h"
#include "util/json_out.h"
#include "util/own.h"

#define CREATED_BYTES 32

static void now(char ret_text[CREATED_BYTES])
{
    struct timespec time;
    struct tm fields;
    (void)clock_gettime(CLOCK_REALTIME, &time);
    if (!gmtime_r(&time.tv_sec, &fields) ||
        !strftime(ret_text, CREATED_BYTES, "%Y-%m-%dT%H:%M:%SZ", &fields))
        ret_text[0] = '\0';
}

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
    char created[CREATED_BYTES];
    now(created);
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
    if (S_ISDIR(info.st_mode))
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0, "import '%.200s': it is a directory", path);
    int status = add_archive(composition, fd, err);
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
