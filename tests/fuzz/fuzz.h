/* SPDX-License-Identifier: Apache-2.0 */
/* What the targets share. A property that does not hold aborts, which libFuzzer and the replay both
 * report as a crash. */
#ifndef HUTCH_TESTS_FUZZ_H
#define HUTCH_TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec.h"
#include "util/own.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition, ...)                                    \
    do {                                                           \
        if (!(condition)) {                                        \
            (void)fprintf(stderr, __VA_ARGS__);                    \
            (void)fprintf(stderr, "\nrequired: %s\n", #condition); \
            abort();                                               \
        }                                                          \
    } while (0)

static inline struct hutch_spec *fuzz_spec_new(void)
{
    struct hutch_spec *spec = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    int r = hutch_spec_new(&spec, &err);
    REQUIRE(r == 0, "%s", err.msg);
    return spec;
}

/* The data as a C string of its own, so that reading past its end is seen. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    REQUIRE(text, "out of memory");
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* A failure has its code, and one sentence that says something. */
static inline void fuzz_check_failure(int r, const struct hutch_error *err)
{
    REQUIRE(r == -HUTCH_E_INVALID && err->code == HUTCH_E_INVALID, "%d: %s", r, err->msg);
    REQUIRE(strlen(err->msg) > 10, "'%s'", err->msg);
}

/* What is written is read back and then written the same again. */
static inline void fuzz_check_round_trip(const struct hutch_spec *spec, const char *json,
                                         enum hutch_format format)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *again = fuzz_spec_new();
    hutch_autofree char *json_again = NULL;
    int r = hutch_spec_parse(again, json, strlen(json), format, &err);
    REQUIRE(r == 0, "%s\n%s", err.msg, json);
    r = hutch_spec_to_json(again, &json_again, &err);
    REQUIRE(r == 0, "%s\n%s", err.msg, json);
    REQUIRE(!strcmp(json, json_again), "%s\n%s", json, json_again);
    REQUIRE(hutch_spec_validate(spec, &err) == hutch_spec_validate(again, &err), "%s", json);
    hutch_spec_free(again);
}

/* What was given is written, read back as given, and nothing else is. */
static inline void fuzz_check_set_fields(const struct hutch_spec *spec)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *again = fuzz_spec_new();
    hutch_autofree char *json = NULL;
    hutch_autofree char *json_again = NULL;
    int r = hutch_spec_to_json_set(spec, &json, &err);
    REQUIRE(r == 0, "%s", err.msg);
    r = hutch_spec_parse(again, json, strlen(json), HUTCH_FORMAT_JSON, &err);
    REQUIRE(r == 0, "%s\n%s", err.msg, json);
    REQUIRE(again->set_fields == spec->set_fields, "%s", json);
    r = hutch_spec_to_json_set(again, &json_again, &err);
    REQUIRE(r == 0 && !strcmp(json, json_again), "%s\n%s", json, json_again);
    hutch_spec_free(again);
}

/* JSON is YAML as well, but for what YAML does not let stand unescaped in a text, and for keys
 * beyond 1024 bytes. */
static inline bool fuzz_is_yaml_too(const char *json)
{
    size_t length = 0;
    while (json[length] >= ' ' && json[length] <= '~')
        length++;
    return !json[length] && length < 1500;
}

/* Reads a document and checks what holds of it whatever it is. */
static inline void fuzz_document(const uint8_t *data, size_t size, enum hutch_format format)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = fuzz_spec_new();
    hutch_autofree char *text = fuzz_text(data, size);
    hutch_autofree char *json = NULL;
    int parsed = hutch_spec_parse(spec, text, size, format, &err);
    if (parsed < 0)
        fuzz_check_failure(parsed, &err);
    /* Also what was read of a document that is wrong further down is whole, and it is UTF-8. */
    int r = hutch_spec_to_json(spec, &json, &err);
    REQUIRE(r == 0, "%s", err.msg);
    fuzz_check_round_trip(spec, json, HUTCH_FORMAT_JSON);
    if (fuzz_is_yaml_too(json))
        fuzz_check_round_trip(spec, json, HUTCH_FORMAT_YAML);
    fuzz_check_set_fields(spec);
    hutch_spec_free(spec);
}

#endif
