/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/audit.h"
#include "util/fs.h"

/* The kernel keeps it for each process if it is built to; it cannot be changed once it is set. */
static uint32_t read_login(const char *path)
{
    char text[24];
    char *end = NULL;
    if (hutch_read_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return AUDIT_NO_LOGIN;
    unsigned long login = strtoul(text, &end, 10);
    return end != text && login < AUDIT_NO_LOGIN ? (uint32_t)login : AUDIT_NO_LOGIN;
}

void audit_who_self(struct audit_who *ret_who)
{
    *ret_who = (struct audit_who){
        .uid = getuid(), .login = read_login("/proc/self/loginuid"), .pid = getpid()};
    (void)prctl(PR_GET_NAME, ret_who->program);
}

void audit_who_peer(int socket, struct audit_who *ret_who)
{
    char path[48];
    struct ucred peer = {.pid = 0, .uid = getuid()};
    socklen_t length = sizeof(peer);
    (void)getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    (void)snprintf(path, sizeof(path), "/proc/%d/loginuid", (int)peer.pid);
    *ret_who = (struct audit_who){.uid = peer.uid, .login = read_login(path), .pid = peer.pid};
    (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)peer.pid);
    if (hutch_read_at(AT_FDCWD, path, ret_who->program, sizeof(ret_who->program)) > 0)
        ret_who->program[strcspn(ret_who->program, "\n")] = '\0';
}
