/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever an engine says about a build: its lines have no ends in them, why it failed is one
 * sentence, and both are the same in whichever pieces it comes. */
#include "fuzz.h"

#include "backend/docker/build_log.h"

struct seen {
    uint64_t sum; /* of all that was heard, in its order */
    char problem[320];
};

static void hear(void *context, const char *line)
{
    struct seen *seen = context;
    REQUIRE(*line && strlen(line) < BUILD_LINE_MAX_BYTES, "an empty or endless line");
    for (; *line; line++) {
        REQUIRE(*line != '\n' && *line != '\r', "a line with an end in it");
        seen->sum = seen->sum * 31 + (unsigned char)*line;
    }
    seen->sum = seen->sum * 31 + '\n';
}

static void feed(const uint8_t *data, size_t size, size_t piece, struct seen *seen)
{
    struct docker_build_log log;
    docker_build_log_begin(&log, hear, seen);
    for (size_t at = 0; at < size; at += piece) {
        size_t length = size - at < piece ? size - at : piece;
        if (docker_progress_feed(&log.progress, data + at, length) < 0)
            break;
    }
    docker_build_log_end(&log);
    memcpy(seen->problem, log.problem, sizeof(seen->problem));
    for (const char *at = log.problem; *at; at++)
        REQUIRE((unsigned char)*at >= ' ', "a control character");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen whole = {0}, bytes = {0};
    feed(data, size, size ? size : 1, &whole);
    feed(data, size, 1, &bytes);
    REQUIRE(whole.sum == bytes.sum && !strcmp(whole.problem, bytes.problem),
            "what is said depends on its pieces");
    return 0;
}
