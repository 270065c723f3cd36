// SPDX-License-Identifier: Apache-2.0
/*
 * measure: run one command many times and say how long each run took.
 *
 * Theory of operation. One single-threaded process keeps up to -j children alive. Each is started
 * by posix_spawn, which shares the address space instead of copying it, so the cost of starting is
 * the same for every command measured. A run's time is the monotonic clock from just before the
 * spawn until wait4 has returned. A run that did not end with the expected exit status is counted
 * as a failure and has no time. Standard input, output and error are /dev/null.
 *
 * "{}" in an argument becomes a number that is different in each run (container runtimes want a
 * fresh name every time).
 *
 * --drain measures a stream: the command's standard output is a pipe that is read to its end with
 * 64 KiB reads and thrown away, one run after the other; a run's time ends with wait4 as above.
 *
 * --chain measures several commands as one: an argument "," ends one and begins the next, each is
 * started when the one before has ended, and the run fails at the first that does.
 *
 * --rss measures memory instead of time. The rusage of wait4 cannot answer this: it is the maximum
 * over the child *and* the descendants it has reaped. So the child is traced, stopped at the last
 * moment at which its address space still exists (PTRACE_EVENT_EXIT), and VmHWM is read from
 * /proc/PID/status: the peak of the direct child and of nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PARALLEL = 256, MAX_ARGS = 1024, MAX_RUNS = 1000000, READ_SIZE = 65536 };

struct options {
    long runs;
    long warmups;
    long parallel;
    int expected_status;
    bool samples;
    bool rss;
    bool drain;
    bool chain;
    char **argv;
};

struct slot {
    pid_t pid; /* 0 when free */
    uint64_t started_ns;
};

struct outcome {
    uint64_t *sample_ns; /* successful runs only, in order of completion */
    long ok;
    long failed;
    int first_failure; /* wait status of the first failed run, -1 when it could not be started */
    long tree_maxrss_kib;
    long hwm_kib;
    uint64_t elapsed_ns;
    uint64_t drained_bytes; /* by the last run of --drain */
};

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
    exit(125);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Replaces the first "{}" of arg by the run's number; the result lives in buf. */
static char *number_arg(char *arg, long number, char *buf, size_t size)
{
    const char *mark = strstr(arg, "{}");
    if (!mark)
        return arg;
    snprintf(buf, size, "%.*s%ld-%ld%s", (int)(mark - arg), arg, (long)getpid(), number, mark + 2);
    return buf;
}

static pid_t start(char *const *argv, long number, const posix_spawn_file_actions_t *actions)
{
    static char text[4][4096]; /* at most four numbered arguments */
    char *args[MAX_ARGS];
    size_t used = 0, n = 0;
    for (; argv[n] && n + 1 < MAX_ARGS; n++) {
        args[n] = number_arg(argv[n], number, text[used], sizeof(text[0]));
        if (args[n] != argv[n] && ++used == sizeof(text) / sizeof(text[0]))
            used--;
    }
    args[n] = NULL;
    if (n == 0) {
        errno = EINVAL;
        return -1;
    }
    pid_t pid;
    int error = posix_spawnp(&pid, args[0], actions, NULL, args, environ);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return pid;
}

static void record(struct outcome *o, const struct options *opt, int status, uint64_t took_ns)
{
    if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == opt->expected_status) {
        o->sample_ns[o->ok++] = took_ns;
        return;
    }
    if (o->failed++ == 0)
        o->first_failure = status;
}

static struct slot *slot_of(struct slot *slots, long count, pid_t pid)
{
    for (long i = 0; i < count; i++)
        if (slots[i].pid == pid)
            return &slots[i];
    return NULL;
}

static void run_all(const struct options *opt, long runs, const posix_spawn_file_actions_t *actions,
                    struct outcome *o)
{
    struct slot slots[MAX_PARALLEL] = {0};
    long started = 0, alive = 0;
    uint64_t begin = now_ns();
    while (started < runs || alive > 0) {
        while (alive < opt->parallel && started < runs) {
            struct slot *s = slot_of(slots, opt->parallel, 0);
            uint64_t t = now_ns();
            pid_t pid = start(opt->argv, started++, actions);
            if (pid < 0) {
                record(o, opt, -1, 0);
                continue;
            }
            *s = (struct slot){.pid = pid, .started_ns = t};
            alive++;
        }
        if (alive == 0)
            continue;
        int status;
        struct rusage usage;
        pid_t pid = wait4(-1, &status, 0, &usage);
        uint64_t t = now_ns();
        struct slot *s = pid > 0 ? slot_of(slots, opt->parallel, pid) : NULL;
        if (!s) {
            if (pid < 0 && errno != EINTR)
                die("wait4");
            continue;
        }
        record(o, opt, status, t - s->started_ns);
        if (usage.ru_maxrss > o->tree_maxrss_kib)
            o->tree_maxrss_kib = usage.ru_maxrss;
        s->pid = 0;
        alive--;
    }
    o->elapsed_ns = now_ns() - begin;
}

static void open_null(posix_spawn_file_actions_t *actions)
{
    if (posix_spawn_file_actions_init(actions) != 0)
        die("posix_spawn_file_actions_init");
    for (int fd = 0; fd < 3; fd++)
        posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
}

static void run_timed(const struct options *opt, struct outcome *o)
{
    posix_spawn_file_actions_t actions;
    open_null(&actions);
    if (opt->warmups > 0) {
        run_all(opt, opt->warmups, &actions, o);
        *o = (struct outcome){.sample_ns = o->sample_ns};
    }
    run_all(opt, opt->runs, &actions, o);
    posix_spawn_file_actions_destroy(&actions);
}

static uint64_t read_to_end(int fd)
{
    static char buffer[READ_SIZE];
    uint64_t total = 0;
    for (ssize_t got; (got = read(fd, buffer, sizeof(buffer))) != 0;) {
        if (got < 0 && errno != EINTR)
            die("read");
        total += got > 0 ? (uint64_t)got : 0;
    }
    return total;
}

static void run_drain(const struct options *opt, long number, struct outcome *o)
{
    int ends[2], status = -1;
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC) < 0 || posix_spawn_file_actions_init(&actions) != 0)
        die("pipe");
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_RDWR, 0);
    uint64_t begin = now_ns();
    pid_t pid = start(opt->argv, number, &actions);
    close(ends[1]);
    if (pid > 0) {
        o->drained_bytes = read_to_end(ends[0]);
        if (waitpid(pid, &status, 0) != pid)
            die("waitpid");
    }
    uint64_t took = now_ns() - begin;
    o->elapsed_ns += took;
    record(o, opt, status, took);
    close(ends[0]);
    posix_spawn_file_actions_destroy(&actions);
}

/* Ends one command of a chain. Returns where the next begins, NULL after the last. */
static char **cut_chain(char **argv)
{
    for (; *argv; argv++)
        if (strcmp(*argv, ",") == 0) {
            *argv = NULL;
            return argv + 1;
        }
    return NULL;
}

static void run_chain(char *const *argv, long length, long number, const struct options *opt,
                      const posix_spawn_file_actions_t *actions, struct outcome *o)
{
    int status = 0;
    uint64_t begin = now_ns();
    for (long i = 0; i < length && status == 0; i++) {
        pid_t pid = start(argv, number, actions);
        if (pid < 0)
            status = -1;
        else if (waitpid(pid, &status, 0) != pid)
            die("waitpid");
        while (*argv++)
            ;
    }
    uint64_t took = now_ns() - begin;
    o->elapsed_ns += took;
    record(o, opt, status, took);
}

static void run_chains(const struct options *opt, struct outcome *o)
{
    posix_spawn_file_actions_t actions;
    long length = 1;
    for (char **next = opt->argv; (next = cut_chain(next));)
        length++;
    open_null(&actions);
    for (long i = 0; i < opt->warmups; i++)
        run_chain(opt->argv, length, i, opt, &actions, o);
    *o = (struct outcome){.sample_ns = o->sample_ns};
    for (long i = 0; i < opt->runs; i++)
        run_chain(opt->argv, length, opt->warmups + i, opt, &actions, o);
    posix_spawn_file_actions_destroy(&actions);
}

static long peak_of(pid_t pid)
{
    char path[64], line[256];
    long kib = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    while (fgets(line, sizeof(line), f))
        if (sscanf(line, "VmHWM: %ld kB", &kib) == 1)
            break;
    fclose(f);
    return kib;
}

/* The child stops itself before exec, so that it is seized before it can do anything. */
static pid_t start_traced(char *const *argv)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    if (null > 2)
        close(null);
    raise(SIGSTOP);
    execvp(argv[0], argv);
    _exit(127);
}

static void run_for_rss(const struct options *opt, struct outcome *o)
{
    pid_t pid = start_traced(opt->argv);
    int status;
    if (pid < 0 || waitpid(pid, &status, WUNTRACED) != pid)
        die("start");
    if (ptrace(PTRACE_SEIZE, pid, 0L, (long)PTRACE_O_TRACEEXIT) < 0)
        die("ptrace");
    kill(pid, SIGCONT);
    while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
        int event = status >> 16, sig = WSTOPSIG(status);
        if (event == PTRACE_EVENT_EXIT) {
            long kib = peak_of(pid);
            if (kib > o->hwm_kib)
                o->hwm_kib = kib;
        }
        /* A seized child reports group stops and SIGCONT as events; those are not to be delivered.
         */
        ptrace(PTRACE_CONT, pid, 0L, (long)(event != 0 ? 0 : sig));
    }
    record(o, opt, status, 0);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t quantile(const uint64_t *sorted, long count, double q)
{
    if (count == 0)
        return 0;
    long i = (long)(q * (double)(count - 1) + 0.5);
    return sorted[i];
}

static void print_outcome(const struct options *opt, struct outcome *o)
{
    uint64_t sum = 0;
    if (opt->samples) {
        printf("{\"samples_ns\": [");
        for (long i = 0; i < o->ok; i++)
            printf("%s%" PRIu64, i ? ", " : "", o->sample_ns[i]);
        printf("],\n ");
    } else {
        printf("{");
    }
    for (long i = 0; i < o->ok; i++)
        sum += o->sample_ns[i];
    qsort(o->sample_ns, (size_t)o->ok, sizeof(uint64_t), by_value);
    printf("\"runs\": %ld, \"failures\": %ld, \"first_failure\": %d, \"parallel\": %ld,\n", o->ok,
           o->failed, o->first_failure, opt->parallel);
    printf(" \"min_ns\": %" PRIu64 ", \"median_ns\": %" PRIu64 ", \"p99_ns\": %" PRIu64
           ", \"max_ns\": %" PRIu64 ", \"mean_ns\": %" PRIu64 ",\n",
           quantile(o->sample_ns, o->ok, 0), quantile(o->sample_ns, o->ok, 0.5),
           quantile(o->sample_ns, o->ok, 0.99), quantile(o->sample_ns, o->ok, 1),
           o->ok ? sum / (uint64_t)o->ok : 0);
    printf(" \"elapsed_ns\": %" PRIu64 ", \"per_second\": %.2f, \"tree_maxrss_kib\": %ld, "
           "\"peak_rss_kib\": %ld, \"drained_bytes\": %" PRIu64 "}\n",
           o->elapsed_ns, o->elapsed_ns ? (double)o->ok * 1e9 / (double)o->elapsed_ns : 0.0,
           o->tree_maxrss_kib, o->hwm_kib, o->drained_bytes);
}

static long number(const char *text, long low, long high)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || v < low || v > high) {
        fprintf(stderr, "measure: '%s' is not a number from %ld to %ld\n", text, low, high);
        exit(125);
    }
    return v;
}

static void usage(void)
{
    fputs("usage: measure [-n RUNS] [-w WARMUPS] [-j PARALLEL] [-s STATUS] [--samples] "
          "[--rss|--drain|--chain]"
          " -- CMD ARG...\n",
          stderr);
    exit(125);
}

static struct options parse(int argc, char **argv)
{
    static const struct option longs[] = {{"samples", no_argument, NULL, 'S'},
                                          {"rss", no_argument, NULL, 'R'},
                                          {"drain", no_argument, NULL, 'D'},
                                          {"chain", no_argument, NULL, 'C'},
                                          {NULL, 0, NULL, 0}};
    struct options o = {.runs = 100, .warmups = 0, .parallel = 1};
    for (int c; (c = getopt_long(argc, argv, "+n:w:j:s:", longs, NULL)) != -1;) {
        if (c == 'n')
            o.runs = number(optarg, 1, MAX_RUNS);
        else if (c == 'w')
            o.warmups = number(optarg, 0, MAX_RUNS);
        else if (c == 'j')
            o.parallel = number(optarg, 1, MAX_PARALLEL);
        else if (c == 's')
            o.expected_status = (int)number(optarg, 0, 255);
        else if (c == 'S')
            o.samples = true;
        else if (c == 'R')
            o.rss = true;
        else if (c == 'D')
            o.drain = true;
        else if (c == 'C')
            o.chain = true;
        else
            usage();
    }
    if (optind >= argc)
        usage();
    o.argv = argv + optind;
    return o;
}

int main(int argc, char **argv)
{
    struct options opt = parse(argc, argv);
    struct outcome o = {0};
    long most = opt.runs > opt.warmups ? opt.runs : opt.warmups;
    o.sample_ns = calloc((size_t)most, sizeof(uint64_t));
    if (!o.sample_ns)
        die("memory");

    for (long i = 0; i < opt.runs && opt.rss; i++)
        run_for_rss(&opt, &o);
    for (long i = 0; i < opt.runs && opt.drain; i++)
        run_drain(&opt, i, &o);
    if (opt.chain)
        run_chains(&opt, &o);
    if (!opt.rss && !opt.drain && !opt.chain)
        run_timed(&opt, &o);
    print_outcome(&opt, &o);
    free(o.sample_ns);
    return o.failed > 0;
}
