/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte of each line chooses a field, the rest of the line is its text, as it comes from
 * the command line: any bytes, not only UTF-8. */
#include "fuzz.h"

#include "util/json_out.h"

static const char *const fields[] = {"workspace", "mounts", "tmpfs", "artifacts", "workdir",
                                     "user",      "name",   "env",   "hostname"};

static void set_from_line(struct hutch_spec *spec, const char *line)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    if (!*line)
        return;
    const char *field = fields[(unsigned char)*line % HUTCH_COUNT(fields)];
    int r = hutch_spec_set(spec, field, line + 1, &err);
    if (r < 0)
        fuzz_check_failure(r, &err);
}

static void check_parsed_target(const char *target)
{
    size_t length = strlen(target);
    REQUIRE(target[0] == '/', "'%s'", target);
    REQUIRE(length == 1 || target[length - 1] != '/', "'%s'", target);
}

/* A target that passed validation, judged once more in another way. */
static void check_valid_target(const char *target)
{
    static const char *const forbidden[] = {"//", "/./", "/../"};
    hutch_autofree char *closed = NULL;
    REQUIRE(asprintf(&closed, "%s/", target) > 0, "out of memory");
    for (size_t i = 0; i < HUTCH_COUNT(forbidden); i++)
        REQUIRE(!strstr(closed, forbidden[i]), "'%s'", target);
    REQUIRE(strncmp(closed, "/proc/", 6) != 0, "'%s'", target);
    REQUIRE(strncmp(closed, "/dev/", 5) != 0, "'%s'", target);
    REQUIRE(strncmp(closed, "/sys/", 5) != 0, "'%s'", target);
}

static void check_spec(const struct hutch_spec *spec)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    bool valid = hutch_spec_validate(spec, &err) == 0;
    for (size_t i = 0; i < spec->mounts.count; i++) {
        REQUIRE(*spec->mounts.items[i].source, "a mount without a source");
        check_parsed_target(spec->mounts.items[i].target);
        if (valid)
            check_valid_target(spec->mounts.items[i].target);
    }
    for (size_t i = 0; i < spec->tmpfs.count; i++) {
        REQUIRE(spec->tmpfs.items[i].size_bytes >= 4096, "a tmpfs without a limit");
        check_parsed_target(spec->tmpfs.items[i].target);
        if (valid)
            check_valid_target(spec->tmpfs.items[i].target);
    }
    if (spec->workdir)
        REQUIRE(strncmp(spec->workdir, "/proc/", 6) != 0, "'%s'", spec->workdir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = fuzz_spec_new();
    hutch_autofree char *text = fuzz_text(data, size);
    hutch_autofree char *json = NULL;
    char *rest = text;
    REQUIRE(hutch_spec_set(spec, "command", "true", &err) == 0, "%s", err.msg);
    for (char *line; (line = strsep(&rest, "\n"));)
        set_from_line(spec, line);
    check_spec(spec);
    int r = hutch_spec_to_json(spec, &json, &err);
    if (r < 0) {
        fuzz_check_failure(r, &err);
        REQUIRE(!hutch_utf8_valid((const char *)data, size), "%s", err.msg);
    } else {
        fuzz_check_round_trip(spec, json, HUTCH_FORMAT_JSON);
    }
    hutch_spec_free(spec);
    return 0;
}
