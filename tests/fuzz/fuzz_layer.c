/* SPDX-License-Identifier: Apache-2.0 */
/* The input is a layer, compressed or not, but for its first byte: how many bytes come at once, and
 * whether right checksums are put into all blocks. It is unpacked beneath a directory of its own in
 * memory, with ceilings; nothing may appear beside that. What was taken is packed, unpacked and
 * packed again, and both archives are the same. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "fuzz_tar.h"
#include "image/layer.h"
#include "util/remove_tree.h"

#define MAX_BYTES (4 << 20)
#define MAX_ENTRIES 64

struct input {
    const uint8_t *data;
    size_t left;
    size_t at_once;
};

static ssize_t read_input(void *context, void *buffer, size_t size, struct hutch_error *err)
{
    struct input *input = context;
    (void)err;
    size_t length = input->left < size ? input->left : size;
    length = length < input->at_once ? length : input->at_once;
    memcpy(buffer, input->data, length);
    input->data += length;
    input->left -= length;
    return (ssize_t)length;
}

static ssize_t read_file(void *context, void *buffer, size_t size, struct hutch_error *err)
{
    (void)err;
    return read(*(int *)context, buffer, size);
}

static int open_new(int place, const char *name)
{
    REQUIRE(mkdirat(place, name, 0700) == 0, "cannot make '%s'", name);
    int fd = openat(place, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(fd >= 0, "cannot open '%s'", name);
    return fd;
}

/* What was counted on the way is what is there. */
static void check_sum(int dir, const struct tree_sum *sum)
{
    struct tree_sum found;
    REQUIRE(tree_sum(dir, ".", &found) == 0, "cannot look through the tree");
    REQUIRE(found.entries == sum->entries && found.bytes == sum->bytes,
            "%llu entries, %llu bytes and not %llu, %llu", (unsigned long long)found.entries,
            (unsigned long long)found.bytes, (unsigned long long)sum->entries,
            (unsigned long long)sum->bytes);
}

static bool unpack(int dir, layer_source *source, void *context)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct layer_result result = {0};
    const struct layer_options options = {.dir = dir,
                                          .source = source,
                                          .context = context,
                                          .max_bytes = MAX_BYTES,
                                          .max_entries = MAX_ENTRIES};
    int status = layer_unpack(&options, &result, &err);
    REQUIRE(status == 0 || strlen(err.msg) > 10, "%d '%s'", status, err.msg);
    for (const char *at = err.msg; *at; at++)
        REQUIRE((unsigned char)*at >= ' ', "'%s'", err.msg);
    REQUIRE(status < 0 || image_digest_is_valid(result.diff_id), "'%s'", result.diff_id);
    if (status == 0 && layer_known_sum(&result))
        check_sum(dir, layer_known_sum(&result));
    layer_result_done(&result);
    return status == 0;
}

static int pack(int place, int dir, struct layer_packed *ret_packed)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    int file = openat(place, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    const struct layer_pack_options options = {.dir = dir, .out_fd = file, .is_overlay = true};
    REQUIRE(file >= 0, "cannot make a file");
    int status = layer_pack(&options, ret_packed, &err);
    REQUIRE(status == 0, "%s", err.msg);
    REQUIRE(lseek(file, 0, SEEK_SET) == 0, "lseek");
    return file;
}

static void check_round_trip(int place, int dir)
{
    struct layer_packed one, other;
    hutch_autofd int file = pack(place, dir, &one);
    hutch_autofd int second = open_new(place, "second");
    REQUIRE(unpack(second, read_file, &file), "what was packed is refused");
    hutch_autofd int again = pack(place, second, &other);
    REQUIRE(again >= 0 && strcmp(one.digest, other.digest) == 0 && one.left_out == 0,
            "%s %s, uncompressed %s %s", one.digest, other.digest, one.diff_id, other.diff_id);
    REQUIRE(remove_tree(place, "second") == 0, "cannot remove it");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t at_once[] = {SIZE_MAX, 1, 7, 512};
    char path[] = "/dev/shm/hutch-fuzz-layer-XXXXXX";
    if (size < 1)
        return 0;
    REQUIRE(mkdtemp(path), "cannot make '%s'", path);
    hutch_autofd int place = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    hutch_autofree uint8_t *bytes = malloc(size);
    REQUIRE(place >= 0 && bytes, "cannot begin");
    memcpy(bytes, data + 1, size - 1);
    if (data[0] & 32)
        fuzz_put_checksums(bytes, size - 1);
    struct input input = {bytes, size - 1, at_once[data[0] & 3]};
    hutch_autofd int first = open_new(place, "first");
    if (unpack(first, read_input, &input))
        check_round_trip(place, first);
    REQUIRE(remove_tree(place, "first") == 0, "the target cannot be removed");
    REQUIRE(rmdir(path) == 0, "'%s' is not empty", path);
    return 0;
}
