/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/docker/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/own.h"

struct number {
    unsigned parts[3];
};

/* Engines before these versions copy files in a way that a hostile image can use. */
static const struct {
    struct number mended;
    const char *names;
} holes[] = {
    {{{19, 3, 1}}, "CVE-2019-14271, CVE-2018-15664"},
    {{{20, 10, 9}}, "CVE-2021-41089"},
};

/* "20.10.24+dfsg1": the rest after the number is told too. */
static struct number read_number(const char *text, const char **ret_rest)
{
    struct number number = {{0}};
    for (size_t i = 0; i < HUTCH_COUNT(number.parts); i++) {
        char *end;
        if (*text < '0' || *text > '9')
            break;
        number.parts[i] = (unsigned)strtoul(text, &end, 10);
        text = *end == '.' ? end + 1 : end;
    }
    *ret_rest = text;
    return number;
}

static bool is_before(const struct number *one, const struct number *other)
{
    for (size_t i = 0; i < HUTCH_COUNT(one->parts); i++)
        if (one->parts[i] != other->parts[i])
            return one->parts[i] < other->parts[i];
    return false;
}

static void find_hole(struct docker_version *version)
{
    const char *rest;
    struct number number = read_number(version->release, &rest);
    version->may_be_mended = *rest != '\0';
    if (version->is_podman || !number.parts[0])
        return;
    for (size_t i = 0; i < HUTCH_COUNT(holes) && !version->hole[0]; i++)
        if (is_before(&number, &holes[i].mended))
            (void)snprintf(version->hole, sizeof(version->hole), "%s", holes[i].names);
}

/* "Docker/20.10.24+dfsg1 (linux)", "Libpod/4.3.1 (linux)" */
static void read_server(struct docker_version *version, const char *server)
{
    size_t product = strcspn(server, "/ ");
    const char *release = server[product] == '/' ? server + product + 1 : "";
    version->is_podman = !strncmp(server, "Libpod/", 7);
    (void)snprintf(version->product, sizeof(version->product), "%.*s", (int)product, server);
    if (version->is_podman)
        (void)snprintf(version->product, sizeof(version->product), "Podman");
    (void)snprintf(version->release, sizeof(version->release), "%.*s", (int)strcspn(release, " "),
                   release);
    find_hole(version);
}

static int fail_old(const struct docker_version *version, const char *api, struct hutch_error *err)
{
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                      "the engine %s %s is too old: it speaks version %.16s of Docker's API, hutch "
                      "needs 1.%d%s%s%s; install Docker 20.10.9 or Podman 4, or newer ones",
                      version->product, version->release, api, DOCKER_API_LEAST_MINOR,
                      version->hole[0] ? ", and its 'docker cp' lets an image take over the host ("
                                       : "",
                      version->hole, version->hole[0] ? ")" : "");
}

int docker_version_read(struct docker_version *ret_version, const char *api, const char *server,
                        struct hutch_error *err)
{
    struct docker_version version = {.is_known = true};
    unsigned major = 0;
    unsigned minor = 0;
    read_server(&version, server ? server : "");
    if (!api || sscanf(api, "%u.%u", &major, &minor) != 2)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                          "who answers is no Docker engine: it does not say which version of "
                          "Docker's API it speaks");
    if (major < 1 || (major == 1 && minor < DOCKER_API_LEAST_MINOR))
        return fail_old(&version, api, err);
    if (major > 1 || minor > DOCKER_API_MOST_MINOR)
        minor = DOCKER_API_MOST_MINOR;
    (void)snprintf(version.prefix, sizeof(version.prefix), "/v1.%u", minor);
    *ret_version = version;
    return 0;
}

int docker_version_check_copy(const struct docker_version *version, struct hutch_error *err)
{
    if (!version->hole[0] || version->may_be_mended)
        return 0;
    return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0,
                      "files have to be copied into the container, and the 'docker cp' of the "
                      "engine %s %s has a known hole (%s); install 20.10.9 or a newer one",
                      version->product, version->release, version->hole);
}
