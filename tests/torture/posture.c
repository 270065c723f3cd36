/* SPDX-License-Identifier: Apache-2.0 */
/* The command inside: prints what holds it, one fact a line, the same in every run. Lines that
 * start with "may" are conveniences that a sandbox can go without. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static void print_status(const char *who)
{
    static const char *const facts[] = {
        "Umask:",  "Uid:",    "Gid:",    "Groups:", "CapInh:",     "CapPrm:", "CapEff:",
        "CapBnd:", "CapAmb:", "SigBlk:", "SigIgn:", "NoNewPrivs:", "Seccomp:"};
    char path[64];
    char line[512];
    (void)snprintf(path, sizeof(path), "/proc/%s/status", who);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
            if (!strncmp(line, facts[i], strlen(facts[i])))
                printf("%s %s", who, line);
    if (file)
        (void)fclose(file);
}

static void print_limits(void)
{
    for (int i = 0; i < 16; i++) {
        struct rlimit limit;
        if (i == RLIMIT_NPROC)
            continue; /* one of two ways to limit processes: looked at from outside */
        if (getrlimit(i, &limit) == 0)
            printf("rlimit %d: %llu %llu\n", i, (unsigned long long)limit.rlim_cur,
                   (unsigned long long)limit.rlim_max);
    }
}

static void print_descriptors(void)
{
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("descriptor %d\n", fd);
}

/* Ids and device numbers differ from run to run. That the owners of the host's own files look right
 * is a convenience. */
static void print_mounts(void)
{
    char line[4096];
    FILE *file = fopen("/proc/self/mountinfo", "re");
    while (file && fgets(line, sizeof(line), file)) {
        char point[512];
        char options[256];
        char type[64];
        const char *dash = strstr(line, " - ");
        if (!dash || sscanf(line, "%*s %*s %*s %*s %511s %255s", point, options) != 2 ||
            sscanf(dash + 3, "%63s", type) != 1)
            continue;
        char *mapped = strstr(options, ",idmapped");
        if (mapped && !strncmp(point, "/usr", 4))
            *mapped = '\0';
        printf("%smount %s %s %s\n", strncmp(point, "/etc/", 5) ? "" : "may ", point, options,
               type);
    }
    if (file)
        (void)fclose(file);
}

static void print_attempt(const char *what, int result)
{
    printf("%s: %s\n", what, result < 0 ? strerror(errno) : "yes");
}

static void print_files(void)
{
    static const char *const paths[] = {"/",          "/tmp",       "/var/tmp",
                                        "/home/user", "/workspace", "/dev"};
    struct statfs fs;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct stat info;
        if (stat(paths[i], &info) == 0)
            printf("%s: mode %o owner %u:%u\n", paths[i], info.st_mode, info.st_uid, info.st_gid);
    }
    /* a pool is as large as the host's disk allows; there the quota counts */
    if (statfs("/tmp", &fs) == 0 && fs.f_type == TMPFS_MAGIC)
        printf("disk: %llu bytes, %llu inodes\n",
               (unsigned long long)fs.f_blocks * (unsigned long long)fs.f_bsize,
               (unsigned long long)fs.f_files);
    int big = open("/tmp/big", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    print_attempt("have 2 GiB of disk", fallocate(big, 0, 0, (off_t)2 << 30));
    (void)close(big);
    (void)unlink("/tmp/big");
    print_attempt("write to /tmp", open("/tmp/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    print_attempt("write to /usr", open("/usr/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    print_attempt("write to /proc/sys", open("/proc/sys/kernel/domainname", O_WRONLY | O_CLOEXEC));
    print_attempt("read PID 1's memory", open("/proc/1/mem", O_RDONLY | O_CLOEXEC));
    print_attempt("read PID 1's environment", open("/proc/1/environ", O_RDONLY | O_CLOEXEC));
    print_attempt("signal PID 1", access("/proc/1/root/etc", F_OK));
}

static void print_network(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0)
        printf("lo: %s\n", request.ifr_flags & IFF_UP ? "up" : "down");
    const struct if_nameindex *names = if_nameindex();
    for (; names && names->if_name; names++)
        printf("interface %s\n", names->if_name);
    (void)close(fd);
}

static void print_self(void)
{
    char text[4096] = "";
    extern char **environ;
    for (char **name = environ; *name; name++)
        printf("environment %s\n", *name);
    if (gethostname(text, sizeof(text)) == 0)
        printf("host name %s\n", text);
    if (getcwd(text, sizeof(text)))
        printf("directory %s\n", text);
    printf("parent %d, session %s\n", (int)getppid(), getsid(0) == getpid() ? "own" : "another's");
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(text, sizeof(text), file))
        printf("group %s", text);
    if (file)
        (void)fclose(file);
}

static void print_directory(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        struct stat info;
        char name[512];
        (void)snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
        bool ours = entries[i]->d_name[0] == '.' || !strcmp(entries[i]->d_name, "x");
        if (lstat(name, &info) == 0 && !ours)
            printf("entry %s mode %o owner %u:%u\n", name, info.st_mode, info.st_uid, info.st_gid);
    }
    (void)fflush(stdout);
}

static void use_workspace(void)
{
    print_directory("/workspace");
    print_attempt("write to /workspace",
                  open("/workspace/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    (void)unlink("/workspace/x");
}

static void leave_artifacts(void)
{
    if (access("/artifacts", W_OK) < 0)
        return;
    (void)mkdir("/artifacts/deep", 0755);
    (void)symlink("elsewhere", "/artifacts/link");
    FILE *file = fopen("/artifacts/deep/file", "we");
    print_attempt("write to /artifacts", file ? fprintf(file, "artifact\n") : -1);
    if (file)
        (void)fclose(file);
}

static void print_input(void)
{
    char text[4096];
    size_t length = fread(text, 1, sizeof(text) - 1, stdin);
    text[length] = '\0';
    printf("input %s\n", text);
}

int main(int argc, char **argv)
{
    (void)argv;
    print_descriptors();
    print_status("self");
    print_status("1");
    print_limits();
    print_mounts();
    print_files();
    print_network();
    print_self();
    use_workspace();
    leave_artifacts();
    if (argc < 2) /* a terminal has no end */
        print_input();
    printf("done\n");
    return 0;
}
