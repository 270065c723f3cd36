/* SPDX-License-Identifier: Apache-2.0 */
/* The public entry points for sandboxes that stay. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/native/client.h"
#include "backend/native/copy.h"
#include "backend/native/derive.h"
#include "backend/native/gateway.h"
#include "backend/native/lifecycle.h"
#include "backend/native/question.h"
#include "backend/native/sandbox.h"
#include "backend/native/warden.h"
#include "core/check.h"
#include "core/egress_report.h"
#include "core/isolation.h"
#include "core/spec.h"
#include "hutch/hutch.h"
#include "libhutch/decision.h"
#include "libhutch/image_ready.h"
#include "libhutch/note.h"
#include "libhutch/promises.h"
#include "libhutch/scratch.h"
#include "store/log.h"
#include "util/fs.h"
#include "util/json_out.h"
#include "util/own.h"
#include "util/program.h"

#define JSON_MAX_BYTES (16u << 20)

int hutch_keeper_main(void)
{
    return warden_main();
}

/* A sandbox means the same image all its life. */
static int settle_image(struct decision *decision, struct hutch_spec *spec, struct image_use *image,
                        struct hutch_error *err)
{
    if (image_ready(spec, HUTCH_NO_FD, image, err) < 0 ||
        decision_note(decision, decision_opened_image(decision, spec, image, err), err) < 0)
        return -(int)err->code;
    return image_use_pin(image, spec, err);
}

static int decide_new(struct decision *decision, struct hutch_spec *spec, struct hutch_error *err)
{
    if (decision_begin(decision, "create", &spec->asker, err) < 0)
        return -(int)err->code;
    int status = decision_of_new(decision, spec, err);
    if (status == 0)
        status = decision_signed(decision, spec, err);
    return decision_note(decision, status, err);
}

int hutch_sandbox_create(struct hutch_spec *spec, struct hutch_sandbox **ret_sandbox,
                         struct hutch_error *err)
{
    struct hutch_probe probe;
    hutch_promise_set missing = 0;
    hutch_cleanup(decision_done) struct decision decision = DECISION_INIT;
    OR_SCRATCH(err);
    if (decide_new(&decision, spec, err) < 0)
        return -(int)err->code;
    const struct hutch_backend_ops *backend = hutch_backend_find(hutch_spec_backend(spec), err);
    if (!backend || backend->probe(spec, &probe, err) < 0 ||
        hutch_promises_check(spec, &probe, &missing, err) < 0)
        return -(int)err->code;
    struct image_use image = IMAGE_USE_INIT;
    int status =
        spec->image && !backend->has_own_images ? settle_image(&decision, spec, &image, err) : 0;
    if (status == 0)
        status = decision_note(&decision, decision_count(&decision, spec, NULL, err), err);
    if (status == 0)
        status = lifecycle_create(spec, missing, ret_sandbox, err);
    image_use_done(&image); /* its keeper has it by now */
    return status;
}

int hutch_sandbox_open(const char *name, struct hutch_sandbox **ret_sandbox,
                       struct hutch_error *err)
{
    OR_SCRATCH(err);
    return lifecycle_open(name, ret_sandbox, err);
}

void hutch_sandbox_free(struct hutch_sandbox *sandbox)
{
    if (!sandbox)
        return;
    hutch_fd_close(&sandbox->socket);
    hutch_fd_close(&sandbox->null);
    home_close(&sandbox->home);
    free(sandbox);
}

int hutch_sandbox_info(const struct hutch_sandbox *sandbox, struct hutch_sandbox_info *ret_info,
                       struct hutch_error *err)
{
    struct home_record record;
    OR_SCRATCH(err);
    if (home_read(&sandbox->home, &record, err) < 0)
        return -(int)err->code;
    bool is_silent = sandbox->is_silent && record.state < HOME_STOPPED;
    *ret_info = (struct hutch_sandbox_info){
        .state = is_silent ? "unresponsive" : home_state_name(record.state),
        .on_disk = record.on_disk,
        .created_us = record.created_us,
        .started_us = record.started_us,
        .ended_us = record.state < HOME_STOPPED ? 0 : record.ended_us};
    memcpy(ret_info->name, sandbox->home.name, sizeof(ret_info->name));
    memcpy(ret_info->id, record.id, sizeof(ret_info->id));
    if (record.state >= HOME_STOPPED)
        memcpy(ret_info->reason, record.reason, sizeof(ret_info->reason));
    return 0;
}

const char *hutch_sandbox_name(const struct hutch_sandbox *sandbox)
{
    return sandbox->home.name;
}

bool hutch_sandbox_has_label(const struct hutch_sandbox *sandbox, const char *label)
{
    struct hutch_spec *spec = NULL;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    size_t key = strcspn(label, "=");
    bool found = false;
    if (sandbox_spec(sandbox, &spec, &ignored) < 0)
        return false;
    for (size_t i = 0; i < spec->labels.count && !found; i++) {
        const struct hutch_map_entry *entry = &spec->labels.items[i];
        found = strlen(entry->key) == key && !strncmp(entry->key, label, key) &&
                (!label[key] || !strcmp(entry->value, label + key + 1));
    }
    hutch_spec_free(spec);
    return found;
}

int hutch_sandbox_tenant(const struct hutch_sandbox *sandbox, char ret_tenant[HUTCH_TENANT_BYTES],
                         struct hutch_error *err)
{
    struct hutch_spec *spec = NULL;
    OR_SCRATCH(err);
    if (sandbox_spec(sandbox, &spec, err) < 0)
        return -(int)err->code;
    const char *tenant = spec->policy.tenant;
    (void)snprintf(ret_tenant, HUTCH_TENANT_BYTES, "%s", tenant ? tenant : "");
    hutch_spec_free(spec);
    return 0;
}

bool hutch_sandbox_has_image(const struct hutch_sandbox *sandbox)
{
    struct hutch_spec *spec = NULL;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    if (sandbox_spec(sandbox, &spec, &ignored) < 0)
        return false;
    bool has_image = spec->image != NULL;
    hutch_spec_free(spec);
    return has_image;
}

int hutch_sandbox_spec(const struct hutch_sandbox *sandbox, struct hutch_spec **ret_spec,
                       struct hutch_error *err)
{
    OR_SCRATCH(err);
    return sandbox_spec(sandbox, ret_spec, err);
}

/* ---- listing --------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int hutch_sandbox_list(hutch_sandbox_fn on_sandbox, void *userdata, struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist names = {0};
    int status = 0;
    OR_SCRATCH(err);
    if (home_names(&names, false, err) < 0)
        return -(int)err->code;
    if (names.count)
        qsort(names.items, names.count, sizeof(*names.items), compare_names);
    for (size_t i = 0; i < names.count && status == 0; i++) {
        struct hutch_sandbox *sandbox = NULL;
        struct hutch_error gone = HUTCH_ERROR_INIT; /* since it was listed */
        if (lifecycle_open(names.items[i], &sandbox, &gone) < 0)
            continue;
        status = on_sandbox(userdata, sandbox);
        hutch_sandbox_free(sandbox);
    }
    return status;
}

/* ---- commands -------------------------------------------------------------------------------- */

static const struct hutch_exec_options *known_options(const struct hutch_exec_options *given,
                                                      struct hutch_exec_options *defaults,
                                                      struct hutch_error *err)
{
    const size_t first_version = offsetof(struct hutch_exec_options, capture) + sizeof(bool);
    if (!given)
        return defaults;
    if (given->size < first_version || given->size > sizeof(*given)) {
        (void)hutch_fail(err, HUTCH_E_INVALID, 0,
                         "hutch_exec_options has size %zu instead of %zu to %zu; start from "
                         "HUTCH_EXEC_OPTIONS_INIT, with the header of this library",
                         given->size, first_version, sizeof(*given));
        return NULL;
    }
    memcpy(defaults, given, given->size);
    return defaults;
}

static int check_environment(const char *const *env, struct hutch_error *err)
{
    for (; env && *env; env++)
        if (**env == '=' || !strchr(*env, '='))
            return hutch_fail(err, HUTCH_E_INVALID, 0, "'%.80s' is not a variable, write KEY=VALUE",
                              *env);
    return 0;
}

/* As strict as a spec's. */
static int check_options(const struct hutch_exec_options *options, struct hutch_error *err)
{
    hutch_autofree char *workdir = options->workdir ? strdup(options->workdir) : NULL;
    if (options->workdir && !workdir)
        return hutch_fail_nomem(err);
    if (workdir && hutch_check_workdir(workdir, err) < 0)
        return -(int)err->code;
    return check_environment(options->env, err);
}

static int check_command(size_t argc, const char *const *argv, struct hutch_error *err)
{
    if (argc && !*argv[0])
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "the command '' is empty, its first word must be a program such as 'sh'");
    return 0;
}

int hutch_sandbox_exec(struct hutch_sandbox *sandbox, size_t argc, const char *const *argv,
                       const struct hutch_exec_options *options, struct hutch_result **ret_result,
                       struct hutch_error *err)
{
    struct hutch_exec_options defaults = HUTCH_EXEC_OPTIONS_INIT;
    OR_SCRATCH(err);
    options = known_options(options, &defaults, err);
    if (!options || check_options(options, err) < 0 || check_command(argc, argv, err) < 0 ||
        decision_of_command(sandbox, &options, &defaults, err) < 0)
        return -(int)err->code;
    if (options->rows || options->keeps_stdin)
        return hutch_fail(err, HUTCH_E_INVALID, 0,
                          "rows and keeps_stdin are for commands that hutch_sandbox_spawn() "
                          "starts; use terminal_fd and stdin_fd");
    return client_exec(sandbox, argc, argv, options, ret_result, err);
}

int hutch_sandbox_spawn(struct hutch_sandbox *sandbox, size_t argc, const char *const *argv,
                        const struct hutch_exec_options *options, char ret_id[33],
                        struct hutch_error *err)
{
    struct hutch_exec_options defaults = HUTCH_EXEC_OPTIONS_INIT;
    OR_SCRATCH(err);
    options = known_options(options, &defaults, err);
    if (!options || check_options(options, err) < 0 || check_command(argc, argv, err) < 0 ||
        decision_of_command(sandbox, &options, &defaults, err) < 0)
        return -(int)err->code;
    return client_spawn(sandbox, argc, argv, options, ret_id, err);
}

int hutch_sandbox_signal(struct hutch_sandbox *sandbox, const char *id, int number,
                         struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT, answer;
    OR_SCRATCH(err);
    if (number < 1 || number > 64)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "%d is not a signal, they are 1 to 64", number);
    wire_begin(&request, "signal");
    wire_add(&request, "id", id);
    wire_add_number(&request, "signal", (uint64_t)number);
    int status = sandbox_ask(sandbox, &request, &answer, err);
    hutch_buf_done(&request.text);
    if (status == 0)
        wire_done(&answer);
    return status;
}

/* Lines of one session follow its id. */
static int tell_session(const struct wire_message *answer, const char *line,
                        hutch_process_fn on_process, void *userdata, struct hutch_error *err)
{
    hutch_cleanup(hutch_strlist_done) struct hutch_strlist words = {0};
    const char *end = wire_next(answer, "session", line);
    struct hutch_process process = {.session = line, .phase = wire_next(answer, "phase", line)};
    const char *recorded = wire_next(answer, "recorded", line);
    const char *age = wire_next(answer, "age_us", line);
    process.recorded = recorded && *recorded == '1';
    process.age_us = age ? strtoull(age, NULL, 10) : 0;
    for (const char *word = line; (word = wire_next(answer, "arg", word)) && (!end || word < end);)
        if (hutch_strlist_add(&words, word, err) < 0)
            return -(int)err->code;
    process.argv = (const char *const *)words.items;
    return words.count ? on_process(userdata, &process) : 0;
}

int hutch_sandbox_ps(struct hutch_sandbox *sandbox, hutch_process_fn on_process, void *userdata,
                     struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT, answer;
    OR_SCRATCH(err);
    wire_begin(&request, "sessions");
    int status = question_ask(sandbox, &request, &answer, err);
    hutch_buf_done(&request.text);
    if (status < 0)
        return status;
    for (const char *line = NULL; status == 0 && (line = wire_next(&answer, "session", line));)
        status = tell_session(&answer, line, on_process, userdata, err);
    wire_done(&answer);
    return status;
}

int hutch_sandbox_command_prefix(const struct hutch_sandbox *sandbox, char ***ret_words,
                                 struct hutch_error *err)
{
    char program[PATH_MAX];
    struct hutch_strlist words = {0};
    OR_SCRATCH(err);
    bool is_hutch = hutch_program_self(program);
    const char *given = getenv("HUTCH_PROGRAM");
    const char *const parts[] = {is_hutch          ? program
                                 : given && *given ? given
                                                   : HUTCH_BINDIR "/hutch",
                                 "exec", "-i", sandbox->home.name, "--"};
    for (size_t i = 0; i < HUTCH_COUNT(parts); i++)
        if (hutch_strlist_add(&words, parts[i], err) < 0) {
            hutch_strlist_done(&words);
            return -(int)err->code;
        }
    *ret_words = words.items;
    return 0;
}

void hutch_words_free(char **words)
{
    for (char **word = words; word && *word; word++)
        free(*word);
    free(words);
}

/* ---- files ----------------------------------------------------------------------------------- */

int hutch_sandbox_copy_in(struct hutch_sandbox *sandbox, const char *source, const char *target,
                          hutch_skipped_fn on_skipped, void *userdata, struct hutch_error *err)
{
    const struct note note = {.sandbox = sandbox, .kind = "copy_in", .from = source, .to = target};
    OR_SCRATCH(err);
    if (note_begin(&note, err) < 0)
        return -(int)err->code;
    return note_end(&note, copy_in(sandbox, source, target, on_skipped, userdata, err), err);
}

int hutch_sandbox_copy_out(struct hutch_sandbox *sandbox, const char *source, const char *target,
                           hutch_skipped_fn on_skipped, void *userdata, struct hutch_error *err)
{
    const struct note note = {.sandbox = sandbox, .kind = "copy_out", .from = source, .to = target};
    OR_SCRATCH(err);
    if (note_begin(&note, err) < 0)
        return -(int)err->code;
    return note_end(&note, copy_out(sandbox, source, target, on_skipped, userdata, err), err);
}

int hutch_sandbox_unpack(struct hutch_sandbox *sandbox, int archive, const char *target,
                         hutch_skipped_fn on_skipped, void *userdata, struct hutch_error *err)
{
    const struct note note = {.sandbox = sandbox, .kind = "copy_in", .to = target};
    OR_SCRATCH(err);
    if (note_begin(&note, err) < 0)
        return -(int)err->code;
    return note_end(&note, copy_archive_in(sandbox, archive, target, on_skipped, userdata, err),
                    err);
}

int hutch_sandbox_pack(struct hutch_sandbox *sandbox, const char *source, int archive,
                       hutch_skipped_fn on_skipped, void *userdata, struct hutch_error *err)
{
    const struct note note = {.sandbox = sandbox, .kind = "copy_out", .from = source};
    OR_SCRATCH(err);
    if (note_begin(&note, err) < 0)
        return -(int)err->code;
    return note_end(&note, copy_archive_out(sandbox, source, archive, on_skipped, userdata, err),
                    err);
}

/* ---- what comes of it ------------------------------------------------------------------------ */

int hutch_sandbox_fork(struct hutch_sandbox *sandbox, const char *name,
                       struct hutch_sandbox **ret_sandbox, struct hutch_error *err)
{
    const struct note note = {.sandbox = sandbox, .kind = "fork", .to = name};
    hutch_cleanup(decision_done) struct decision decision = DECISION_INIT;
    struct hutch_spec *spec = NULL;
    OR_SCRATCH(err);
    if (decision_begin(&decision, "fork", &sandbox->asker, err) < 0 ||
        sandbox_spec(sandbox, &spec, err) < 0)
        return -(int)err->code;
    int status = decision_of_old(&decision, spec, NULL, err);
    if (status == 0)
        status = note_begin(&note, err);
    if (status == 0)
        status = note_end(&note, derive_fork(sandbox, spec, name, true, ret_sandbox, err), err);
    hutch_spec_free(spec);
    return status;
}

int hutch_sandbox_snapshot(struct hutch_sandbox *sandbox, const char *name, struct hutch_error *err)
{
    struct hutch_sandbox *snapshot = NULL;
    const struct note note = {.sandbox = sandbox, .kind = "snapshot", .to = name};
    struct hutch_spec *spec = NULL;
    OR_SCRATCH(err);
    if (sandbox_spec(sandbox, &spec, err) < 0)
        return -(int)err->code;
    int status = note_begin(&note, err);
    if (status == 0)
        status = note_end(&note, derive_fork(sandbox, spec, name, false, &snapshot, err), err);
    hutch_spec_free(spec);
    if (status == 0)
        hutch_sandbox_free(snapshot);
    return status;
}

int hutch_sandbox_changes(struct hutch_sandbox *sandbox, hutch_change_seen_fn on_change,
                          void *userdata, struct hutch_error *err)
{
    OR_SCRATCH(err);
    return derive_changes(sandbox, on_change, userdata, err);
}

int hutch_sandbox_diff(struct hutch_sandbox *sandbox, int fd, struct hutch_error *err)
{
    OR_SCRATCH(err);
    return derive_patch(sandbox, fd, err);
}

int hutch_sandbox_apply(struct hutch_sandbox *sandbox, bool dry_run, hutch_conflict_fn on_conflict,
                        void *userdata, struct hutch_applied *ret_applied, struct hutch_error *err)
{
    const struct note note = {.sandbox = sandbox, .kind = "apply"};
    OR_SCRATCH(err);
    if (dry_run)
        return derive_apply(sandbox, dry_run, on_conflict, userdata, ret_applied, err);
    if (decision_of_apply(sandbox, err) < 0 || note_begin(&note, err) < 0)
        return -(int)err->code;
    return note_end(&note, derive_apply(sandbox, dry_run, on_conflict, userdata, ret_applied, err),
                    err);
}

/* ---- life ------------------------------------------------------------------------------------ */

int hutch_sandbox_stop(struct hutch_sandbox *sandbox, uint64_t grace_ms, struct hutch_error *err)
{
    const struct note note = {.sandbox = sandbox, .kind = "stop"};
    OR_SCRATCH(err);
    if (note_begin(&note, err) < 0)
        return -(int)err->code;
    return note_end(&note, lifecycle_stop(sandbox, "stopped", grace_ms, err), err);
}

int hutch_sandbox_kill(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    const struct note note = {.sandbox = sandbox, .kind = "kill"};
    OR_SCRATCH(err);
    if (note_begin(&note, err) < 0)
        return -(int)err->code;
    return note_end(&note, lifecycle_stop(sandbox, "killed", 0, err), err);
}

int hutch_sandbox_start(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    hutch_cleanup(decision_done) struct decision decision = DECISION_INIT;
    OR_SCRATCH(err);
    if (decision_begin(&decision, "start", &sandbox->asker, err) < 0 ||
        decision_of_start(&decision, sandbox, err) < 0)
        return -(int)err->code;
    return lifecycle_start(sandbox, err);
}

int hutch_sandbox_pause(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    const struct note note = {.sandbox = sandbox, .kind = "pause"};
    OR_SCRATCH(err);
    if (note_begin(&note, err) < 0)
        return -(int)err->code;
    return note_end(&note, client_simple(sandbox, "pause", err), err);
}

int hutch_sandbox_resume(struct hutch_sandbox *sandbox, struct hutch_error *err)
{
    const struct note note = {.sandbox = sandbox, .kind = "resume"};
    OR_SCRATCH(err);
    if (note_begin(&note, err) < 0)
        return -(int)err->code;
    return note_end(&note, client_simple(sandbox, "resume", err), err);
}

int hutch_sandbox_remove(struct hutch_sandbox *sandbox, bool force, struct hutch_error *err)
{
    const struct note note = {.sandbox = sandbox, .kind = "remove"};
    OR_SCRATCH(err);
    if (note_begin(&note, err) < 0)
        return -(int)err->code;
    return note_end(&note, lifecycle_remove(sandbox, force, err), err);
}

int hutch_sandbox_update(struct hutch_sandbox *sandbox, size_t count, const char *const *fields,
                         const char *const *texts, struct hutch_error *err)
{
    struct wire_message request = WIRE_MESSAGE_INIT, answer;
    const struct note note = {
        .sandbox = sandbox, .kind = "update", .count = count, .fields = fields, .texts = texts};
    hutch_cleanup(decision_done) struct decision decision = DECISION_INIT;
    OR_SCRATCH(err);
    if (decision_begin(&decision, "update", &sandbox->asker, err) < 0 || note_begin(&note, err) < 0)
        return -(int)err->code;
    wire_begin(&request, "update");
    int status = decision_of_update(&decision, sandbox, count, fields, texts, &request, err);
    if (status == 0)
        status = sandbox_ask(sandbox, &request, &answer, err);
    hutch_buf_done(&request.text);
    if (status == 0)
        wire_done(&answer);
    return note_end(&note, status, err);
}

static void write_time(struct hutch_json_out *out, const char *key, uint64_t time_us)
{
    if (time_us)
        hutch_json_uint(out, key, time_us / 1000);
    else
        hutch_json_null(out, key);
}

static void write_stats(struct hutch_json_out *out, const struct hutch_stats *stats)
{
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {
        {"cpu_ms", stats->cpu_us == HUTCH_STATS_UNKNOWN ? stats->cpu_us : stats->cpu_us / 1000},
        {"memory_bytes", stats->memory_bytes},
        {"memory_peak_bytes", stats->memory_peak_bytes},
        {"pids", stats->pids},
        {"pids_peak", stats->pids_peak},
        {"disk_bytes", stats->disk_bytes},
        {"oom_kills", stats->oom_kills},
        {"running", stats->running}};
    hutch_json_open(out, "usage", '{');
    for (size_t i = 0; i < HUTCH_COUNT(rows); i++)
        if (rows[i].value == HUTCH_STATS_UNKNOWN)
            hutch_json_null(out, rows[i].key);
        else
            hutch_json_uint(out, rows[i].key, rows[i].value);
    hutch_json_close(out, '}');
}

int hutch_sandbox_to_json(struct hutch_sandbox *sandbox, char **ret_json, struct hutch_error *err)
{
    struct hutch_buf buf = HUTCH_BUF(JSON_MAX_BYTES);
    struct hutch_json_out out = {&buf, false};
    struct hutch_sandbox_info info = {0};
    struct hutch_stats stats = {0};
    struct hutch_spec *spec = NULL;
    struct hutch_error ignored = HUTCH_ERROR_INIT;
    hutch_autofree char *whole = NULL;
    struct hutch_egress *egress = NULL;
    OR_SCRATCH(err);
    if (hutch_sandbox_info(sandbox, &info, err) < 0)
        return -(int)err->code;
    bool has_stats = info.ended_us == 0 && hutch_sandbox_stats(sandbox, &stats, &ignored) == 0;
    /* asking may have told that it does not answer, or that it has just ended */
    if (hutch_sandbox_info(sandbox, &info, err) < 0 || sandbox_spec(sandbox, &spec, err) < 0)
        return -(int)err->code;
    int status = hutch_spec_to_json(spec, &whole, err);
    const char *backend = hutch_backend_name(hutch_spec_backend(spec));
    const char *level = hutch_spec_level(spec);
    hutch_spec_free(spec);
    if (status < 0)
        return status;
    hutch_json_open(&out, NULL, '{');
    hutch_json_string(&out, "name", info.name);
    hutch_json_string(&out, "id", info.id);
    hutch_json_string(&out, "state", info.state);
    hutch_json_string(&out, "reason", info.reason[0] ? info.reason : NULL);
    write_time(&out, "created_ms", info.created_us);
    write_time(&out, "started_ms", info.started_us);
    write_time(&out, "ended_ms", info.ended_us);
    hutch_json_string(&out, "writable_layer", info.on_disk ? "disk" : "memory");
    hutch_json_string(&out, "backend", backend);
    hutch_json_string(&out, "isolation", level);
    if (has_stats)
        write_stats(&out, &stats);
    if (egress_table_look(sandbox->home.dir, &egress, &ignored) == 0 && egress) {
        hutch_egress_report(&out, "egress", egress);
        hutch_egress_report_denials(&out, "egress_denied", egress);
        hutch_egress_free(egress);
    }
    hutch_json_raw(&out, "spec", whole);
    hutch_json_close(&out, '}');
    return hutch_buf_take(&buf, ret_json, NULL, err);
}
