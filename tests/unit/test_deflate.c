/* SPDX-License-Identifier: Apache-2.0 */
/* The same archive gives the same gzip file, wherever in memory the compressor lies: a layer is
 * known by the digest of that file. The linker's --wrap lets the test choose the place. */
#include "unit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/deflate.h"
#include "image/inflate.h"
#include "util/own.h"

/* What igzip makes of an address are 13 bits of a checksum of all above the lowest 16. So many
 * places, and a beginning that is a multiple of them, give all that can come of it. */
#define PLACE_BYTES ((size_t)64 << 10)
#define PLACES ((size_t)32768)
#define STATE_BYTES ((size_t)4 << 20)

static char *place;
static size_t place_used;
static size_t places_taken;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    if (!place || place_used || size < PLACE_BYTES)
        return __real_calloc(count, size);
    assert_true(count == 1 && size <= STATE_BYTES);
    place_used = size;
    places_taken++;
    return place;
}

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory)
{
    if (!place || memory != place) {
        __real_free(memory);
        return;
    }
    assert_int_equal(madvise(place, place_used, MADV_DONTNEED), 0); /* zeros for the next one */
    place_used = 0;
}

static void compress(int fd, const void *data, size_t length, struct layer_packed *ret_packed)
{
    struct hutch_error err;
    struct deflate *deflate = NULL;
    assert_fine(deflate_new(fd, &deflate, &err), &err);
    assert_int_equal(deflate_write(deflate, data, length), 0);
    assert_fine(deflate_finish(deflate, ret_packed, &err), &err);
    assert_int_equal(ret_packed->bytes, length);
    deflate_free(deflate);
}

static void the_place_in_memory_does_not_matter(void **state)
{
    static const char archive[4096] = {'.', '/', [1536] = '.', '/'};
    const size_t all = PLACES * PLACE_BYTES;
    struct layer_packed first, other;
    hutch_autofd int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    char *memory = mmap(NULL, 2 * all + STATE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    (void)state;
    assert_ptr_not_equal(memory, MAP_FAILED);
    compress(fd, archive, sizeof(archive), &first);
    char *begin = memory + (all - (uintptr_t)memory % all);
    for (size_t i = 0; i < PLACES; i++) {
        place = begin + i * PLACE_BYTES;
        compress(fd, archive, sizeof(archive), &other);
        assert_int_equal(place_used, 0);
        assert_int_equal(places_taken, i + 1);
        assert_string_equal(other.digest, first.digest);
    }
    place = NULL;
    assert_int_equal(munmap(memory, 2 * all + STATE_BYTES), 0);
}

static ssize_t read_file(void *context, void *buffer, size_t size, struct hutch_error *err)
{
    (void)err;
    return read(*(int *)context, buffer, size);
}

static void any_length_comes_back(void **state)
{
    static const size_t lengths[] = {0, 1, 3, 4, 15, 16, 17, 18, 32, 33, 512, 262160, 262161};
    static char data[262161], seen[sizeof(data) + 1];
    (void)state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i * i >> 7);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct hutch_error err;
        struct layer_packed packed;
        struct inflate *inflate = NULL;
        hutch_autofd int fd = memfd_create("gzip", MFD_CLOEXEC);
        compress(fd, data, lengths[i], &packed);
        assert_int_equal(lseek(fd, 0, SEEK_END), packed.size);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_fine(inflate_new(read_file, &fd, &inflate, &err), &err);
        assert_int_equal(inflate_fill(inflate, seen, sizeof(seen), &err), lengths[i]);
        assert_memory_equal(seen, data, lengths[i]);
        inflate_free(inflate);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_place_in_memory_does_not_matter),
        cmocka_unit_test(any_length_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
