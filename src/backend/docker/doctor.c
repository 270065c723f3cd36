/* SPDX-License-Identifier: Apache-2.0 */
/* What is good and what is not about the engine that would be used. */
#include <stdio.h>
#include <string.h>

#include "backend/docker/container.h"
#include "backend/docker/facts.h"
#include "util/own.h"

struct doctor {
    hutch_check_fn on_check;
    void *userdata;
};

static void tell(const struct doctor *doctor, const char *name, enum hutch_check_status status,
                 const char *detail, const char *remedy)
{
    struct hutch_check check = {.name = name, .status = status};
    (void)snprintf(check.detail, sizeof(check.detail), "%s", detail);
    (void)snprintf(check.remedy, sizeof(check.remedy), "%s", remedy);
    doctor->on_check(doctor->userdata, &check);
}

/* "what; remedy": messages are built so. */
static void tell_failure(const struct doctor *doctor, const struct hutch_error *failure)
{
    char detail[sizeof(failure->msg)];
    (void)snprintf(detail, sizeof(detail), "%s", failure->msg);
    char *remedy = strstr(detail, "; ");
    if (remedy) {
        *remedy = '\0';
        remedy += 2;
    }
    tell(doctor, "docker.engine", HUTCH_CHECK_WARN, detail, remedy ? remedy : "");
}

static void check_transport(const struct doctor *doctor, const struct docker_engine *engine)
{
    const struct docker_endpoint *endpoint = &engine->endpoint;
    const char *host = strstr(endpoint->url, "://") + 3;
    bool is_local = endpoint->socket[0] || !strncmp(host, "127.", 4) ||
                    !strncmp(host, "localhost", 9) || !strncmp(host, "[::1]", 5);
    if (is_local || endpoint->has_tls)
        tell(doctor, "docker.transport", HUTCH_CHECK_OK,
             endpoint->socket[0] ? "unix socket"
             : endpoint->has_tls ? "TLS"
                                 : "this host",
             "");
    else
        tell(doctor, "docker.transport", HUTCH_CHECK_WARN,
             "the engine is spoken to over the network without TLS: whoever is on the way rules it",
             "set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH");
}

static void check_limits(const struct doctor *doctor, const struct docker_facts *facts,
                         bool is_near)
{
    char why[200];
    hutch_promise_set set = docker_facts_promises(facts, is_near, why, sizeof(why));
    hutch_promise_set counted =
        HUTCH_PROMISE_BIT(MEMORY) | HUTCH_PROMISE_BIT(CPUS) | HUTCH_PROMISE_BIT(PIDS);
    bool kept = (set & counted) == counted;
    tell(doctor, "docker.limits", kept ? HUTCH_CHECK_OK : HUTCH_CHECK_WARN,
         kept ? "memory, processor time and processes" : why,
         kept ? "" : "boot with cgroup_enable=memory swapaccount=1, or with cgroup v2");
    char detail[120];
    (void)snprintf(detail, sizeof(detail), "storage %s on %s %s", facts->driver,
                   facts->backing[0] ? facts->backing : "an unknown filesystem",
                   facts->limits_disk ? "has quotas" : "has no quotas");
    tell(doctor, "docker.disk", facts->limits_disk ? HUTCH_CHECK_OK : HUTCH_CHECK_WARN, detail,
         facts->limits_disk ? "" : "use overlay2 on XFS mounted with pquota, or btrfs");
}

static void check_copy(const struct doctor *doctor, const struct docker_version *version)
{
    char detail[120];
    if (!version->hole[0])
        return;
    (void)snprintf(detail, sizeof(detail), "'docker cp' of %s had a hole: %s", version->release,
                   version->hole);
    tell(doctor, "docker.copy", HUTCH_CHECK_WARN, detail,
         version->may_be_mended ? "see that your distribution has mended it"
                                : "install Docker 20.10.9 or newer");
}

int docker_doctor(hutch_check_fn on_check, void *userdata, struct hutch_error *err)
{
    hutch_cleanup(docker_engine_freep) struct docker_engine *engine = NULL;
    const struct doctor doctor = {on_check, userdata};
    struct hutch_error failure = HUTCH_ERROR_INIT;
    struct docker_facts facts;
    char detail[200];
    (void)err;
    if (docker_engine_open(&engine, NULL, &failure) < 0 ||
        docker_facts_ask(engine, &facts, &failure) < 0) {
        tell_failure(&doctor, &failure);
        return 0;
    }
    (void)snprintf(detail, sizeof(detail), "%s %s at '%.100s'", engine->version.product,
                   engine->version.release, engine->endpoint.host);
    tell(&doctor, "docker.engine", HUTCH_CHECK_OK, detail, "");
    check_transport(&doctor, engine);
    check_limits(&doctor, &facts, docker_is_near(engine));
    check_copy(&doctor, &engine->version);
    return 0;
}
