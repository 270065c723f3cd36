/* SPDX-License-Identifier: Apache-2.0 */
/* What happened, from what the kernel counted. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "backend/native/keeper.h"
#include "backend/native/programs.h"
#include "core/isolation.h"
#include "util/error.h"

#define EXIT_TIMEOUT 124

/* A kernel of its own, such as gVisor's, dies of a limit where another would refuse. */
static enum hutch_reason reason_of_death(const struct keeper *keeper)
{
    if (keeper->events.oom_kills)
        return HUTCH_REASON_OOM;
    return keeper->events.pids_refused ? HUTCH_REASON_PIDS_LIMIT : HUTCH_REASON_SANDBOX_DIED;
}

/* A limit is the reason only when the kernel counted it being hit and the command did not succeed
 * all the same. */
static enum hutch_reason reason_of(const struct keeper *keeper)
{
    if (keeper->has_failure)
        return HUTCH_REASON_SETUP_FAILED;
    if (keeper->killed)
        return keeper->ended_by;
    if (!keeper->has_status)
        return reason_of_death(keeper);
    if (keeper->status == 0)
        return HUTCH_REASON_EXITED;
    if (keeper->events.oom_kills)
        return HUTCH_REASON_OOM;
    if (keeper->disk_full)
        return HUTCH_REASON_DISK_LIMIT;
    if (keeper->events.pids_refused)
        return HUTCH_REASON_PIDS_LIMIT;
    return WIFSIGNALED(keeper->status) ? HUTCH_REASON_SIGNALED : HUTCH_REASON_EXITED;
}

static void fill_end(const struct keeper *keeper, struct hutch_result *result)
{
    result->reason = reason_of(keeper);
    if (result->reason == HUTCH_REASON_SETUP_FAILED) {
        result->error = keeper->failure;
        result->exit_code = hutch_code_exit_status(keeper->failure.code);
        return;
    }
    if (keeper->has_status && WIFEXITED(keeper->status) && !keeper->killed)
        result->exit_code = WEXITSTATUS(keeper->status);
    else if (keeper->has_status && WIFSIGNALED(keeper->status))
        result->signal = WTERMSIG(keeper->status);
    else
        result->signal = SIGKILL; /* ended with its whole namespace */
    if (result->signal)
        result->exit_code = 128 + result->signal;
    if (result->reason == HUTCH_REASON_TIMEOUT || result->reason == HUTCH_REASON_IDLE_TIMEOUT)
        result->exit_code = EXIT_TIMEOUT;
    /* what the command did is told all the same; but of one whose words were lost its own exit code
     * would say too much */
    bool is_lost = streams_check(keeper, &result->error) < 0;
    if (!is_lost)
        result->error = keeper->artifacts_failure;
    if (is_lost || (result->error.code && !result->exit_code))
        result->exit_code = hutch_code_exit_status(result->error.code);
    result->ok = result->reason == HUTCH_REASON_EXITED && result->exit_code == 0;
}

static int fill_output(struct keeper *keeper, struct hutch_result_owned *owned,
                       struct hutch_error *err)
{
    struct {
        struct capture *capture;
        struct hutch_output *output;
    } rows[] = {{&keeper->streams[0].capture, &owned->result.out},
                {&keeper->streams[1].capture, &owned->result.err},
                {&keeper->both, &owned->result.both}};
    for (size_t i = 0; i < 3; i++)
        if (capture_finish(rows[i].capture, rows[i].output, &owned->data[i], err) < 0)
            return -(int)err->code;
    return 0;
}

/* PID 1 is gone, nobody sent it away, and the command never ran. */
static void explain_silence(struct keeper *keeper)
{
    if (keeper->started_us || keeper->has_status || keeper->has_failure || keeper->killed ||
        keeper->events.oom_kills)
        return;
    keeper->has_failure = true;
    if (keeper->engine != &native_engine)
        (void)hutch_fail(
            &keeper->failure, HUTCH_E_SYSTEM, 0,
            "the container's PID 1 ended before it could start the command; the log of "
            "the engine (backend %s) may say why",
            hutch_backend_name(hutch_spec_backend(keeper->spec)));
    else {
        program_forget(&program_init);
        (void)hutch_fail(&keeper->failure, HUTCH_E_SYSTEM, 0,
                         "the sandbox's PID 1 ended before it could start the command; 'hutch "
                         "doctor' checks what it needs");
    }
}

/* The groups are the better witness of processor time: wait4 misses who was killed with PID 1, or
 * was never waited for. */
void keeper_read_usage(struct keeper *keeper)
{
    bool has_succeeded = keeper->has_status && keeper->status == 0;
    bool is_unwanted = !keeper->counts_usage && !keeper->audit.life && has_succeeded;
    keeper->has_usage =
        is_unwanted || keeper->engine->read_usage(keeper, &keeper->usage, &keeper->events);
}

struct hutch_usage keeper_usage(const struct keeper *keeper)
{
    struct hutch_usage usage = keeper->usage;
    if (keeper->rusage_cpu_us > usage.cpu_us)
        usage.cpu_us = keeper->rusage_cpu_us;
    return usage;
}

static void fill_usage(const struct keeper *keeper, struct hutch_usage *usage)
{
    if (!keeper->counts_usage)
        return;
    *usage = keeper_usage(keeper);
    usage->oom_kills = keeper->events.oom_kills;
    usage->disk_peak_bytes = keeper->disk_seen_bytes;
}

int keeper_result(struct keeper *keeper, struct hutch_result **ret_result, struct hutch_error *err)
{
    struct hutch_result_owned *owned = hutch_result_new();
    if (!owned)
        return hutch_fail_nomem(err);
    struct hutch_result *result = &owned->result;
    if (fill_output(keeper, owned, err) < 0) {
        hutch_result_free(result);
        return -(int)err->code;
    }
    memcpy(result->id, keeper->id, sizeof(result->id));
    if (!keeper->has_usage)
        keeper_read_usage(keeper);
    fill_usage(keeper, &result->usage);
    explain_silence(keeper);
    fill_end(keeper, result);
    result->held_pipes = keeper->held_pipes;
    if (keeper->started_us)
        result->duration_us = keeper->ended_us - keeper->started_us;
    result->backend = hutch_backend_name(hutch_spec_backend(keeper->spec));
    result->isolation_level = hutch_spec_level(keeper->spec);
    result->writable_layer = keeper->is_on_disk || keeper->pool.dir >= 0 ? "disk" : "memory";
    hutch_result_set_missing(owned, keeper->missing);
    if (keeper->gateway.is_wanted) { /* what it has told is final once it is gone */
        gateway_end(&keeper->gateway);
        if (egress_table_read(keeper->gateway.table, &owned->egress, err) < 0) {
            hutch_result_free(result);
            return -(int)err->code;
        }
        result->egress = owned->egress;
    }
    *ret_result = result;
    return 0;
}
