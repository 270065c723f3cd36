/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a spec, runs it with live output and reads the result: cc run.c $(pkg-config --cflags
 * --libs libhutch) */
#include <hutch/hutch.h>
#include <stdio.h>

static void show(void *userdata, enum hutch_stream stream, const char *data, size_t length)
{
    (void)userdata;
    (void)fwrite(data, 1, length, stream == HUTCH_STDERR ? stderr : stdout);
}

int main(void)
{
    const char *const command[] = {"sh", "-c", "echo \"hello from $(id -un)\"; exit 3"};
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    struct hutch_spec *spec = NULL;
    int status = 1;

    options.on_output = show;
    if (hutch_spec_new(&spec, &err) < 0 || hutch_spec_set_command(spec, 3, command, &err) < 0 ||
        hutch_spec_set(spec, "limits.timeout", "10s", &err) < 0 ||
        hutch_spec_set(spec, "limits.memory", "64m", &err) < 0 ||
        hutch_run(spec, &options, &result, &err) < 0) {
        (void)fprintf(stderr, "%s (%s)\n", err.msg, hutch_code_name(err.code));
        goto done;
    }
    printf("%s with exit code %d after %llu us\n", hutch_reason_name(result->reason),
           result->exit_code, (unsigned long long)result->duration_us);
    status = 0;
done:
    hutch_result_free(result);
    hutch_spec_free(spec);
    return status;
}
