/* SPDX-License-Identifier: Apache-2.0 */
/* registrytool VERB ...: what the library says to a registry, for the tests that go beyond the
 * command line.
 *
 *     manifest REFERENCE             its digest, media type and size
 *     fetch REFERENCE DIR [SLOTS]    the blobs of an image into DIR/HEX; what is there is taken up
 * again login REGISTRY USER PASSWORD   logout REGISTRY load PATH NAME                 push
 * REFERENCE [TO]
 *
 * Failures are "CODE: sentence" on standard error. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hutch/image.h"
#include "image/credentials.h"
#include "image/hash.h"
#include "image/registry.h"
#include "util/fs.h"
#include "util/own.h"

enum { MOST_BLOBS = 64 };

struct target {
    struct descriptor blob;
    int fd;
    unsigned restarts;
};

static int write_piece(void *context, const void *data, size_t length, struct hutch_error *err)
{
    struct target *target = context;
    if (hutch_write_all(target->fd, data, length) < 0)
        return hutch_fail_errno(err, errno, "write");
    return 0;
}

static int begin_again(void *context, struct hutch_error *err)
{
    struct target *target = context;
    target->restarts++;
    if (ftruncate(target->fd, 0) < 0 || lseek(target->fd, 0, SEEK_SET) < 0)
        return hutch_fail_errno(err, errno, "truncate");
    return 0;
}

static int open_target(struct target *target, const char *dir, const struct descriptor *blob,
                       struct registry_get *get, struct hutch_error *err)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s", dir, IMAGE_DIGEST_HEX(blob->digest));
    *target = (struct target){.blob = *blob, .fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644)};
    off_t have = target->fd < 0 ? -1 : lseek(target->fd, 0, SEEK_END);
    if (have < 0)
        return hutch_fail_errno(err, errno, "open '%s'", path);
    *get = (struct registry_get){&target->blob, (uint64_t)have, begin_again, write_piece, target};
    return 0;
}

static int check_target(const struct target *target, struct hutch_error *err)
{
    static char chunk[65536];
    char digest[IMAGE_DIGEST_BYTES];
    struct hash *hash = hash_new();
    ssize_t got;
    for (off_t at = 0; (got = pread(target->fd, chunk, sizeof(chunk), at)) > 0; at += got)
        hash_add(hash, chunk, (size_t)got);
    int r = hash_finish(hash, digest, err);
    if (r == 0 && strcmp(digest, target->blob.digest) != 0)
        r = hutch_fail(err, HUTCH_E_INVALID, 0, "blob %s has the digest %s", target->blob.digest,
                       digest);
    return r;
}

static int fetch_blobs(struct registry *registry, const struct manifest *manifest, const char *dir,
                       unsigned slots, struct hutch_error *err)
{
    static struct target targets[MOST_BLOBS];
    static struct registry_get gets[MOST_BLOBS];
    size_t count = manifest->layer_count + 1;
    int r = count > MOST_BLOBS ? hutch_fail(err, HUTCH_E_INVALID, 0, "too many") : 0;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = open_target(&targets[i], dir, i ? &manifest->layers[i - 1] : &manifest->config,
                        &gets[i], err);
    if (r == 0)
        r = registry_get_blobs(registry, gets, count, slots, err);
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = check_target(&targets[i], err);
        if (r == 0)
            (void)printf("blob %s %" PRIu64 " restarts %u\n", targets[i].blob.digest,
                         targets[i].blob.size, targets[i].restarts);
    }
    for (size_t i = 0; i < count && i < MOST_BLOBS; i++)
        hutch_fd_close(&targets[i].fd);
    return r;
}

static int look(char **words, bool fetches, struct hutch_error *err)
{
    struct image_reference reference;
    struct registry *registry = NULL;
    struct manifest manifest = {0};
    hutch_autofree char *text = NULL;
    size_t length = 0;
    char type[128];
    char digest[IMAGE_DIGEST_BYTES];
    int r = image_reference_parse(words[0], &reference, err);
    if (r == 0)
        r = registry_open(&reference, REGISTRY_PULL, &registry, err);
    if (r == 0)
        r = registry_get_manifest(registry, *reference.digest ? reference.digest : reference.tag,
                                  &text, &length, type, digest, err);
    if (r == 0) {
        (void)printf("manifest %s %s %zu\n", digest, type, length);
        r = manifest_parse(text, length, type, &manifest, err);
    }
    if (r == 0 && fetches)
        r = fetch_blobs(registry, &manifest, words[1],
                        words[2] ? (unsigned)strtoul(words[2], NULL, 10) : 3, err);
    manifest_done(&manifest);
    registry_free(registry);
    return r;
}

static int verb_manifest(char **words, struct hutch_error *err)
{
    return look(words, false, err);
}

static int verb_fetch(char **words, struct hutch_error *err)
{
    return look(words, true, err);
}

static int verb_login(char **words, struct hutch_error *err)
{
    return hutch_image_login(words[0], words[1], words[2], err);
}

static int verb_logout(char **words, struct hutch_error *err)
{
    return hutch_image_logout(words[0], err);
}

static int verb_user(char **words, struct hutch_error *err)
{
    struct credentials found = {0};
    int r = credentials_find(words[0], &found, err);
    if (r == 0)
        (void)puts(found.user ? found.user : "nobody");
    credentials_done(&found);
    return r;
}

static int verb_load(char **words, struct hutch_error *err)
{
    return hutch_image_load(words[0], words[1], NULL, NULL, NULL, err);
}

static void on_progress(void *userdata, const struct hutch_image_progress *progress)
{
    (void)userdata;
    if (progress->done == progress->total)
        (void)printf("%s %s %" PRIu64 "\n", progress->action, progress->item, progress->total);
}

static int verb_push(char **words, struct hutch_error *err)
{
    struct hutch_image_options options = HUTCH_IMAGE_OPTIONS_INIT;
    options.on_progress = on_progress;
    return hutch_image_push(words[0], words[1], &options, err);
}

static const struct {
    const char *name;
    int least;
    int (*run)(char **words, struct hutch_error *err);
} verbs[] = {
    {"manifest", 1, verb_manifest}, {"fetch", 2, verb_fetch}, {"login", 3, verb_login},
    {"logout", 1, verb_logout},     {"user", 1, verb_user},   {"load", 2, verb_load},
    {"push", 1, verb_push},
};

int main(int argc, char **argv)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    for (size_t i = 0; i < HUTCH_COUNT(verbs); i++) {
        if (argc < 2 || strcmp(argv[1], verbs[i].name) != 0 || argc - 2 < verbs[i].least)
            continue;
        if (verbs[i].run(argv + 2, &err) == 0)
            return 0;
        (void)fprintf(stderr, "%s: %s\n", hutch_code_name(err.code), err.msg);
        return 1;
    }
    (void)fputs("usage: see the top of registrytool.c\n", stderr);
    return 2;
}
