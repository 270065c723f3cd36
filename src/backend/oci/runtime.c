/* SPDX-License-Identifier: Apache-2.0 */
/* The runtimes, and calling one. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/oci/oci.h"
#include "util/own.h"

static const char *const no_flags[] = {NULL};
/* overlay2: what is written goes to the layer that hutch has made, where its limit and its
 * artifacts are, and not to one in the memory of the runtime, as newer ones do by themselves. */
static const char *const runsc_flags[] = {"--overlay2=none", NULL};
/* gVisor has a network stack of its own, which knows no address that is not a device's. With egress
 * the host's serves instead, in the namespace that the bundle names: there is nothing but loopback
 * and what the gateway has planted (network.c makes sure that it is that one). */
#define RUNSC_CLOSED "--network=none"
#define RUNSC_JOINED "--network=host"
#define RUNSC_WITHOUT_GROUPS "--ignore-cgroups"

/* The usual one first. */
const struct oci_runtime oci_runtimes[] = {
    {"runc", "runc", "namespaces of this kernel", no_flags, NULL, NULL, false, 1, 0},
    {"crun", "crun", "namespaces of this kernel", no_flags, NULL, NULL, false, 1, 0},
    {"runsc", "runsc", "gVisor: a kernel of its own", runsc_flags, RUNSC_CLOSED, RUNSC_JOINED, true,
     4, 64},
};
const size_t oci_runtime_count = HUTCH_COUNT(oci_runtimes);

/* Not from the caller's PATH: what is executed here has all of root's power. */
static const char *const program_places[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                             "/usr/bin"};

static bool find_program(const char *name, char *ret_path, size_t size)
{
    for (size_t i = 0; i < HUTCH_COUNT(program_places); i++) {
        (void)snprintf(ret_path, size, "%s/%s", program_places[i], name);
        if (access(ret_path, X_OK) == 0)
            return true;
    }
    return false;
}

int oci_runtime_find(const char *name, const struct oci_runtime **ret_runtime, char *ret_path,
                     size_t size, struct hutch_error *err)
{
    bool is_any = !name || !name[0];
    for (size_t i = 0; i < oci_runtime_count; i++) {
        const struct oci_runtime *runtime = &oci_runtimes[i];
        if (!is_any && strcmp(name, runtime->name) != 0)
            continue;
        if (find_program(runtime->name, ret_path, size)) {
            *ret_runtime = runtime;
            return 0;
        }
        if (!is_any)
            return hutch_fail(err, HUTCH_E_UNAVAILABLE, ENOENT,
                              "the OCI runtime '%s' is not installed; install it with 'apt-get "
                              "install %s'",
                              name, runtime->package);
    }
    if (is_any)
        return hutch_fail(err, HUTCH_E_UNAVAILABLE, ENOENT,
                          "no OCI runtime is installed; install one with 'apt-get install runc'");
    return hutch_fail(err, HUTCH_E_INVALID, 0,
                      "'%.60s' is no OCI runtime that hutch knows; choose runc, crun or runsc",
                      name);
}

/* What it says, until it has closed its output or there is no more room. */
static void read_words(int fd, char *text, size_t size)
{
    size_t length = 0;
    ssize_t got;
    char rest[256];
    while ((got = length + 1 < size ? read(fd, text + length, size - 1 - length)
                                    : read(fd, rest, sizeof(rest))) > 0 ||
           (got < 0 && errno == EINTR))
        length += got > 0 && length + 1 < size ? (size_t)got : 0;
    text[length] = '\0';
}

int oci_call(const struct container *container, const char *path, char *const *argv,
             char *ret_output, size_t size, struct hutch_error *err)
{
    char said[OCI_STDERR_TAIL];
    int ends[2];
    pid_t pid = 0;
    int status = 0;
    hutch_autofd int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return hutch_fail_errno(err, errno, "make a pipe");
    hutch_autofd int from = ends[0];
    hutch_autofd int to = ends[1];
    const int streams[3] = {nothing, to, to};
    if (oci_spawn(container, false, path, argv, streams, &pid, err) < 0)
        return -(int)err->code;
    hutch_fd_close(&to);
    read_words(from, said, sizeof(said));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (ret_output)
        (void)snprintf(ret_output, size, "%s", said);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    const char *line = strchr(said, '\n');
    return hutch_fail(err, HUTCH_E_SYSTEM, 0, "'%s' failed: %.*s", path,
                      (int)(line ? line - said : (ptrdiff_t)strlen(said)), said);
}

size_t oci_words(const struct container *container, const char **words)
{
    const struct oci_runtime *runtime = container->runtime;
    const char *network =
        container->keeper->gateway.is_wanted ? runtime->joined_network : runtime->closed_network;
    size_t count = 0;
    words[count++] = runtime->name;
    words[count++] = "--root";
    words[count++] = container->place.state;
    for (const char *const *flag = runtime->flags; *flag; flag++)
        words[count++] = *flag;
    if (network)
        words[count++] = network;
    if (oci_enters(container))
        words[count++] = RUNSC_WITHOUT_GROUPS;
    return count;
}

int oci_verb(struct container *container, const char *verb, struct hutch_error *err)
{
    const char *argv[OCI_MOST_FLAGS + 3];
    size_t count = oci_words(container, argv);
    argv[count++] = verb;
    argv[count++] = container->name;
    argv[count] = NULL;
    if (oci_call(container, container->path, (char *const *)argv, NULL, 0, err) < 0)
        return hutch_wrap(err, "%s the container", verb);
    return 0;
}
