/* SPDX-License-Identifier: Apache-2.0 */
/* What the backend docker decides without an engine: where that is, which version is spoken, how
 * its streams are taken apart, and what a container is to be. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/docker/demux.h"
#include "backend/docker/endpoint.h"
#include "backend/docker/facts.h"
#include "backend/docker/plan.h"
#include "backend/docker/version.h"
#include "core/json_in.h"
#include "unit.h"
#include "util/own.h"
#include "util/remove_tree.h"

/* ---- streams ---- */

static const char two_streams[] = "\1\0\0\0\0\0\0\5hello"
                                  "\2\0\0\0\0\0\0\4oops"
                                  "\1\0\0\0\0\0\0\0"
                                  "\1\0\0\0\0\0\0\7, world"
                                  "\2\0\0\0\0\0\0\1!";
#define TWO_STREAMS (sizeof(two_streams) - 1)

/* In pieces of so many bytes, into room for so many. */
static void expect_streams(const size_t *cuts, size_t cut_count, size_t room)
{
    struct demux demux = {0};
    char out[64];
    size_t made = 0;
    size_t at = 0;
    for (size_t i = 0; i <= cut_count; i++) {
        size_t end = i < cut_count ? cuts[i] : TWO_STREAMS;
        while (at < end) {
            size_t used = 0;
            ptrdiff_t length =
                demux_feed(&demux, two_streams + at, end - at, &used, out + made, room);
            assert_true(length >= 0 && (size_t)length <= room);
            assert_true(used > 0);
            made += (size_t)length;
            at += used;
        }
    }
    assert_int_equal(made, 12);
    assert_memory_equal(out, "hello, world", 12);
    assert_string_equal(demux.errors, "oops!");
}

static void streams_are_told_apart_wherever_they_are_cut(void **state)
{
    (void)state;
    for (size_t one = 0; one <= TWO_STREAMS; one++)
        for (size_t two = one; two <= TWO_STREAMS; two++)
            for (size_t room = 1; room < 8; room++)
                expect_streams((const size_t[]){one, two}, 2, room);
}

static void every_byte_alone_gives_the_same(void **state)
{
    size_t cuts[TWO_STREAMS];
    (void)state;
    for (size_t i = 0; i < TWO_STREAMS; i++)
        cuts[i] = i + 1;
    expect_streams(cuts, TWO_STREAMS, 64);
}

static void what_is_no_frame_is_refused(void **state)
{
    static const char *const wrong[] = {"\3\0\0\0\0\0\0\1x", "\0\0\0\0\0\0\0\1x", "HTTP/1.1 4",
                                        "\1\0\1\0\0\0\0\1x"};
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(wrong); i++) {
        struct demux demux = {0};
        size_t used = 0;
        char out[16];
        assert_int_equal(demux_feed(&demux, wrong[i], 9, &used, out, sizeof(out)), -1);
    }
}

static void of_long_errors_the_end_is_kept(void **state)
{
    struct demux demux = {0};
    size_t used = 0;
    char out[1];
    (void)state;
    for (int i = 0; i < 3000; i++) {
        char frame[] = "\2\0\0\0\0\0\0\1x";
        frame[8] = (char)('a' + i % 26);
        assert_int_equal(demux_feed(&demux, frame, 9, &used, out, 1), 0);
    }
    assert_int_equal(demux.error_length, DEMUX_KEPT_BYTES);
    assert_int_equal(demux.errors[DEMUX_KEPT_BYTES - 1], 'a' + 2999 % 26);
}

/* ---- versions ---- */

static void the_version_is_the_newest_that_both_speak(void **state)
{
    static const struct {
        const char *api;
        const char *prefix;
    } rows[] = {{"1.41", "/v1.41"}, {"1.43", "/v1.43"}, {"1.52", "/v1.47"}, {"2.0", "/v1.47"}};
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++) {
        struct docker_version version;
        struct hutch_error err = HUTCH_ERROR_INIT;
        assert_int_equal(
            docker_version_read(&version, rows[i].api, "Docker/20.10.24 (linux)", &err), 0);
        assert_string_equal(version.prefix, rows[i].prefix);
    }
}

static void old_engines_and_others_are_refused_with_their_name(void **state)
{
    struct docker_version version;
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)state;
    assert_int_equal(docker_version_read(&version, "1.40", "Docker/19.03.15 (linux)", &err),
                     -HUTCH_E_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "Docker 19.03.15 is too old"));
    assert_non_null(strstr(err.msg, "CVE-2021-41089"));
    assert_int_equal(docker_version_read(&version, "1.38", "Docker/18.06.1-ce (linux)", &err),
                     -HUTCH_E_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "CVE-2019-14271, CVE-2018-15664"));
    assert_int_equal(docker_version_read(&version, NULL, "nginx", &err), -HUTCH_E_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "no Docker engine"));
}

static void nothing_is_copied_into_an_engine_with_a_hole(void **state)
{
    static const struct {
        const char *server;
        bool copies;
    } rows[] = {{"Docker/20.10.8 (linux)", false},       {"Docker/20.10.9 (linux)", true},
                {"Docker/20.10.5+dfsg1 (linux)", true},  {"Docker/24.0.7 (linux)", true},
                {"Docker/20.10.24+dfsg1 (linux)", true}, {"Libpod/4.3.1 (linux)", true}};
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++) {
        struct docker_version version;
        struct hutch_error err = HUTCH_ERROR_INIT;
        assert_int_equal(docker_version_read(&version, "1.41", rows[i].server, &err), 0);
        assert_int_equal(docker_version_check_copy(&version, &err) == 0, rows[i].copies);
        assert_true(rows[i].copies || strstr(err.msg, "CVE-2021-41089"));
    }
}

/* ---- endpoints ---- */

static const char *const variables[] = {"DOCKER_HOST",    "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH",
                                        "DOCKER_CONTEXT", "DOCKER_CONFIG",     "XDG_RUNTIME_DIR"};

struct place {
    char dir[64];
};

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    for (size_t i = 0; i < HUTCH_COUNT(variables); i++)
        (void)unsetenv(variables[i]);
    (void)snprintf(place->dir, sizeof(place->dir), "/tmp/hutch-unit-docker-XXXXXX");
    if (!mkdtemp(place->dir))
        return -1;
    (void)setenv("DOCKER_CONFIG", place->dir, 1);
    *state = place;
    return 0;
}

static int teardown(void **state)
{
    struct place *place = *state;
    int status = remove_tree(AT_FDCWD, place->dir);
    free(place);
    return status;
}

static void write_file(const struct place *place, const char *name, const char *text)
{
    char path[300];
    (void)snprintf(path, sizeof(path), "%s/%s", place->dir, name);
    for (char *slash = path + strlen(place->dir) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void addresses_are_read(void **state)
{
    static const struct {
        const char *host;
        const char *socket;
        const char *url;
    } rows[] = {{"unix:///run/x.sock", "/run/x.sock", "http://localhost"},
                {"tcp://far", "", "http://far:2375"},
                {"tcp://far:99", "", "http://far:99"},
                {"tcp://[::1]", "", "http://[::1]:2375"},
                {"tcp://[::1]:7/", "", "http://[::1]:7"},
                {"http://far:80", "", "http://far:80"},
                {"https://far", "", "https://far:2376"}};
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++) {
        struct docker_endpoint endpoint;
        struct hutch_error err = HUTCH_ERROR_INIT;
        (void)setenv("DOCKER_HOST", rows[i].host, 1);
        assert_int_equal(docker_endpoint_find(&endpoint, &err), 0);
        assert_string_equal(endpoint.socket, rows[i].socket);
        assert_string_equal(endpoint.url, rows[i].url);
        assert_string_equal(endpoint.from, "DOCKER_HOST");
    }
}

static void addresses_that_make_no_sense_are_refused(void **state)
{
    static const char *const wrong[] = {"unix://relative",      "tcp://",    "tcp://a b",
                                        "tcp://a/../../images", "ftp://far", "far:2375",
                                        "ssh://user@far",       "tcp://a@b"};
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(wrong); i++) {
        struct docker_endpoint endpoint;
        struct hutch_error err = HUTCH_ERROR_INIT;
        (void)setenv("DOCKER_HOST", wrong[i], 1);
        assert_true(docker_endpoint_find(&endpoint, &err) < 0);
        assert_non_null(strstr(err.msg, wrong[i]));
    }
}

static void tls_is_by_variables(void **state)
{
    const struct place *place = *state;
    struct docker_endpoint endpoint;
    struct hutch_error err = HUTCH_ERROR_INIT;
    char certs[100];
    (void)snprintf(certs, sizeof(certs), "%s/certs", place->dir);
    write_file(place, "certs/ca.pem", "");
    write_file(place, "certs/cert.pem", "");
    (void)setenv("DOCKER_HOST", "tcp://far", 1);
    (void)setenv("DOCKER_TLS_VERIFY", "1", 1);
    (void)setenv("DOCKER_CERT_PATH", certs, 1);
    assert_int_equal(docker_endpoint_find(&endpoint, &err), -HUTCH_E_NOT_FOUND);
    assert_non_null(strstr(err.msg, "key.pem"));
    write_file(place, "certs/key.pem", "");
    assert_int_equal(docker_endpoint_find(&endpoint, &err), 0);
    assert_true(endpoint.has_tls);
    assert_string_equal(endpoint.url, "https://far:2376");
    assert_non_null(strstr(endpoint.ca, "certs/ca.pem"));
    assert_non_null(strstr(endpoint.key, "certs/key.pem"));
}

static void contexts_are_read(void **state)
{
    const struct place *place = *state;
    struct docker_endpoint endpoint;
    struct hutch_error err = HUTCH_ERROR_INIT;
    /* of "far", as sha256sum tells it */
    const char *const hex = "512eea46ceb3921dff4363c7069d89d4"
                            "964d1d9fccaa0f411851a7aa60a5c868";
    (void)setenv("DOCKER_CONTEXT", "far", 1);
    assert_int_equal(docker_endpoint_find(&endpoint, &err), -HUTCH_E_NOT_FOUND);
    assert_non_null(strstr(err.msg, "no context 'far'"));
    char name[160];
    (void)snprintf(name, sizeof(name), "contexts/meta/%s/meta.json", hex);
    write_file(place, name,
               "{\"Name\":\"far\",\"Endpoints\":{\"docker\":{\"Host\":\"tcp://far:1\","
               "\"SkipTLSVerify\":false}}}");
    assert_int_equal(docker_endpoint_find(&endpoint, &err), 0);
    assert_string_equal(endpoint.url, "http://far:1");
    (void)snprintf(name, sizeof(name), "contexts/tls/%s/docker/ca.pem", hex);
    write_file(place, name, "");
    (void)unsetenv("DOCKER_CONTEXT");
    write_file(place, "config.json", "{\"auths\":{},\"currentContext\":\"far\"}");
    assert_int_equal(docker_endpoint_find(&endpoint, &err), 0);
    assert_string_equal(endpoint.url, "https://far:1");
    assert_non_null(strstr(endpoint.from, "'far'"));
    (void)setenv("DOCKER_HOST", "unix:///x", 1); /* is stronger */
    assert_int_equal(docker_endpoint_find(&endpoint, &err), 0);
    assert_string_equal(endpoint.socket, "/x");
}

static void a_context_cannot_ask_not_to_check(void **state)
{
    const struct place *place = *state;
    struct docker_endpoint endpoint = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    char name[160];
    /* of "lax", as sha256sum tells it */
    const char *const hex = "b11e23303e7d8bc69ecf65d611409528"
                            "002d7a0151abbd93de3d325908d69498";
    (void)snprintf(name, sizeof(name), "contexts/meta/%s/meta.json", hex);
    write_file(place, name,
               "{\"Endpoints\":{\"docker\":{\"Host\":\"tcp://far:1\",\"SkipTLSVerify\":true}}}");
    assert_int_equal(docker_context_read(&endpoint, "lax", &err), -HUTCH_E_PERMISSION);
}

static void without_words_it_is_the_usual_socket(void **state)
{
    struct docker_endpoint endpoint;
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)state;
    assert_int_equal(docker_endpoint_find(&endpoint, &err), 0);
    assert_string_equal(endpoint.socket, ENDPOINT_DEFAULT_SOCKET);
}

/* ---- facts ---- */

static struct docker_facts facts_of(const char *json)
{
    hutch_cleanup(hutch_value_done) struct hutch_value info = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct docker_facts facts;
    assert_int_equal(hutch_json_parse(json, strlen(json), &info, &err), 0);
    docker_facts_read(&info, false, &facts);
    return facts;
}

static void promises_are_what_the_engine_says(void **state)
{
    char why[256];
    (void)state;
    struct docker_facts facts = facts_of(
        "{\"MemoryLimit\":true,\"SwapLimit\":true,\"CpuCfsPeriod\":true,\"CpuCfsQuota\":true,"
        "\"PidsLimit\":true,\"Driver\":\"overlay2\",\"DriverStatus\":[[\"Backing "
        "Filesystem\",\"extfs\"]],\"SecurityOptions\":[\"name=seccomp,profile=default\"]}");
    hutch_promise_set set = docker_facts_promises(&facts, false, why, sizeof(why));
    assert_true(set & HUTCH_PROMISE_BIT(MEMORY));
    assert_true(set & HUTCH_PROMISE_BIT(PIDS));
    assert_false(set & HUTCH_PROMISE_BIT(DISK));
    assert_false(set & HUTCH_PROMISE_BIT(INODES));
    assert_false(facts.maps_ids);
    assert_non_null(strstr(why, "overlay2 on extfs, has no quota"));
    facts = facts_of("{\"MemoryLimit\":true,\"SwapLimit\":false,\"Driver\":\"btrfs\","
                     "\"SecurityOptions\":[\"name=rootless\"]}");
    set = docker_facts_promises(&facts, false, why, sizeof(why));
    assert_false(set & HUTCH_PROMISE_BIT(MEMORY)); /* it would go on in the swap */
    assert_false(set & HUTCH_PROMISE_BIT(CPUS));
    assert_true(set & HUTCH_PROMISE_BIT(DISK));
    assert_true(facts.maps_ids);
}

static void a_limit_that_is_given_up_later_is_refused(void **state)
{
    static const char json[] =
        "{\"Id\":\"1\",\"Warnings\":[\"Your kernel does not support pids limit capabilities\"]}";
    hutch_cleanup(hutch_value_done) struct hutch_value made = {0};
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)state;
    assert_int_equal(hutch_json_parse(json, strlen(json), &made, &err), 0);
    assert_int_equal(docker_facts_check(&made, 0, false, &err), -HUTCH_E_UNENFORCEABLE);
    assert_int_equal(docker_facts_check(&made, HUTCH_PROMISE_BIT(PIDS), false, &err), 0);
}

/* ---- containers ---- */

static struct hutch_spec *spec_of(const char *const *fields)
{
    struct hutch_spec *spec = NULL;
    struct hutch_error err = HUTCH_ERROR_INIT;
    assert_int_equal(hutch_spec_new(&spec, &err), 0);
    for (; *fields; fields += 2)
        assert_int_equal(hutch_spec_set(spec, fields[0], fields[1], &err), 0);
    return spec;
}

static void a_container_is_written_as_promised(void **state)
{
    static const char *const fields[] = {"image",
                                         "busybox",
                                         "limits.memory",
                                         "64m",
                                         "limits.cpus",
                                         "0.5",
                                         "limits.pids",
                                         "10",
                                         "env",
                                         "PASSWORD=hunter2",
                                         "labels",
                                         "team=a",
                                         "labels",
                                         "hutch.owner=me",
                                         "mounts",
                                         "/srv:/data:ro",
                                         "tmpfs",
                                         "/scratch:1m",
                                         NULL};
    static const char expected[] =
        "{\"Image\":\"busybox\",\"Hostname\":\"hutch\",\"User\":\"1000:1000\",\"WorkingDir\":\"/\","
        "\"Entrypoint\":[\"/.hutch/init\"],\"Cmd\":[\"guest\"],\"AttachStdin\":true,"
        "\"AttachStdout\":true,\"AttachStderr\":true,\"OpenStdin\":true,\"StdinOnce\":true,"
        "\"Tty\":false,\"NetworkDisabled\":true,\"StopSignal\":\"SIGKILL\","
        "\"Healthcheck\":{\"Test\":[\"NONE\"]},\"Labels\":{\"team\":\"a\",\"hutch.id\":\"abc\","
        "\"hutch.name\":\"\",\"hutch.owner\":\"boot 1 2\",\"hutch.home\":\"here\"},"
        "\"HostConfig\":{\"NetworkMode\":\"none\",\"IpcMode\":\"private\","
        "\"CgroupnsMode\":\"private\",\"CapDrop\":[\"ALL\"],\"SecurityOpt\":[\"no-new-privileges\"]"
        ","
        "\"ReadonlyRootfs\":false,\"Privileged\":false,\"PublishAllPorts\":false,\"Memory\":"
        "67108864,"
        "\"MemorySwap\":67108864,\"NanoCpus\":500000000,\"PidsLimit\":13,\"ShmSize\":67108864,"
        "\"Ulimits\":[{\"Name\":\"nofile\",\"Soft\":16384,\"Hard\":16384},{\"Name\":\"core\","
        "\"Soft\":1,\"Hard\":1}],\"Tmpfs\":{\"/"
        "tmp\":\"rw,exec,nosuid,nodev,size=67108864,mode=1777\","
        "\"/home/user\":\"rw,exec,nosuid,nodev,size=67108864,mode=0755,uid=1000,gid=1000\","
        "\"/workspace\":\"rw,exec,nosuid,nodev,size=67108864,mode=0755,uid=1000,gid=1000\","
        "\"/scratch\":\"rw,exec,nosuid,nodev,size=1048576,mode=0755,uid=1000,gid=1000\"},"
        "\"Mounts\":[{\"Type\":\"bind\",\"Source\":\"/lib/init\",\"Target\":\"/.hutch/init\","
        "\"ReadOnly\":true,\"BindOptions\":{\"Propagation\":\"rprivate\",\"NonRecursive\":true}},"
        "{\"Type\":\"bind\",\"Source\":\"/srv\",\"Target\":\"/data\",\"ReadOnly\":true,"
        "\"BindOptions\":{\"Propagation\":\"rprivate\",\"NonRecursive\":true}}],"
        "\"StorageOpt\":{\"size\":\"268435456\"},"
        "\"LogConfig\":{\"Type\":\"none\"},\"RestartPolicy\":{\"Name\":\"no\"}}}";
    struct porter_order order = {.id = "abc", .one_shot = true};
    struct docker_plan plan = {.order = &order,
                               .owner = "boot 1 2",
                               .home = "here",
                               .user = "1000:1000",
                               .has_ids = true,
                               .uid = 1000,
                               .gid = 1000,
                               .guest = "/lib/init",
                               .in_memory = true};
    struct hutch_buf json = HUTCH_BUF(64u << 10);
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)state;
    order.spec = spec_of(fields);
    plan.spec = order.spec;
    assert_int_equal(docker_plan_write(&plan, &json, &err), 0);
    assert_string_equal(json.data, expected);
    assert_null(strstr(json.data, "hunter2"));
    hutch_buf_done(&json);
    hutch_spec_free(order.spec);
}

/* The targets of a plan's volumes, with a space behind each. */
static const char *volumes_of(const struct docker_plan *plan, char text[200])
{
    const char *targets[PLAN_VOLUMES];
    size_t count = docker_plan_volumes(plan, targets);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        (void)snprintf(text + strlen(text), 200 - strlen(text), "%s ", targets[i]);
    return text;
}

static void beside_a_read_only_root_there_are_as_few_volumes_as_it_takes(void **state)
{
    char text[200];
    struct hutch_spec *plain = spec_of((const char *const[]){"read_only", "true", NULL});
    struct hutch_spec *other = spec_of((const char *const[]){
        "read_only", "true", "tmpfs", "/tmp", "mounts", "/a:/home/user", "artifacts", "/b", NULL});
    (void)state;
    struct docker_plan plan = {.spec = plain, .guest = "/lib/init", .in_memory = true};
    assert_string_equal(volumes_of(&plan, text), "");
    plan.workspace = PLAN_WAY_ARCHIVE;
    assert_string_equal(volumes_of(&plan, text), "/workspace ");
    plan = (struct docker_plan){.spec = plain, .workspace = PLAN_WAY_BIND};
    assert_string_equal(volumes_of(&plan, text), "/.hutch /tmp /home/user ");
    plan.spec = other;
    plan.workspace = PLAN_WAY_NONE;
    assert_string_equal(volumes_of(&plan, text), "/.hutch /workspace /artifacts ");
    plan.is_podman = true;
    assert_string_equal(volumes_of(&plan, text), "/workspace /artifacts ");
    other->read_only = false;
    assert_string_equal(volumes_of(&plan, text), "");
    hutch_spec_free(plain);
    hutch_spec_free(other);
}

static void an_image_brings_no_writable_volume_beside_a_read_only_root(void **state)
{
    static const struct {
        const char *path;
        bool fits, fits_podman, fits_copied; /* the last: hutch-init, and a read-only workspace */
    } rows[] = {
        {"/data", false, false, false},    {"/tmp/a", true, true, true},
        {"/tmpfile", false, false, false}, {"/tmp/../etc", false, false, false},
        {"/home", false, false, false},    {"/home/user/a", true, true, true},
        {"/workspace", true, true, true},  {"/workspace/a", true, true, false},
        {"/scratch", true, true, true},    {"/scratch/a", false, false, false},
        {"/srv", true, true, true},        {"/srv/a", false, false, false},
        {"/var/tmp", false, true, false},  {"/artifacts", false, false, false},
        {"/.hutch", false, false, true},   {"/.hutch/init", true, true, false},
        {"data", false, false, false},     {"", false, false, false},
    };
    struct hutch_spec *spec = spec_of((const char *const[]){
        "read_only", "true", "tmpfs", "/scratch", "mounts", "/a:/srv:ro", NULL});
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++) {
        struct hutch_error err = HUTCH_ERROR_INIT;
        char *items[] = {(char *)rows[i].path};
        const struct hutch_strlist volumes = {.items = items, .count = 1};
        struct porter_order order = {.missing = HUTCH_PROMISE_BIT(DISK)};
        struct docker_plan plan = {.order = &order,
                                   .spec = spec,
                                   .volumes = &volumes,
                                   .guest = "/lib/init",
                                   .in_memory = true};
        assert_int_equal(docker_plan_check_volumes(&plan, &err) == 0, rows[i].fits);
        plan.is_podman = true;
        assert_int_equal(docker_plan_check_volumes(&plan, &err) == 0, rows[i].fits_podman);
        plan.is_podman = false;
        plan.guest[0] = '\0';
        spec->workspace.path = (char *)"/w";
        spec->workspace.mode = HUTCH_WORKSPACE_RO;
        assert_int_equal(docker_plan_check_volumes(&plan, &err) == 0, rows[i].fits_copied);
        spec->workspace.path = NULL;
        spec->read_only = false;
        assert_int_equal(docker_plan_check_volumes(&plan, &err), 0);
        order.missing = 0; /* the layer's limit does not reach them */
        bool is_covered = !strcmp(rows[i].path, "/scratch") || !strcmp(rows[i].path, "/srv");
        assert_int_equal(docker_plan_check_volumes(&plan, &err) == 0, is_covered);
        spec->read_only = true;
    }
    hutch_spec_free(spec);
}

static void a_filler_has_the_volumes_and_nothing_else(void **state)
{
    struct porter_order order = {.id = "abc"};
    struct hutch_buf json = HUTCH_BUF(64u << 10);
    struct hutch_error err = HUTCH_ERROR_INIT;
    (void)state;
    order.spec = spec_of((const char *const[]){"image", "busybox", "env", "KEY=hunter2", NULL});
    struct docker_plan plan = {
        .order = &order, .spec = order.spec, .owner = "boot 1 2", .home = "here"};
    assert_int_equal(docker_plan_write_filler(&plan, "hutch-abc", &json, &err), 0);
    assert_string_equal(
        json.data, "{\"Image\":\"busybox\",\"Entrypoint\":[\"/.hutch/init\"],"
                   "\"NetworkDisabled\":true,\"Labels\":{\"hutch.id\":\"abc\","
                   "\"hutch.name\":\"\",\"hutch.owner\":\"boot 1 2\",\"hutch.home\":\"here\"},"
                   "\"HostConfig\":{\"NetworkMode\":\"none\",\"VolumesFrom\":[\"hutch-abc\"]}}");
    hutch_buf_done(&json);
    hutch_spec_free(order.spec);
}

static void root_is_refused_where_ids_are_not_mapped(void **state)
{
    static const char *const roots[] = {"root", "0", "0:5", "root:root", "00"};
    struct docker_image image = {.user = (char *)"root"};
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(roots); i++) {
        struct porter_order order = {0};
        struct docker_plan plan = {.order = &order};
        struct hutch_error err = HUTCH_ERROR_INIT;
        order.spec = spec_of((const char *const[]){"user", roots[i], NULL});
        plan.spec = order.spec;
        assert_int_equal(docker_plan_user(&plan, &image, false, &err), -HUTCH_E_UNSUPPORTED);
        assert_int_equal(docker_plan_user(&plan, &image, true, &err), 0);
        hutch_spec_free(order.spec);
    }
}

static void users_are_the_askers_the_owners_the_images_or_a_thousand(void **state)
{
    static const struct {
        const char *asked;
        const char *of_image;
        const char *expected;
    } rows[] = {{NULL, "", "1000:1000"}, {NULL, "root", "1000:1000"}, {NULL, "0:0", "1000:1000"},
                {NULL, "app", "app"},    {NULL, "5:6", "5:6"},        {"7", "app", "7:7"},
                {"7:8", "app", "7:8"},   {"app", "", "app"}};
    (void)state;
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++) {
        struct docker_image image = {.user = strdup(rows[i].of_image)};
        struct porter_order order = {0};
        struct docker_plan plan = {.order = &order};
        struct hutch_error err = HUTCH_ERROR_INIT;
        order.spec =
            spec_of((const char *const[]){rows[i].asked ? "user" : NULL, rows[i].asked, NULL});
        plan.spec = order.spec;
        assert_int_equal(docker_plan_user(&plan, &image, false, &err), 0);
        assert_string_equal(plan.user, rows[i].expected);
        hutch_spec_free(order.spec);
        free(image.user);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_told_apart_wherever_they_are_cut),
        cmocka_unit_test(every_byte_alone_gives_the_same),
        cmocka_unit_test(what_is_no_frame_is_refused),
        cmocka_unit_test(of_long_errors_the_end_is_kept),
        cmocka_unit_test(the_version_is_the_newest_that_both_speak),
        cmocka_unit_test(old_engines_and_others_are_refused_with_their_name),
        cmocka_unit_test(nothing_is_copied_into_an_engine_with_a_hole),
        cmocka_unit_test_setup_teardown(addresses_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(addresses_that_make_no_sense_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(tls_is_by_variables, setup, teardown),
        cmocka_unit_test_setup_teardown(contexts_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(a_context_cannot_ask_not_to_check, setup, teardown),
        cmocka_unit_test_setup_teardown(without_words_it_is_the_usual_socket, setup, teardown),
        cmocka_unit_test(promises_are_what_the_engine_says),
        cmocka_unit_test(a_limit_that_is_given_up_later_is_refused),
        cmocka_unit_test(a_container_is_written_as_promised),
        cmocka_unit_test(beside_a_read_only_root_there_are_as_few_volumes_as_it_takes),
        cmocka_unit_test(an_image_brings_no_writable_volume_beside_a_read_only_root),
        cmocka_unit_test(a_filler_has_the_volumes_and_nothing_else),
        cmocka_unit_test(root_is_refused_where_ids_are_not_mapped),
        cmocka_unit_test(users_are_the_askers_the_owners_the_images_or_a_thousand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
