/* SPDX-License-Identifier: Apache-2.0 */
/* Which image of an index fits a platform. */
#include <stdlib.h>
#include <string.h>

#include "image/manifest.h"
#include "util/buf.h"
#include "util/own.h"

/* What an architecture is when nothing more is said of it. */
static const struct {
    const char *architecture;
    const char *variant;
} usual_variants[] = {{"amd64", "v1"}, {"arm64", "v8"}, {"arm", "v7"}};

static const char *variant_of(const struct platform *platform)
{
    if (platform->variant[0])
        return platform->variant;
    for (size_t i = 0; i < HUTCH_COUNT(usual_variants); i++)
        if (!strcmp(platform->architecture, usual_variants[i].architecture))
            return usual_variants[i].variant;
    return "";
}

/* "v8" is 8; 0 when it is no such number. */
static long variant_level(const char *variant)
{
    return variant[0] == 'v' ? strtol(variant + 1, NULL, 10) : 0;
}

/* How well an image runs there: 0 not at all, more is better. A processor runs what was made for
 * the lower levels of its family. */
static long fitness(const struct platform *image, const struct platform *wanted)
{
    if (!image->os[0] && !image->architecture[0])
        return 1; /* of an image that does not say, its configuration does */
    if (strcmp(image->os, wanted->os) != 0 ||
        strcmp(image->architecture, wanted->architecture) != 0)
        return 0;
    const char *variant = variant_of(image), *wanted_variant = variant_of(wanted);
    if (!strcmp(variant, wanted_variant))
        return 1000;
    long level = variant_level(variant), ceiling = variant_level(wanted_variant);
    return level > 0 && level < ceiling ? 1 + level : 0;
}

static void put_platform(struct hutch_buf *buf, const struct platform *platform)
{
    hutch_buf_printf(buf, "%s%s/%s%s%s", buf->length ? ", " : "", platform->os,
                     platform->architecture, platform->variant[0] ? "/" : "", platform->variant);
}

static int fail_none_fits(const struct manifest *index, const struct platform *platform,
                          struct hutch_error *err)
{
    hutch_cleanup(hutch_buf_done) struct hutch_buf names = HUTCH_BUF(300);
    hutch_cleanup(hutch_buf_done) struct hutch_buf wanted = HUTCH_BUF(120);
    put_platform(&wanted, platform);
    /* Attestations that builders add are entered as for the platform "unknown". */
    for (size_t i = 0; i < index->entry_count; i++)
        if (strcmp(index->platforms[i].os, "unknown") != 0)
            put_platform(&names, &index->platforms[i]);
    return hutch_fail(err, HUTCH_E_NOT_FOUND, 0, "there is no image for %s, only for: %s%s",
                      wanted.data ? wanted.data : "this platform",
                      names.length ? names.data : "nothing", names.failed ? ", ..." : "");
}

int manifest_choose(const struct manifest *index, const struct platform *platform,
                    const struct descriptor **ret_entry, struct hutch_error *err)
{
    const struct descriptor *best = NULL;
    long best_fitness = 0;
    for (size_t i = 0; i < index->entry_count; i++) {
        long fits = fitness(&index->platforms[i], platform);
        if (fits > best_fitness) {
            best_fitness = fits;
            best = &index->entries[i];
        }
    }
    if (!best)
        return fail_none_fits(index, platform, err);
    *ret_entry = best;
    return 0;
}

int platform_check(const struct platform *image, const struct platform *wanted,
                   struct hutch_error *err)
{
    if (fitness(image, wanted) > 0)
        return 0;
    return hutch_fail(err, HUTCH_E_NOT_FOUND, 0,
                      "the image is for %s/%s and not for %s/%s, ask for it with '--platform "
                      "%s/%s%s%s'",
                      image->os, image->architecture, wanted->os, wanted->architecture, image->os,
                      image->architecture, image->variant[0] ? "/" : "", image->variant);
}
