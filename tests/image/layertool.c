/* SPDX-License-Identifier: Apache-2.0 */
/* layertool unpack [-om] [-b BYTES] [-e ENTRIES] DIR <layer
 *
 * tells diff id, bytes and implicit directories. -o keeps owners, -m tells the peak of memory in
 * KiB on standard error.
 *
 * layertool pack [-p] DIR >layer
 *
 * tells diff id, bytes, digest, size and what was left out on standard error. -p takes a plain
 * tree, no overlay's upper directory.
 *
 * A failure is told on standard error, and the exit status is 1. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "image/layer.h"
#include "util/fs.h"
#include "util/own.h"

static ssize_t read_input(void *context, void *buffer, size_t size, struct hutch_error *err)
{
    (void)context;
    ssize_t got = read(STDIN_FILENO, buffer, size);
    return got < 0 ? hutch_fail_errno(err, errno, "read") : got;
}

static int told(int status, const struct hutch_error *err)
{
    if (status < 0)
        (void)fprintf(stderr, "layertool: %s\n", err->msg);
    return status < 0;
}

/* What was counted on the way has to be what is there. */
static bool is_sum_right(int dir, const struct layer_result *result)
{
    const struct tree_sum *known = layer_known_sum(result);
    struct tree_sum found;
    return !known || (tree_sum(dir, ".", &found) == 0 && found.entries == known->entries &&
                      found.bytes == known->bytes);
}

static int unpack(struct layer_options *options)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct layer_result result;
    options->source = read_input;
    int status = layer_unpack(options, &result, &err);
    if (status < 0)
        return told(status, &err);
    (void)printf("%s %" PRIu64 "\n", result.diff_id, result.bytes);
    if (layer_known_sum(&result))
        (void)fprintf(stderr, "counted\n");
    for (size_t i = 0; i < result.implicit_dirs.count; i++)
        (void)printf("implicit %s\n", result.implicit_dirs.items[i]);
    bool is_right = is_sum_right(options->dir, &result);
    if (!is_right)
        (void)fprintf(stderr, "layertool: the layer holds something else than was counted\n");
    layer_result_done(&result);
    return !is_right;
}

/* The peak of our own memory: getrusage would count what we were before we were executed. */
static void tell_memory(void)
{
    hutch_autofree char *text = NULL;
    size_t length;
    if (hutch_read_file("/proc/self/status", 1 << 16, &text, &length, NULL) < 0)
        return;
    const char *line = strstr(text, "VmHWM:");
    (void)fprintf(stderr, "%ld\n", line ? strtol(line + 6, NULL, 10) : -1);
}

static int pack(int dir, bool is_plain)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct layer_packed packed;
    const struct layer_pack_options options = {
        .dir = dir, .out_fd = STDOUT_FILENO, .is_overlay = !is_plain};
    int status = layer_pack(&options, &packed, &err);
    if (status < 0)
        return told(status, &err);
    (void)fprintf(stderr, "%s %" PRIu64 " %s %" PRIu64 " %" PRIu64 "\n", packed.diff_id,
                  packed.bytes, packed.digest, packed.size, packed.left_out);
    return 0;
}

int main(int argc, char **argv)
{
    struct layer_options options = {.keeps_owners = false};
    bool is_plain = false;
    int option;
    if (argc < 3)
        return 2;
    optind = 2;
    while ((option = getopt(argc, argv, "ompb:e:")) != -1) {
        if (option == 'o')
            options.keeps_owners = true;
        else if (option == 'm')
            (void)atexit(tell_memory);
        else if (option == 'p')
            is_plain = true;
        else if (option == 'b')
            options.max_bytes = strtoull(optarg, NULL, 10);
        else if (option == 'e')
            options.max_entries = strtoull(optarg, NULL, 10);
        else
            return 2;
    }
    hutch_autofd int dir = open(argv[optind], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) {
        perror(argv[optind]);
        return 2;
    }
    options.dir = dir;
    if (strcmp(argv[1], "pack") == 0)
        return pack(dir, is_plain);
    return strcmp(argv[1], "unpack") == 0 ? unpack(&options) : 2;
}
