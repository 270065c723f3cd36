/* SPDX-License-Identifier: Apache-2.0 */
/* Of an engine as a whole: what it keeps of hutch's promises, and what is left in it. */
#include <stdio.h>
#include <string.h>

#include "backend/docker/container.h"
#include "backend/docker/facts.h"
#include "backend/docker/state.h"
#include "util/own.h"

/* No engine bounds the volumes beside a root that is read-only. */
static void drop_disk(const struct hutch_spec *spec, struct porter_probe *probe)
{
    if (!spec || !spec->read_only || !(probe->enforces & HUTCH_PROMISE_BIT(DISK)))
        return;
    probe->enforces &= ~HUTCH_PROMISE_BIT(DISK);
    size_t used = strlen(probe->why);
    (void)snprintf(probe->why + used, sizeof(probe->why) - used,
                   "%sthe volumes beside a read-only root have no quota", used ? "; " : "");
}

int docker_probe(const struct hutch_spec *spec, const char *runtime, const char *id,
                 struct porter_probe *ret_probe)
{
    hutch_cleanup(docker_engine_freep) struct docker_engine *engine = NULL;
    struct porter_probe probe = {.error = HUTCH_ERROR_INIT};
    struct docker_facts facts;
    (void)runtime;
    if (docker_engine_open(&engine, id, &probe.error) == 0 &&
        docker_facts_recall(engine, &facts, &probe.error) == 0) {
        bool is_near = docker_is_near(engine);
        probe.enforces = docker_facts_promises(&facts, is_near, probe.why, sizeof(probe.why));
        drop_disk(spec, &probe);
        (void)snprintf(probe.version, sizeof(probe.version), "%s", facts.version);
    }
    *ret_probe = probe;
    return -(int)probe.error.code;
}

static int sweep_one(struct docker_engine *engine, const struct hutch_value *item, bool dry_run,
                     hutch_gc_fn on_item, void *userdata, struct hutch_error *err)
{
    const struct hutch_value *labels = hutch_value_get(item, "Labels");
    const char *id = hutch_value_text(hutch_value_get(labels, OWNER_LABEL_ID));
    const char *owner = hutch_value_text(hutch_value_get(labels, OWNER_LABEL_OWNER));
    const char *home = hutch_value_text(hutch_value_get(labels, OWNER_LABEL_HOME));
    const char *container = hutch_value_text(hutch_value_get(item, "Id"));
    char what[80];
    if (!id || !owner || !home || !container || !owner_has_left(home, owner, id))
        return 0;
    (void)snprintf(what, sizeof(what), "hutch-%.33s", id);
    if (on_item)
        on_item(userdata, "container", what);
    if (dry_run)
        return 0;
    docker_endpoint_forget(id);
    return docker_container_remove(engine, container, err);
}

int docker_sweep(bool dry_run, hutch_gc_fn on_item, void *userdata, struct hutch_error *err)
{
    hutch_cleanup(docker_engine_freep) struct docker_engine *engine = NULL;
    struct docker_answer answer = DOCKER_ANSWER_INIT;
    struct hutch_buf path = HUTCH_BUF(1024);
    if (docker_engine_open(&engine, NULL, err) < 0)
        return -(int)err->code;
    if (!dry_run)
        docker_state_sweep();
    hutch_buf_puts(&path, "/containers/json?all=1&filters=");
    docker_add_escaped(&path, "{\"label\":[\"" OWNER_LABEL_OWNER "\"]}");
    int status = docker_get(engine, path.data, &answer, err);
    if (status == 0 && answer.json.type == HUTCH_VALUE_ARRAY)
        for (size_t i = 0; i < answer.json.list.count && status == 0; i++)
            status = sweep_one(engine, &answer.json.list.items[i], dry_run, on_item, userdata, err);
    docker_answer_done(&answer);
    hutch_buf_done(&path);
    return status;
}
