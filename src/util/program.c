/* SPDX-License-Identifier: Apache-2.0 */
#include "util/program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/own.h"

/* Where the small program is, seen from the complete one and from the daemon: beside it in a build
 * tree, in bin when installed. */
static const char *const places[] = {"hutch", "../../bin/hutch"};

const char *hutch_program_own(char ret_path[PATH_MAX])
{
    static const char gone[] = " (deleted)";
    const size_t gone_length = sizeof(gone) - 1;
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    size_t end = length > 0 ? (size_t)length : 0;
    if (end > gone_length && !memcmp(path + end - gone_length, gone, gone_length))
        end -= gone_length;
    (void)snprintf(ret_path, PATH_MAX, "%.*s", (int)end, path);
    return strrchr(ret_path, '/');
}

/* Of the complete program's path makes the small one's, if there is one. */
static void prefer_small(char path[PATH_MAX])
{
    char other[PATH_MAX];
    int directory = (int)(strrchr(path, '/') - path);
    for (size_t i = 0; i < HUTCH_COUNT(places); i++) {
        int length = snprintf(other, sizeof(other), "%.*s/%s", directory, path, places[i]);
        if (length > 0 && (size_t)length < sizeof(other) && access(other, X_OK) == 0) {
            memcpy(path, other, (size_t)length + 1);
            return;
        }
    }
}

bool hutch_program_self(char ret_path[PATH_MAX])
{
    const char *base = hutch_program_own(ret_path);
    if (base && !strcmp(base, "/hutch"))
        return true;
    if (!base || (strcmp(base, "/hutch-full") != 0 && strcmp(base, "/hutch-serve") != 0))
        return false;
    prefer_small(ret_path);
    return true;
}

const char *hutch_program_path(char buffer[PATH_MAX])
{
    const char *given = getenv("HUTCH_PROGRAM");
    if (given && *given == '/')
        return given;
    if (!hutch_program_self(buffer))
        return HUTCH_BINDIR "/hutch";
    /* our own file, also when another has taken its name meanwhile */
    bool is_own = !strcmp(strrchr(buffer, '/'), "/hutch-full");
    char self[PATH_MAX];
    (void)hutch_program_own(self);
    return is_own || !strcmp(self, buffer) ? "/proc/self/exe" : buffer;
}

const char *hutch_program_complete(char buffer[PATH_MAX])
{
    static const char *const beside[] = {"hutch-full", "../libexec/hutch/hutch-full"};
    char self[PATH_MAX];
    const char *program = getenv("HUTCH_PROGRAM");
    const char *base = hutch_program_own(self);
    if (base && !strcmp(base, "/hutch-full"))
        return "/proc/self/exe";
    if (!program || *program != '/')
        program = base && (!strcmp(base, "/hutch") || !strcmp(base, "/hutch-serve")) ? self
                                                                                     : HUTCH_BINDIR
                      "/hutch";
    int directory = (int)(strrchr(program, '/') - program);
    for (size_t i = 0; i < HUTCH_COUNT(beside); i++) {
        int written = snprintf(buffer, PATH_MAX, "%.*s/%s", directory, program, beside[i]);
        if (written > 0 && written < PATH_MAX && access(buffer, X_OK) == 0)
            return buffer;
    }
#ifndef HUTCH_IS_SMALL
    /* a build of one program, which has everything */
    (void)snprintf(buffer, PATH_MAX, "%s", program);
#endif
    return buffer;
}

char **hutch_program_environment(char *place[HUTCH_PROGRAM_VARIABLES])
{
    static const char *const names[] = {
        "HUTCH_HOME=",     "HUTCH_SECRETS=",   "HOME=", "XDG_RUNTIME_DIR=",
        "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "PATH=", "DOCKER_"};
    size_t used = 0;
    for (char **pair = environ; *pair && used + 1 < HUTCH_PROGRAM_VARIABLES; pair++)
        for (size_t i = 0; i < HUTCH_COUNT(names); i++)
            if (!strncmp(*pair, names[i], strlen(names[i])) && used + 1 < HUTCH_PROGRAM_VARIABLES)
                place[used++] = *pair;
    place[used] = NULL;
    return place;
}

int hutch_program_spawn(const char *program, const posix_spawn_file_actions_t *actions,
                        char *const *argv, char *const *environment, pid_t *ret_pid)
{
    posix_spawnattr_t attributes;
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int failed = posix_spawnattr_init(&attributes);
    if (failed)
        return failed;
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    failed = posix_spawn(ret_pid, program, actions, &attributes, argv, environment);
    (void)posix_spawnattr_destroy(&attributes);
    return failed;
}
