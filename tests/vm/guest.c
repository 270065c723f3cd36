/* SPDX-License-Identifier: Apache-2.0 */
/* The one program of the test machine that is not busybox.
 *
 * It has two kinds of modes. Payloads run inside a sandbox and do one bad thing each: take memory,
 * fork, burn processor time, fill a disk, refuse to die. Tools run outside and do what a shell
 * without jq cannot: read one field of a JSON document, become a user in a cgroup, describe
 * everything a sandbox could have left behind. It is linked statically. Inside it is called
 * "payload", so that its processes can be told from those of the harness. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1024 * 1024)

/* Exit codes of payloads: the shell side tells them apart from 1 and from 128 + signal. */
enum { EXIT_USAGE = 64, EXIT_REFUSED = 28 };

static long number(const char *text)
{
    char *end = NULL;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 0) {
        fprintf(stderr, "guest: '%s' is not a number\n", text);
        exit(EXIT_USAGE);
    }
    return value;
}

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void sleep_ms(long ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

static int refused(const char *what)
{
    fprintf(stderr, "guest: %s: %s\n", what, strerror(errno));
    return EXIT_REFUSED;
}

/* ---- payloads ---- */

/* One byte per page, one MiB at a time, so that a limit is met on the way and not at the end. */
static int touch(char *memory, size_t size)
{
    for (size_t at = 0; at < size; at += 4096)
        *(volatile char *)(memory + at) = (char)(at >> 12 | 1);
    printf("touched %zu MiB\n", size / MIB);
    return 0;
}

static int mode_alloc(char **argv)
{
    size_t size = (size_t)number(argv[0]) * MIB;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? refused("mmap") : touch(memory, size);
}

static int mode_memfd(char **argv)
{
    size_t size = (size_t)number(argv[0]) * MIB;
    int fd = memfd_create("bomb", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
        return refused("memfd");
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? refused("mmap") : touch(memory, size);
}

static int mode_fork(char **argv)
{
    long wanted = number(argv[0]);
    for (long made = 0; made < wanted; made++) {
        pid_t pid = fork();
        if (pid == 0) {
            pause();
            _exit(0);
        }
        if (pid < 0) {
            printf("forked %ld\n", made);
            return refused("fork");
        }
    }
    printf("forked %ld\n", wanted);
    return 0;
}

static int mode_spin(char **argv)
{
    long end = now_ms() + number(argv[0]);
    while (now_ms() < end)
        ;
    return 0;
}

static int mode_write(char **argv)
{
    static char block[64 * 1024];
    size_t left = (size_t)number(argv[1]) * MIB;
    size_t written = 0;
    int fd = open(argv[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return refused(argv[0]);
    memset(block, 'x', sizeof(block));
    while (written < left) {
        ssize_t n = write(fd, block, sizeof(block));
        if (n < 0) {
            printf("wrote %zu\n", written);
            return refused("write");
        }
        written += (size_t)n;
    }
    printf("wrote %zu\n", written);
    return close(fd) < 0 ? refused("close") : 0;
}

static int mode_files(char **argv)
{
    long wanted = number(argv[1]);
    for (long made = 0; made < wanted; made++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/file-%ld", argv[0], made);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0) {
            printf("made %ld\n", made);
            return refused("create");
        }
        close(fd);
    }
    printf("made %ld\n", wanted);
    return 0;
}

/* A double-forked daemon in its own session that ignores every signal it may ignore and keeps the
 * output pipes open; the leader stays for the given time and then ends well. */
static int mode_daemon(char **argv)
{
    pid_t pid = fork();
    if (pid < 0)
        return refused("fork");
    if (pid == 0) {
        for (int sig = 1; sig < NSIG; sig++)
            signal(sig, SIG_IGN);
        setsid();
        if (fork() != 0)
            _exit(0);
        for (;;)
            sleep_ms(1000);
    }
    sleep_ms(number(argv[0]));
    return 0;
}

static int mode_exit(char **argv)
{
    return (int)number(argv[0]);
}

static int mode_kill_self(char **argv)
{
    raise((int)number(argv[0]));
    return refused("the signal did nothing");
}

/* ---- tools: JSON ---- */

/* A strict reader over one document: it builds nothing, it only moves. */
struct json {
    const char *at;
    const char *end;
};

static bool json_value(struct json *json, int depth);

static void json_space(struct json *json)
{
    while (json->at < json->end && strchr(" \t\r\n", *json->at) != NULL && *json->at != '\0')
        json->at++;
}

static bool json_char(struct json *json, char wanted)
{
    json_space(json);
    if (json->at >= json->end || *json->at != wanted)
        return false;
    json->at++;
    return true;
}

static bool json_escape(struct json *json)
{
    if (json->at >= json->end)
        return false;
    char kind = *json->at++;
    if (kind != 'u')
        return kind != '\0' && strchr("\"\\/bfnrt", kind) != NULL;
    for (int i = 0; i < 4; i++, json->at++)
        if (json->at >= json->end || !isxdigit((unsigned char)*json->at))
            return false;
    return true;
}

static bool json_string(struct json *json)
{
    if (!json_char(json, '"'))
        return false;
    while (json->at < json->end) {
        char c = *json->at++;
        if (c == '"')
            return true;
        if ((unsigned char)c < 0x20 || (c == '\\' && !json_escape(json)))
            return false;
    }
    return false;
}

static bool json_list(struct json *json, char closing, bool keys, int depth)
{
    json->at++;
    if (json_char(json, closing))
        return true;
    do {
        if (keys && (!json_string(json) || !json_char(json, ':')))
            return false;
        if (!json_value(json, depth + 1))
            return false;
    } while (json_char(json, ','));
    return json_char(json, closing);
}

static bool json_word(struct json *json)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(json->end - json->at) >= length && memcmp(json->at, words[i], length) == 0) {
            json->at += length;
            return true;
        }
    }
    char *end = NULL;
    size_t length = strspn(json->at, "+-.0123456789eE");
    strtod(json->at, &end);
    if (length == 0 || *json->at == '+' || end != json->at + length)
        return false;
    json->at = end;
    return true;
}

static bool json_value(struct json *json, int depth)
{
    json_space(json);
    if (json->at >= json->end || depth > 32)
        return false;
    switch (*json->at) {
    case '{':
        return json_list(json, '}', true, depth);
    case '[':
        return json_list(json, ']', false, depth);
    case '"':
        return json_string(json);
    default:
        return json_word(json);
    }
}

/* Moves to the value of one key of the object the reader stands at. */
static bool json_enter(struct json *json, const char *key, size_t key_length)
{
    json_space(json);
    if (!json_char(json, '{') || json_char(json, '}'))
        return false;
    do {
        json_space(json);
        const char *name = json->at + 1;
        if (!json_string(json))
            return false;
        size_t length = (size_t)(json->at - 1 - name);
        json_char(json, ':');
        json_space(json);
        if (length == key_length && memcmp(name, key, length) == 0)
            return true;
        if (!json_value(json, 0))
            return false;
    } while (json_char(json, ','));
    return false;
}

/* Strings lose their quotes and simple escapes; all else is printed as it is written. */
static void json_print(const char *from, const char *to)
{
    static const char names[] = "bfnrt";
    static const char meanings[] = "\b\f\n\r\t";
    bool quoted = *from == '"';
    for (const char *at = quoted ? from + 1 : from; at < (quoted ? to - 1 : to); at++) {
        const char *known = quoted && *at == '\\' ? strchr(names, at[1]) : NULL;
        if (known != NULL)
            putchar(meanings[known - names]);
        else if (quoted && *at == '\\' && at[1] != 'u')
            putchar(at[1]);
        else
            putchar(*at);
        if (quoted && *at == '\\' && at[1] != 'u')
            at++;
    }
    putchar('\n');
}

static char *read_all(const char *path, size_t *ret_length)
{
    FILE *file = fopen(path, "re");
    size_t capacity = 4 * MIB;
    char *text = malloc(capacity + 1);
    if (file == NULL || text == NULL) {
        perror(path);
        exit(EXIT_USAGE);
    }
    *ret_length = fread(text, 1, capacity, file);
    text[*ret_length] = '\0';
    fclose(file);
    return text;
}

/* json FILE A.B.C: 1 when the document has no such field, 2 when it is not one JSON document. */
static int mode_json(char **argv)
{
    size_t length = 0;
    char *text = read_all(argv[0], &length);
    struct json json = {text, text + length};
    bool whole = json_value(&json, 0);
    json_space(&json);
    if (!whole || json.at != json.end) {
        printf("not JSON at offset %td\n", json.at - text);
        return 2;
    }
    json.at = text;
    for (const char *key = argv[1]; key != NULL && *key != '\0';) {
        size_t key_length = strcspn(key, ".");
        if (!json_enter(&json, key, key_length)) {
            printf("no field '%s'\n", argv[1]);
            return 1;
        }
        key += key_length + (key[key_length] == '.');
    }
    json_space(&json);
    const char *from = json.at;
    json_value(&json, 0);
    json_print(from, json.at);
    free(text);
    return 0;
}

/* ---- tools: becoming somebody ---- */

static int join_cgroup(const char *dir)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0", 1) != 1)
        return refused(path);
    close(fd);
    return 0;
}

/* as UID GID CGROUP COMMAND…: CGROUP "-" stays. Signals are reset because a shell starts its
 * background jobs with SIGINT ignored, and that would be inherited. */
static int mode_as(char **argv)
{
    uid_t uid = (uid_t)number(argv[0]);
    gid_t gid = (gid_t)number(argv[1]);
    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_DFL);
    if (strcmp(argv[2], "-") != 0 && join_cgroup(argv[2]) != 0)
        return EXIT_REFUSED;
    if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
        return refused("becoming that user");
    execvp(argv[3], argv + 3);
    return refused(argv[3]);
}

/* contained COMMAND…: as in a container with a cgroup namespace of its own, whose root is the
 * cgroup we are in. */
static int mode_contained(char **argv)
{
    if (unshare(CLONE_NEWCGROUP | CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || umount("/sys/fs/cgroup") < 0 ||
        mount("cgroup2", "/sys/fs/cgroup", "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return refused("entering a cgroup namespace");
    execvp(argv[0], argv);
    return refused(argv[0]);
}

/* limit SECONDS COMMAND…: kills the command (not what it started) when the time is over. */
static int mode_limit(char **argv)
{
    sigset_t child;
    struct timespec left = {.tv_sec = number(argv[0])};
    int status = 0;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_UNBLOCK, &child, NULL);
        execvp(argv[1], argv + 1);
        _exit(refused(argv[1]));
    }
    if (sigtimedwait(&child, NULL, &left) < 0)
        kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int mode_now(char **argv)
{
    (void)argv;
    printf("%ld\n", now_ms());
    return 0;
}

/* ---- tools: the world ---- */

struct process {
    int pid;
    int parent;
    unsigned flags;
    char state;
    char name[32];
};

#define KERNEL_THREAD 0x00200000U /* PF_KTHREAD, include/linux/sched.h */

static bool read_process(int pid, struct process *ret_process)
{
    char path[64];
    char text[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool any = fgets(text, sizeof(text), file) != NULL;
    fclose(file);
    char *open = strchr(text, '(');
    char *close = strrchr(text, ')');
    if (!any || open == NULL || close == NULL)
        return false;
    *ret_process = (struct process){.pid = pid};
    snprintf(ret_process->name, sizeof(ret_process->name), "%.*s", (int)(close - open - 1),
             open + 1);
    return sscanf(close + 1, " %c %d %*d %*d %*d %*d %u", &ret_process->state, &ret_process->parent,
                  &ret_process->flags) == 3;
}

static bool is_ancestor(int pid)
{
    struct process process;
    for (int at = getpid(); at > 0; at = process.parent) {
        if (at == pid)
            return true;
        if (!read_process(at, &process))
            return false;
    }
    return false;
}

/* All but kernel threads, our own ancestors, and the dead that only PID 1 has to collect. */
static void print_processes(void)
{
    DIR *dir = opendir("/proc");
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        struct process process;
        int pid = (int)strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || !read_process(pid, &process))
            continue;
        bool dead = process.state == 'Z' && process.parent == 1;
        if ((process.flags & KERNEL_THREAD) == 0 && !dead && !is_ancestor(pid))
            printf("process %d %s\n", pid, process.name);
    }
    if (dir != NULL)
        closedir(dir);
}

static void print_mounts(void)
{
    char line[4096];
    FILE *file = fopen("/proc/self/mounts", "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        printf("mount %s\n", line);
    }
    if (file != NULL)
        fclose(file);
}

static void print_tree(const char *kind, const char *path, bool files)
{
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        char child[1024];
        struct stat status;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
        if (lstat(child, &status) < 0)
            continue;
        if (files || S_ISDIR(status.st_mode))
            printf("%s %s\n", kind, child);
        if (S_ISDIR(status.st_mode))
            print_tree(kind, child, files);
    }
    if (dir != NULL)
        closedir(dir);
}

static void print_loops(void)
{
    for (int i = 0; i < 64; i++) {
        char path[64];
        snprintf(path, sizeof(path), "/sys/block/loop%d/loop/backing_file", i);
        if (access(path, F_OK) == 0)
            printf("loop loop%d\n", i);
    }
}

/* Everything a sandbox could leave behind, one thing per line. /case is the scratch directory of
 * the running case and does not count. */
static int mode_world(char **argv)
{
    static const char *const places[] = {"/dev/shm", "/home", "/root", "/run", "/tmp", "/var"};
    (void)argv;
    print_processes();
    print_mounts();
    print_loops();
    print_tree("cgroup", "/sys/fs/cgroup", false);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        print_tree("file", places[i], true);
    return 0;
}

static const struct mode {
    const char *name;
    int arguments;
    int (*run)(char **argv);
    const char *doc;
} modes[] = {
    {"alloc", 1, mode_alloc, "MIB: touch that much private memory"},
    {"memfd", 1, mode_memfd, "MIB: the same in a memory file"},
    {"fork", 1, mode_fork, "N: start N children that wait"},
    {"spin", 1, mode_spin, "MS: burn processor time"},
    {"write", 2, mode_write, "FILE MIB: write a file"},
    {"files", 2, mode_files, "DIR N: create N empty files"},
    {"daemon", 1, mode_daemon, "MS: leave a daemon that ignores signals, end after MS"},
    {"exit", 1, mode_exit, "N: exit with that status"},
    {"kill-self", 1, mode_kill_self, "N: die by that signal"},
    {"json", 2, mode_json, "FILE PATH: print one field"},
    {"as", 4, mode_as, "UID GID CGROUP COMMAND…: run it as that user in that cgroup"},
    {"contained", 1, mode_contained, "COMMAND…: run it in a cgroup namespace"},
    {"limit", 2, mode_limit, "SECONDS COMMAND…: kill it when the time is over"},
    {"now", 0, mode_now, "print milliseconds of the monotonic clock"},
    {"world", 0, mode_world, "print what a sandbox could leave behind"},
};

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(argv[1], modes[i].name) == 0 && argc - 2 >= modes[i].arguments)
            return modes[i].run(argv + 2);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        fprintf(stderr, "guest %s %s\n", modes[i].name, modes[i].doc);
    return EXIT_USAGE;
}
