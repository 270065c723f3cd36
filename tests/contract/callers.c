/* SPDX-License-Identifier: Apache-2.0 */
/* A library is a guest in its caller's process: whatever state that is in, runs go well, and it is
 * in the same state afterwards. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract.h"

static void run_once(void)
{
    struct hutch_result *result = contract_run(contract_spec("echo hello; exit 5"), NULL);
    assert_reason(result, HUTCH_REASON_EXITED, 5);
    assert_output(&result->out, "hello\n");
    hutch_result_free(result);
}

/* --- threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, RUNS = 15 };

struct worker {
    int number;
    atomic_int failures;
};

/* cmocka's assertions belong to the first thread: here failures are counted. */
static void *work(void *userdata)
{
    struct worker *worker = userdata;
    for (int i = 0; i < contract_times(RUNS); i++) {
        char script[64];
        char expected[32];
        struct hutch_error err = HUTCH_ERROR_INIT;
        struct hutch_result *result = NULL;
        (void)snprintf(script, sizeof(script), "echo %d-%d; exit %d", worker->number, i, i);
        (void)snprintf(expected, sizeof(expected), "%d-%d\n", worker->number, i);
        struct hutch_spec *spec = contract_spec(script);
        if (hutch_run(spec, NULL, &result, &err) < 0 || result->exit_code != i ||
            strcmp(result->out.data, expected) != 0)
            worker->failures++;
        hutch_result_free(result);
        hutch_spec_free(spec);
    }
    return NULL;
}

static void threads_run_sandboxes_at_the_same_time(void **state)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        atomic_init(&workers[i].failures, 0);
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].failures, 0);
    }
}

static void *run_in_thread(void *userdata)
{
    struct worker *worker = userdata;
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_result *result = NULL;
    struct hutch_spec *spec = contract_spec("sleep 0.5; echo alive");
    if (hutch_run(spec, NULL, &result, &err) < 0 || result->reason != HUTCH_REASON_EXITED)
        worker->failures++;
    hutch_result_free(result);
    hutch_spec_free(spec);
    return NULL;
}

/* Killing "when the parent dies" must not mean another thread's end. */
static void a_sandbox_outlives_other_threads(void **state)
{
    struct worker worker = {.number = 0};
    struct worker brief = {.number = 1};
    pthread_t threads[2];
    (void)state;
    atomic_init(&worker.failures, 0);
    atomic_init(&brief.failures, 0);
    assert_int_equal(pthread_create(&threads[0], NULL, run_in_thread, &worker), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, work, &brief), 0);
    assert_int_equal(pthread_join(threads[1], NULL), 0);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    assert_int_equal(worker.failures + brief.failures, 0);
}

/* --- children -------------------------------------------------------------------------------- */

static void set_handler(int number, void (*handler)(int), struct sigaction *before)
{
    struct sigaction action = {.sa_handler = handler};
    assert_int_equal(sigaction(number, &action, before), 0);
}

static void a_caller_that_ignores_its_children(void **state)
{
    struct sigaction before;
    (void)state;
    set_handler(SIGCHLD, SIG_IGN, &before);
    for (int i = 0; i < 5; i++)
        run_once();
    const char *directory = contract_directory(); /* an owner's namespace needs a child too */
    struct hutch_spec *spec = contract_spec("echo x >f");
    contract_set(spec, "workspace", directory);
    hutch_result_free(contract_run(spec, NULL));
    assert_true(contract_exists(directory, "f"));
    assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
}

static void reap_all(int number)
{
    int saved = errno;
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    errno = saved;
}

static void a_caller_that_reaps_whatever_ends(void **state)
{
    struct sigaction before;
    (void)state;
    set_handler(SIGCHLD, reap_all, &before);
    for (int i = 0; i < 10; i++)
        run_once();
    assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
}

static void the_callers_own_children_stay_its_own(void **state)
{
    int status = 0;
    pid_t child = fork();
    (void)state;
    if (child == 0)
        _exit(42);
    assert_true(child > 0);
    run_once();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
}

static void no_child_is_left(void **state)
{
    (void)state;
    run_once();
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    assert_int_equal(errno, ECHILD);
}

/* --- descriptors ----------------------------------------------------------------------------- */

static void descriptors_that_are_inherited_do_not_get_in(void **state)
{
    int fds[64];
    (void)state;
    for (size_t i = 0; i < COUNT(fds); i++) {
        fds[i] = open("/", O_RDONLY | O_DIRECTORY); // NOLINT: inherited on purpose
        assert_true(fds[i] >= 0);
    }
    struct hutch_result *result = contract_run(contract_spec("cd /proc/self/fd && echo *"), NULL);
    assert_output(&result->out, "0 1 2 3\n");
    hutch_result_free(result);
    for (size_t i = 0; i < COUNT(fds); i++)
        assert_int_equal(close(fds[i]), 0);
}

static void run_many_kinds(void)
{
    struct hutch_run_options options = HUTCH_RUN_OPTIONS_INIT;
    struct hutch_spec *spec;
    run_once();
    options.stdin_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    hutch_result_free(contract_run(contract_spec("cat"), &options));
    assert_int_equal(close(options.stdin_fd), 0);
    spec = contract_spec("sleep 100");
    contract_set(spec, "limits.timeout", "50ms");
    hutch_result_free(contract_run(spec, NULL));
    hutch_result_free(contract_run(contract_spec("exec no-such-program"), NULL));
    spec = contract_spec("true");
    contract_set(spec, "mounts", "/no/such/directory:/data");
    contract_refuse(spec, HUTCH_E_NOT_FOUND);
    spec = contract_spec("echo x >/artifacts/x");
    contract_set(spec, "workspace", contract_directory());
    contract_set(spec, "artifacts", contract_directory());
    contract_set(spec, "tmpfs", "/scratch");
    hutch_result_free(contract_run(spec, NULL));
}

static void no_descriptor_leaks(void **state)
{
    (void)state;
    run_many_kinds();
    unsigned before = open_descriptors();
    for (int i = 0; i < contract_times(5); i++)
        run_many_kinds();
    assert_int_equal(open_descriptors(), before);
}

/* In a process of its own, which has none of the three. */
static int run_without_stdio(void)
{
    static const char *const command[] = {"sh", "-c",
                                          "echo out; echo err >&2; cd /proc/self/fd; "
                                          "for f in *; do echo $f; done"};
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = NULL;
    struct hutch_result *result = NULL;
    for (int fd = 0; fd < 3; fd++)
        (void)close(fd);
    if (hutch_spec_new(&spec, &err) < 0 ||
        hutch_spec_set_command(spec, COUNT(command), command, &err) < 0 ||
        hutch_spec_set(spec, "allow_missing", "all", &err) < 0)
        return 10;
    contract_prepare(spec);
    if (hutch_run(spec, NULL, &result, &err) < 0)
        return 11;
    if (result->exit_code != 0 || strcmp(result->out.data, "out\n0\n1\n2\n3\n") != 0 ||
        strcmp(result->err.data, "err\n") != 0)
        return 12;
    for (int fd = 0; fd < 3; fd++) /* nothing of ours stays in their place */
        if (fcntl(fd, F_GETFD) >= 0)
            return 13;
    return 0;
}

static void a_caller_without_standard_descriptors(void **state)
{
    int status = 0;
    pid_t child = fork();
    (void)state;
    if (child == 0)
        _exit(run_without_stdio());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- the rest of the process ----------------------------------------------------------------- */

static void the_callers_state_is_as_before(void **state)
{
    sigset_t mask_before, mask_after, ours;
    char directory_before[512], directory_after[512];
    int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    int death_signal = 0;
    mode_t mask = umask(027);
    (void)state;
    sigemptyset(&ours);
    sigaddset(&ours, SIGUSR2);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &ours, NULL), 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mask_before), 0);
    assert_int_equal(prctl(PR_SET_PDEATHSIG, SIGUSR2, 0, 0, 0), 0);
    assert_non_null(getcwd(directory_before, sizeof(directory_before)));
    run_many_kinds();
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mask_after), 0);
    for (int number = 1; number < 65; number++)
        assert_int_equal(sigismember(&mask_before, number), sigismember(&mask_after, number));
    assert_non_null(getcwd(directory_after, sizeof(directory_after)));
    assert_string_equal(directory_before, directory_after);
    assert_int_equal(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), dumpable);
    assert_int_equal(prctl(PR_GET_PDEATHSIG, &death_signal, 0, 0, 0), 0);
    assert_int_equal(death_signal, SIGUSR2);
    assert_int_equal(umask(mask), 027);
    (void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    (void)pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
}

static void the_callers_umask_and_blocked_signals_do_not_get_in(void **state)
{
    sigset_t all, before;
    mode_t mask = umask(0777);
    (void)state;
    sigfillset(&all);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
    struct hutch_result *result = contract_run(
        contract_spec("umask; awk '/^Sig(Blk|Ign)/ {print $2}' /proc/self/status; kill -TERM $$"),
        NULL);
    const char *runtime = contract_field("runtime");
    bool is_silent = runtime && !strcmp(runtime, "runsc"); /* gVisor does not tell of signals */
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    (void)umask(mask);
    assert_reason(result, HUTCH_REASON_SIGNALED, 128 + SIGTERM);
    assert_output(&result->out,
                  is_silent ? "0022\n" : "0022\n0000000000000000\n0000000000000000\n");
    hutch_result_free(result);
}

static void one_spec_serves_many_runs(void **state)
{
    struct hutch_error err = HUTCH_ERROR_INIT;
    struct hutch_spec *spec = contract_spec("echo again >>/tmp/f; cat /tmp/f");
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct hutch_result *result = NULL;
        assert_int_equal(hutch_run(spec, NULL, &result, &err), 0);
        assert_output(&result->out, "again\n");
        hutch_result_free(result);
    }
    hutch_spec_free(spec);
}

static void nothing_is_left_for_a_sweep(void **state)
{
    (void)state;
    run_many_kinds();
    assert_nothing_is_left();
}

CONTRACT_TABLE(contract_callers, TEST(threads_run_sandboxes_at_the_same_time),
               TEST(a_sandbox_outlives_other_threads), TEST(a_caller_that_ignores_its_children),
               TEST(a_caller_that_reaps_whatever_ends), TEST(the_callers_own_children_stay_its_own),
               TEST(no_child_is_left), TEST(descriptors_that_are_inherited_do_not_get_in),
               TEST(no_descriptor_leaks), TEST(a_caller_without_standard_descriptors),
               TEST(the_callers_state_is_as_before),
               TEST(the_callers_umask_and_blocked_signals_do_not_get_in),
               TEST(one_spec_serves_many_runs), TEST(nothing_is_left_for_a_sweep));
