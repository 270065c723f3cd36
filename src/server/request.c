/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "hutch/named.h"
#include "server/body.h"
#include "server/server.h"
#include "server/text.h"
#include "server/util.h"

/* ---- what a tenant may have of the host ------------------------------------------------------ */

/* Fields by which something of the daemon's host gets inside, and the rules of the policy that say
 * what. Whoever runs the daemon may use them as on the command line; others only as far as such a
 * rule is there for them. */
static const struct {
    const char *field;
    const char *rule; /* the beginning of its name */
} places[] = {
    {"workspace", "mounts."}, {"mounts", "mounts."},    {"rootfs", "mounts."},
    {"artifacts", "mounts."}, {"env_files", "mounts."}, {"secrets", "secrets"},
};

struct rule_search {
    const char *prefix;
    bool is_found;
};

static int look_for_rule(void *userdata, const struct hutch_policy_rule *rule)
{
    struct rule_search *search = userdata;
    search->is_found = !strncmp(rule->name, search->prefix, strlen(search->prefix)) &&
                       strcmp(rule->from, "hutch") != 0;
    return search->is_found;
}

static bool has_rule(const struct api_call *call, const char *prefix)
{
    struct rule_search search = {prefix, false};
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    (void)!hutch_policy_show(api_server(call)->policy, api_who(call)->tenant, look_for_rule,
                             &search, &ignored);
    return search.is_found;
}

static int fail_place(const char *what, const char *rule, struct hutch_error *err)
{
    return server_fail(err, HUTCH_E_PERMISSION,
                       "%s: a tenant has nothing of the daemon's host unless the policy has a rule "
                       "'%s' for it; ask whoever runs the daemon for one, or leave it out",
                       what, !strcmp(rule, "mounts.") ? "mounts" : rule);
}

int request_check_places(const struct api_call *call, const char *what, struct hutch_error *err)
{
    if (!api_who(call)->tenant || has_rule(call, "mounts."))
        return 0;
    return fail_place(what, "mounts.", err);
}

static bool is_given(const json_t *value)
{
    bool is_empty = !value || json_is_null(value) ||
                    (json_is_array(value) && !json_array_size(value)) ||
                    (json_is_object(value) && !json_object_size(value));
    return !is_empty;
}

static int check_host(const struct api_call *call, const json_t *body, struct hutch_error *err)
{
    if (is_given(json_object_get(body, "pass_env")))
        return server_fail(err, HUTCH_E_INVALID,
                           "pass_env: the environment here is the daemon's, not the caller's; give "
                           "the variables with their values in 'env'");
    for (size_t i = 0; api_who(call)->tenant && i < SERVER_COUNT(places); i++)
        if (is_given(json_object_get(body, places[i].field)) && !has_rule(call, places[i].rule))
            return fail_place(places[i].field, places[i].rule, err);
    return 0;
}

/* Labels by which the daemon itself knows sandboxes are not for those who ask it. */
static int check_labels(const json_t *body, struct hutch_error *err)
{
    const char *key;
    json_t *value;
    json_t *labels = json_object_get(body, "labels");
    json_object_foreach(labels, key, value) if (!strncmp(key, "hutch.", 6)) return server_fail(
        err, HUTCH_E_INVALID,
        "labels: '%.60s' is one of hutch's own, which begin with 'hutch.'; "
        "choose another name",
        key);
    size_t index;
    json_array_foreach(
        labels, index,
        value) if (json_is_string(value) &&
                   !strncmp(json_string_value(value), "hutch.",
                            6)) return server_fail(err, HUTCH_E_INVALID,
                                                   "labels: '%.60s' is one of hutch's own, which "
                                                   "begin with 'hutch.'; "
                                                   "choose another name",
                                                   json_string_value(value));
    return 0;
}

/* ---- limits by the names that people know ---------------------------------------------------- */

static const struct {
    const char *field;
    const char *limit; /* in "limits" */
} known_limits[] = {{"memory_limit", "memory"}, {"cpu_limit", "cpus"}};

static int limit_text(const json_t *body, const char *field, char ret_text[64],
                      struct hutch_error *err)
{
    const json_t *value = json_object_get(body, field);
    int length = 0;
    ret_text[0] = '\0';
    if (json_is_string(value) && json_string_length(value) > 0)
        length = snprintf(ret_text, 64, "%s", json_string_value(value));
    else if (json_is_integer(value))
        length = snprintf(ret_text, 64, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        length = snprintf(ret_text, 64, "%.12g", json_real_value(value));
    else if (value && !json_is_null(value))
        length = 64;
    if (length < 64)
        return 0;
    ret_text[0] = '\0';
    return server_fail(err, HUTCH_E_INVALID, "%s: write it like \"1g\", \"1.5\" or as a number",
                       field);
}

static int set_known_limits(struct hutch_spec *spec, const json_t *body, struct hutch_error *err)
{
    const json_t *limits = json_object_get(body, "limits");
    for (size_t i = 0; i < SERVER_COUNT(known_limits); i++) {
        char text[64], path[32];
        if (limit_text(body, known_limits[i].field, text, err) < 0)
            return -(int)err->code;
        if (!*text)
            continue;
        if (is_given(json_object_get(limits, known_limits[i].limit)))
            return server_fail(err, HUTCH_E_INVALID,
                               "%s and limits.%s are the same: give one of them",
                               known_limits[i].field, known_limits[i].limit);
        (void)snprintf(path, sizeof(path), "limits.%s", known_limits[i].limit);
        if (hutch_spec_set(spec, path, text, err) < 0)
            return -(int)err->code;
    }
    return 0;
}

/* ---- the spec -------------------------------------------------------------------------------- */

/* A body is one line to the reader, and its place is in no file of the caller's. */
static void drop_line(struct hutch_error *err)
{
    unsigned line;
    int used = 0;
    if (sscanf(err->msg, "line %u: %n", &line, &used) == 1 && used)
        memmove(err->msg, err->msg + used, strlen(err->msg + used) + 1);
}

static int read_fields(struct hutch_spec *spec, const json_t *body, const struct api_field *fields,
                       struct hutch_error *err)
{
    server_autofree char *text = NULL;
    if (!body)
        return 0;
    if (body_spec_text(body, fields, &text, err) < 0)
        return -(int)err->code;
    int status = hutch_spec_parse(spec, text, strlen(text), HUTCH_FORMAT_JSON, err);
    if (status < 0)
        drop_line(err);
    return status;
}

/* Its image is built when everything is read: the body may name another backend. */
static int apply_template(struct hutch_spec *spec, const json_t *body, struct hutch_error *err)
{
    const char *name = json_string_value(json_object_get(body, "template"));
    struct hutch_named_options options = HUTCH_NAMED_OPTIONS_INIT;
    options.no_build = true;
    return name ? hutch_named_apply(spec, name, &options, err) : 0;
}

static int build_template(struct hutch_spec *spec, const json_t *body, struct hutch_error *err)
{
    const char *name = json_string_value(json_object_get(body, "template"));
    return name ? hutch_named_build(spec, name, NULL, err) : 0;
}

static int fill(const struct api_call *call, const json_t *body, const struct api_field *fields,
                struct hutch_spec *spec, struct hutch_error *err)
{
    if (check_host(call, body, err) < 0 || check_labels(body, err) < 0 ||
        apply_template(spec, body, err) < 0 || read_fields(spec, body, fields, err) < 0)
        return -(int)err->code;
    hutch_spec_use_policy(spec, api_server(call)->policy, api_who(call)->tenant);
    if (set_known_limits(spec, body, err) < 0)
        return -(int)err->code;
    return build_template(spec, body, err);
}

int request_spec(const struct api_call *call, const json_t *body, const struct api_field *fields,
                 struct hutch_spec **ret_spec, struct hutch_error *err)
{
    struct hutch_spec *spec = NULL;
    if (hutch_spec_new(&spec, err) < 0)
        return -(int)err->code;
    if (fill(call, body, fields, spec, err) < 0) {
        hutch_spec_free(spec);
        return -(int)err->code;
    }
    *ret_spec = spec;
    return 0;
}

int request_check_stream(const struct api_call *call, struct hutch_error *err)
{
    const char *asked = api_query(call, "stream");
    if (!asked || !strcmp(asked, "sse") || !strcmp(asked, "ndjson"))
        return 0;
    return server_fail(err, HUTCH_E_INVALID,
                       "stream: '%.40s' is unknown; write 'sse' or 'ndjson', or leave it out",
                       asked);
}

/* ---- what a command reads -------------------------------------------------------------------- */

static int decode(const json_t *body, const json_t *value, char **ret_bytes, size_t *ret_length,
                  struct hutch_error *err)
{
    const char *encoding = json_string_value(json_object_get(body, "stdin_encoding"));
    if (!encoding || !strcmp(encoding, "text"))
        return 0;
    if (strcmp(encoding, "base64") != 0)
        return server_fail(err, HUTCH_E_INVALID,
                           "stdin_encoding: '%.40s' is unknown; write 'base64' or leave it out",
                           encoding);
    if (!text_from_base64(json_string_value(value), json_string_length(value), ret_bytes,
                          ret_length))
        return server_fail(err, HUTCH_E_INVALID, "stdin: it is not base64 as stdin_encoding says");
    return 0;
}

int request_stdin(const json_t *body, int *ret_fd, struct hutch_error *err)
{
    const json_t *value = json_object_get(body, "stdin");
    server_autofree char *decoded = NULL;
    size_t length = json_string_length(value);
    if (!json_is_string(value))
        return json_object_get(body, "stdin_encoding") && !value
                   ? server_fail(err, HUTCH_E_INVALID,
                                 "stdin_encoding: there is no stdin beside it")
                   : 0;
    if (decode(body, value, &decoded, &length, err) < 0)
        return -(int)err->code;
    int fd = memfd_create("stdin", MFD_CLOEXEC);
    if (fd < 0 || server_write_all(fd, decoded ? decoded : json_string_value(value), length) < 0 ||
        lseek(fd, 0, SEEK_SET) < 0) {
        (void)server_fail_errno(err, "keep what the command reads");
        server_closep(&fd);
        return -(int)err->code;
    }
    *ret_fd = fd;
    return 0;
}
