/* SPDX-License-Identifier: Apache-2.0 */
/* hutch-porter: see order.h. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/container/build.h"
#include "porter/engines.h"
#include "porter/keep.h"
#include "porter/porter.h"
#include "util/fs.h"
#include "util/own.h"

static int probe(const struct container_ops *ops, const char *runtime, struct hutch_error *err)
{
    struct porter_probe found = {.error = HUTCH_ERROR_INIT};
    struct hutch_spec *spec = NULL;
    if (hutch_spec_new(&spec, err) < 0)
        return -(int)err->code;
    (void)!ops->probe(spec, runtime, NULL, &found); /* what failed is in it */
    hutch_spec_free(spec);
    return hutch_write_all(STDOUT_FILENO, &found, sizeof(found)) == 0
               ? 0
               : hutch_fail_errno(err, errno, "say what the engine can do");
}

static int remove_one(const struct container_ops *ops, const char *id, struct hutch_error *err)
{
    if (!*id)
        return hutch_fail(err, HUTCH_E_INVALID, 0, "which container is to be removed?");
    return ops->remove(id, err);
}

static void say_swept(void *userdata, const char *kind, const char *what)
{
    (void)userdata;
    (void)printf("%s\t%s\n", kind, what);
}

static int sweep(const struct container_ops *ops, const char *word, struct hutch_error *err)
{
    return ops->sweep(!strcmp(word, "dry"), say_swept, NULL, err);
}

/* A text of an engine's may hold anything; a line has its fields all the same. */
static void print_field(const char *text, char end)
{
    for (; *text; text++)
        (void)putchar(*text == '\t' || *text == '\n' ? ' ' : *text);
    (void)putchar(end);
}

static void say_check(void *userdata, const struct hutch_check *check)
{
    static const char *const statuses[] = {
        [HUTCH_CHECK_OK] = "ok", [HUTCH_CHECK_WARN] = "warn", [HUTCH_CHECK_FAIL] = "fail"};
    (void)userdata;
    print_field(check->name, '\t');
    print_field(statuses[check->status], '\t');
    print_field(check->detail, '\t');
    print_field(check->remedy, '\n');
}

static int doctor(const struct container_ops *ops, const char *word, struct hutch_error *err)
{
    (void)word;
    return ops->doctor(say_check, NULL, err);
}

static int build(const struct container_ops *ops, const char *word, struct hutch_error *err)
{
    (void)word;
    if (!ops->build)
        return hutch_fail(err, HUTCH_E_UNSUPPORTED, 0, "backend '%s' has no images of its own",
                          ops->backend);
    return container_build_serve(PORTER_SOCKET_FD, ops->build, err);
}

static const struct {
    const char *name;
    int (*run)(const struct container_ops *ops, const char *word, struct hutch_error *err);
} verbs[] = {
    {PORTER_VERB_PROBE, probe},   {PORTER_VERB_REMOVE, remove_one}, {PORTER_VERB_SWEEP, sweep},
    {PORTER_VERB_DOCTOR, doctor}, {PORTER_VERB_BUILD, build},
};

bool porter_is_called(int argc, char *const *argv)
{
    return argc > 0 && !strcmp(argv[0], PORTER_NAME);
}

static int run_verb(const char *name, const char *backend, const char *word,
                    struct hutch_error *err)
{
    const struct container_ops *ops = NULL;
    for (size_t i = 0; i < HUTCH_COUNT(verbs); i++)
        if (!strcmp(verbs[i].name, name))
            return engine_find(backend, &ops, err) < 0 ? -(int)err->code
                                                       : verbs[i].run(ops, word, err);
    return hutch_fail(err, HUTCH_E_INVALID, 0, "a porter knows no verb '%.40s'", name);
}

static int report(int status, const struct hutch_error *err)
{
    if (status == 0 && fflush(stdout) == 0)
        return 0;
    (void)fprintf(stderr, "%s\n", err->msg);
    return hutch_code_exit_status(err->code);
}

int porter_main(int argc, char *const *argv)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    /* whoever started us may have left others open, which are nothing to us nor to an engine */
    (void)syscall(SYS_close_range, PORTER_CONTROL_FD + 1, ~0u, 0);
    (void)umask(
        022); /* and may make its own files for nobody: an engine's are for others to read */
    if (argc == 3 && !strcmp(argv[1], PORTER_VERB_KEEP))
        return porter_keep(argv[2]);
    if (argc == 3 && !strcmp(argv[1], PORTER_VERB_YAML))
        return report(porter_yaml(&err), &err);
    int status = argc < 3 ? hutch_fail(&err, HUTCH_E_INVALID, 0,
                                       "usage: " PORTER_NAME " VERB BACKEND [WORD]")
                          : run_verb(argv[1], argv[2], argc > 3 ? argv[3] : "", &err);
    return report(status, &err);
}
