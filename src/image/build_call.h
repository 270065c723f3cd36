/* SPDX-License-Identifier: Apache-2.0 */
/* One call of buildah: its words, its surroundings, what it says when it gives up. */
#ifndef HUTCH_IMAGE_BUILD_CALL_H
#define HUTCH_IMAGE_BUILD_CALL_H

#include "image/build.h"
#include "image/build_step.h"
#include "util/strlist.h"

/* One build, while it goes on. */
struct build {
    const struct build_request *request;
    const char *buildah;
    const struct build_place *place;
    struct build_step step; /* the last one that was announced */
    char problem[320];      /* what buildah said last about why it gives up */
};

/* The words of a call. One that could not be added makes the call fail, so that only that is
 * checked. */
struct build_words {
    struct hutch_strlist list;
    bool failed;
};

void build_words_done(struct build_words *words);
void build_words_add(struct build_words *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "buildah" and where it works. */
void build_words_begin(const struct build *build, struct build_words *words);

int build_call(struct build *build, const struct build_words *words, build_line_fn *on_line,
               int *ret_status, struct hutch_error *err) HUTCH_MUST_CHECK;
/* Keeps the words that tell why it gives up. */
void build_hear_problem(struct build *build, const char *line);
/* A build_line_fn that does nothing else; the context is the build. */
void build_hear_quietly(void *context, const char *line);
/* Why it gave up. */
const char *build_cause(const struct build *build);

/* build_base.c: images of the store that the Dockerfile asks for by name are given to buildah,
 * which knows nothing of that store and would look for them in registries. */
int build_give_bases(struct build *build, const char *dockerfile,
                     struct hutch_error *err) HUTCH_MUST_CHECK;

#endif
